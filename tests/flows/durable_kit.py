"""A durable flow that plans, edits and publishes, and a host for it."""

from __future__ import annotations

import asyncio

from tests.durable.kit import LocalEngine
from tests.flows.kit import Edited, Plan, Released, Task
from toolkit import (
    Context,
    Inject,
)
from toolkit.durable import DurableHost
from toolkit.flows import Flow, Problems


class ReleaseFlow:
    """The flow of one process. What it does is written to a list that outlives the process."""

    def __init__(self, log, *, crash_in=None, check=None):
        self.flow = flow = Flow[Released]("release")

        @flow.step(read_only=True)
        async def plan(task: Task) -> Plan:
            log.append("plan")
            return Plan([task.file])

        @flow.step(check=check or (lambda before, after: None), undo=lambda before: log.append("restore"), attempts=2)
        async def edit(plan: Plan, problems: Inject[Problems], context: Context) -> Edited:
            log.append(f"edit {list(problems)}")
            if crash_in == "edit":
                await asyncio.Event().wait()
            return Edited(context.idempotency_key)

        @flow.step(destructive=True, back_to=edit)
        async def publish(edited: Edited) -> Released:
            log.append("publish")
            if crash_in == "publish":
                await asyncio.Event().wait()
            return Released("1")


def open_host(database):
    """Return a host whose engine is in memory, because that of DBOS takes long to start."""
    return DurableHost(database, engine=LocalEngine)
