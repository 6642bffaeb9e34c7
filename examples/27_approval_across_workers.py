"""
Let a run wait for a person while no process lives, and continue it in another worker.

The program enqueues a run. A worker takes it until it waits, and ends. Ada answers on the command line, which loads no
tools. Another worker goes on. The processes share the database, and nothing else.
"""

import asyncio
import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from toolkit import Agent, Catalog, Dispatcher, Permissions, ToolCall, tool
from toolkit.durable import DurableAgent
from toolkit.providers import AssistantMessage, Request, ScriptedProvider

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
DATABASE = f"sqlite:///{FOLDER}/runs.sqlite"


@tool(destructive=True, preview=lambda arguments: f"pay back {arguments['amount']:.2f} euros")
def refund(order: str, amount: float) -> str:
    """
    Pay money back for an order.

    Args:
        order: Its number.
        amount: In euros.
    """
    return f"{amount:.2f} paid back for {order} by worker {os.environ['WORKER']}"


SCRIPT = [[ToolCall("refund", {"order": "A-7", "amount": 12.5}, "c1")], "I have paid 12.50 back to you."]


def play(request: Request) -> object:
    """Play the model: its reply depends on the conversation alone, so it is the same in every process."""
    return SCRIPT[sum(isinstance(message, AssistantMessage) for message in request.messages)]


def make_agent() -> DurableAgent:
    """Make the same agent in every process."""
    dispatcher = Dispatcher(Catalog(refund), permissions=Permissions("default"))
    return DurableAgent(Agent(ScriptedProvider(itertools.repeat(play)), dispatcher), DATABASE)


async def work() -> None:
    """Be a worker until there is nothing to do."""
    async with make_agent() as durable:
        worker = asyncio.ensure_future(durable.work())
        while (status := await find_status(durable)) in ("queued", "running"):  # noqa: ASYNC110 -- no event tells
            await asyncio.sleep(0.05)
        worker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await worker
    print(f"  the run is {status}")


async def find_status(durable: DurableAgent) -> str:
    row = await durable.get("refund-7")
    return "queued" if row.decisions else row.status


async def start() -> None:
    async with make_agent() as durable:
        row = await durable.start("Order A-7 arrived broken.", id="refund-7", principal="ada")
    print(f"the run is {row.status}", flush=True)


async def show() -> None:
    async with make_agent() as durable:
        run = durable.read_run(await durable.get("refund-7"))
    print(f"{run.status}: {run.text}")
    print("the tool said:", run.messages[2].results[0].text)


def start_process(*words: str, worker: str = "") -> None:
    environment = {**os.environ, "WORKER": worker, "TOOLKIT_DATABASE": DATABASE}
    subprocess.run([sys.executable, *words], check=True, env=environment, stderr=subprocess.STDOUT)  # noqa: S603 -- this file, or toolkit


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(work())
        return
    asyncio.run(start())
    print("worker one:", flush=True)
    start_process(__file__, str(FOLDER), worker="one")
    print("Ada answers:", flush=True)
    start_process("-m", "toolkit", "runs", "approve", "refund-7", "--by", "ada", "--output", "text")
    print("worker two:", flush=True)
    start_process(__file__, str(FOLDER), worker="two")
    asyncio.run(show())
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
