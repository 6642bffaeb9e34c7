"""
A process whose calls and runs are traced in a file: `python -m tests.telemetry.traced_process FOLDER wait|die|fall`.

With `wait` it makes a call that waits for a person, and says which request that is. With `die` it approves what the
durable run waits for, and is killed in the middle of the step that was approved. With `fall` it is killed in the middle
of a step of a run for which no person is asked.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.flows.kit import Edited, Plan, Released
from tests.killed_children import die
from toolkit import Catalog, Decision, Dispatcher, Permissions, Session, SQLiteApprovals, ToolCall
from toolkit.agent import Agent, Run
from toolkit.approvals import Approvals
from toolkit.durable import DurableAgent
from toolkit.flows import Flow
from toolkit.providers import ScriptedProvider
from toolkit.providers.base import Request
from toolkit.telemetry import TraceFile

__all__ = ["build_dispatcher", "build_durable", "go_on"]


def build_dispatcher(folder: Path) -> Dispatcher:
    """Return a dispatcher whose only tool asks first, and whose approvals are kept."""
    catalog, store = Catalog(), SQLiteApprovals(folder / "approvals.sqlite")

    @catalog.tool(destructive=True)
    async def burn(wood: str) -> str:
        """Burn it."""
        return wood

    hooks = [TraceFile(folder / "run.jsonl")]
    return Dispatcher(catalog, permissions=Permissions("auto"), approvals=Approvals(store), hooks=hooks)


def build_durable(folder: Path, *, dies: bool = False, asks: bool = True) -> DurableAgent:
    """Return an agent with a tool that runs a flow, whose second step may ask first. The process may die in it."""
    catalog, hooks = Catalog(), [TraceFile(folder / "run.jsonl")]
    flow = Flow[Released]("release", dispatcher=Dispatcher(Catalog(), permissions=Permissions("auto"), hooks=hooks))

    @flow.step
    def edit(plan: Plan) -> Edited:
        return Edited("text")

    @flow.step(approval="always" if asks else "never", idempotent=True)
    async def publish(edited: Edited) -> Released:
        return die() if dies else Released(edited.text)

    @catalog.tool(idempotent=True)
    async def release() -> str:
        """Run the flow."""
        return str(await flow.run(Plan()))

    def play(request: Request) -> Any:
        return [ToolCall("release", {}, "c1")] if len(request.messages) == 1 else "Done."

    dispatcher = Dispatcher(catalog, permissions=Permissions("auto"), hooks=hooks)
    agent = Agent(ScriptedProvider([play] * 4), dispatcher, name="boss")
    return DurableAgent(agent, f"sqlite:///{folder}/runs.sqlite", takeover_seconds=1.0)


async def go_on(durable: DurableAgent) -> Run[str]:
    """Approve what the run waits for, as one process does that has found it."""
    async with durable:
        run = await durable.run("go", id="r1")
        if run.status == "waiting":
            run = await durable.resume("r1", {request.id: Decision.approve() for request in run.requests})
        return run


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if sys.argv[2] == "wait":
        waiting = asyncio.run(build_dispatcher(place).call("burn", {"wood": "oak"}, session=Session(id="s")))
        sys.stdout.write(waiting.request.id if waiting.request else waiting.text)
    else:
        asyncio.run(go_on(build_durable(place, dies=True, asks=sys.argv[2] == "die")))
