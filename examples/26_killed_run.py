"""
Kill a run in the middle, and let another process continue it: `make demo` runs this.

The first process is killed with SIGKILL while it pays the second of three bills. The next process runs the same line,
with the same id. The first bill is not paid again. Whether the second was paid cannot be known, so the model is told
that it may or may not have happened, and looks into the book. Then it pays the third.

With DEMO_FOLDER=FOLDER, the book, the database and a log of the calls are kept there, and `toolkit inspect` shows them.
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

from toolkit import Agent, AuditLog, Catalog, Dispatcher, Permissions, ToolCall, tool
from toolkit.agent import Run
from toolkit.durable import DurableAgent
from toolkit.providers import AssistantMessage, Request, ScriptedProvider, ToolMessage

FOLDER = Path(os.environ.get("DEMO_FOLDER") or tempfile.mkdtemp())
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
    catalog, permissions = Catalog(read_book, pay), Permissions("bypass")
    dispatcher = Dispatcher(catalog, permissions=permissions, audit=AuditLog(FOLDER / "calls.jsonl"))
    agent = Agent(ScriptedProvider(itertools.repeat(play)), dispatcher)
    async with DurableAgent(agent, f"sqlite:///{FOLDER}/runs.sqlite") as durable:
        return await durable.run("Pay A-7, A-8 and A-9.", id="bills-may")


def main() -> None:
    if sys.argv[1:] == ["work"]:
        run = asyncio.run(work())
        for message in run.messages:
            for result in message.results if isinstance(message, ToolMessage) else ():
                print(f"  {result.call_id} {result.tool}: {result.kind}: {result.text.splitlines()[0]}")
        print(f"  {run.status}: {run.text}")
        return
    command, environment = [sys.executable, "-W", "error", __file__, "work"], {**os.environ, "DEMO_FOLDER": str(FOLDER)}
    for name in ("first", "second"):
        print(f"{name} process:", flush=True)
        ended = subprocess.run(command, env=environment, check=False)  # noqa: S603 -- this file again
        print(f"  it ended with {ended.returncode}")
    print("the book:", *read_book())
    if "DEMO_FOLDER" not in os.environ:
        shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
