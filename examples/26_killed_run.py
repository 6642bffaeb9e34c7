"""
Kill a run in the middle, and let another process continue it: `make demo` runs this.

The first process is killed with SIGKILL while it pays the second of three bills. The next process runs the same line,
with the same id. The first bill is not paid again. Whether the second was paid cannot be known, so the model is told
that it may or may not have happened, and looks into the book. Then it pays the third.
"""

import asyncio
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from toolkit import Agent, Catalog, Dispatcher, Permissions, ToolCall, tool
from toolkit.agent import Run
from toolkit.durable import DurableAgent
from toolkit.providers import AssistantMessage, Request, ScriptedProvider, ToolMessage

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
BOOK = FOLDER / "book.txt"


@tool(read_only=True)
def read_book() -> list[str]:
    """List the payments in the book."""
    return BOOK.read_text(encoding="utf-8").split() if BOOK.exists() else []


@tool(destructive=True)
def pay(bill: str) -> str:
    """
    Pay a bill.

    Args:
        bill: Its number.
    """
    with BOOK.open("a", encoding="utf-8") as book:
        book.write(f"{bill}\n")
    if bill == "A-8":
        print("  the process is killed while it pays A-8", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{bill} is paid"


SCRIPT = [
    [ToolCall("pay", {"bill": "A-7"}, "c1")],
    [ToolCall("pay", {"bill": "A-8"}, "c2")],
    [ToolCall("read_book", {}, "c3")],
    [ToolCall("pay", {"bill": "A-9"}, "c4")],
    "All three are paid, each once.",
]


def play(request: Request) -> object:
    """Play the model: its reply depends on the conversation alone, so it is the same in every process."""
    return SCRIPT[sum(isinstance(message, AssistantMessage) for message in request.messages)]


async def work() -> Run:
    """Begin the run, or continue it."""
    dispatcher = Dispatcher(Catalog(read_book, pay), permissions=Permissions("bypass"))
    agent = Agent(ScriptedProvider(itertools.repeat(play)), dispatcher)
    async with DurableAgent(agent, f"sqlite:///{FOLDER}/runs.sqlite") as durable:
        return await durable.run("Pay A-7, A-8 and A-9.", id="bills-may")


def main() -> None:
    if len(sys.argv) > 1:
        run = asyncio.run(work())
        for message in run.messages:
            for result in message.results if isinstance(message, ToolMessage) else ():
                print(f"  {result.call_id} {result.tool}: {result.kind}: {result.text.splitlines()[0]}")
        print(f"  {run.status}: {run.text}")
        return
    for name in ("first", "second"):
        print(f"{name} process:", flush=True)
        ended = subprocess.run([sys.executable, "-W", "error", __file__, str(FOLDER)], check=False)  # noqa: S603 -- this file again
        print(f"  it ended with {ended.returncode}")
    print("the book:", *read_book())
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
