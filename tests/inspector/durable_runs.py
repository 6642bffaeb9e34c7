"""Durable runs as a program leaves them in its database: agents with runs inside and with a plan, and a flow."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from dataclasses import dataclass

from toolkit import Agent, Catalog, Context, Dispatcher, Permissions, ToolCall, ToolError
from toolkit.agent import sub_run
from toolkit.durable import DurableAgent, DurableHost
from toolkit.flows import Flow
from toolkit.providers import AssistantMessage, ScriptedProvider

__all__ = ["build_order_flow", "run_agent", "run_order"]


@dataclass
class ItemOrder:
    item: str


@dataclass
class Picked:
    item: str


@dataclass
class Packed:
    item: str


@dataclass
class Charged:
    item: str


def build_order_flow(ending="wait"):
    """
    Return a flow: pick, pack with a check and an undo, charge.

    The *ending* is "wait" if a person is asked before `charge`, "fail" if it fails, "kill" if the process is killed in
    it, and "done" if all goes well. With "bad", the check of `pack` finds a problem.
    """
    mode = "auto" if ending == "wait" else "bypass"
    flow = Flow("order", dispatcher=Dispatcher(Catalog(), permissions=Permissions(mode)))

    def is_whole(before: Picked, after: Packed) -> list[str]:
        """Look at the parcel."""
        return ["the parcel is wet"] if ending == "bad" else []

    def unpack(picked: Picked) -> None:
        """Take the item back."""

    @flow.step(read_only=True)
    def pick(order: ItemOrder) -> Picked:
        """Find the item."""
        return Picked(order.item)

    @flow.step(check=is_whole, undo=unpack, idempotent=True)
    def pack(picked: Picked) -> Packed:
        """Pack the item."""
        return Packed(picked.item)

    @flow.step(destructive=True)
    def charge(packed: Packed) -> Charged:
        """Take the money."""
        if ending == "fail":
            raise ToolError("the card is refused")
        if ending == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return Charged(packed.item)

    return flow


def run_order(address, ending="wait", run_id="order-7"):
    """Run the flow in the database at *address*, and return the flow. One that is killed is continued here."""
    if ending == "kill":
        command = [sys.executable, "-m", __name__, address, run_id]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        ending = "done"
    flow = build_order_flow(ending)
    asyncio.run(_run(flow, address, run_id))
    return flow


async def _run(flow, address, run_id):
    async with DurableHost(address) as host:
        await flow.run(ItemOrder("pen"), host, id=run_id)


SCRIPT = {
    "Pay what is open.": [
        [ToolCall("ask_clerk", {"question": "What is open?"}, "c1")],
        [ToolCall("ask_clerk", {"question": "Pay it."}, "c2")],
        "All is paid.",
    ],
    "What is open?": [[ToolCall("list_bills", {}, "d1")], "A-7 is open."],
    "Pay it.": [[ToolCall("pay", {"bill": "A-7"}, "d2")], "It is paid."],
    "Plan the week.": [[ToolCall("exit_plan", {"plan": "1. Pay A-7.\n2. Rest."}, "c1")]],
}


def play(request):
    """Play the model, which answers each prompt with a script of its own."""
    lines = SCRIPT[request.messages[0].text]
    return lines[sum(isinstance(message, AssistantMessage) for message in request.messages)]


def run_agent(address, prompt, *, run_id, mode="default"):
    """Run an agent in the database at *address* until it waits, has planned, or is done; return its dispatcher."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def list_bills() -> list[str]:
        """List the open bills."""
        return ["A-7"]

    @catalog.tool(destructive=True)
    def pay(bill: str) -> str:
        """Pay a bill."""
        return f"{bill} is paid"

    @catalog.tool(read_only=True)
    async def ask_clerk(question: str, context: Context) -> str:
        """Have a clerk do something."""
        return await sub_run(question, context=context)

    dispatcher = Dispatcher(catalog, permissions=Permissions(mode))
    agent = Agent(ScriptedProvider(itertools.repeat(play)), dispatcher)

    async def run():
        async with DurableAgent(agent, address) as durable:
            await durable.run(prompt, id=run_id)

    asyncio.run(run())
    return dispatcher


if __name__ == "__main__":
    asyncio.run(_run(build_order_flow("kill"), *sys.argv[1:]))
