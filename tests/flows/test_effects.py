"""A durable run that was ended from outside says which of its steps are still in place."""

from __future__ import annotations

import asyncio

import pytest

from tests.clocks import wait_until
from tests.durable.kit import LocalEngine
from tests.flows.kit import Built, Edited, Part, Plan, Task
from toolkit import ToolError, Transient
from toolkit.durable import DurableHost
from toolkit.flows import Failed, Flow
from toolkit.flows.story import list_left

pytestmark = pytest.mark.anyio


@pytest.fixture
async def host(tmp_path):
    """A host with a database of its own."""
    async with DurableHost(f"sqlite:///{tmp_path}/runs.sqlite", engine=LocalEngine) as host:
        yield host


@pytest.mark.parametrize("ends", ["cancel", "deadline"])
async def test_a_run_that_is_stopped_inside_a_step_lists_possible_effects(host, ends):
    """The code that writes the outcome does not know the steps, so the list comes from the events."""
    flow, log = Flow("stopped"), []

    @flow.step
    def edit(plan: Plan) -> Edited:
        return Edited("")

    @flow.step(idempotent=True)
    async def build(edited: Edited) -> Built:
        log.append("build")
        await asyncio.Event().wait()
        return Built(1)

    deadline = 0.3 if ends == "deadline" else None
    task = asyncio.create_task(flow.run(Plan(), host, id="r", deadline_seconds=deadline))
    await wait_until(lambda: log == ["build"])
    if ends == "cancel":
        await host.cancel("r", "not needed")
    outcome = await task
    reason = "not needed" if ends == "cancel" else "the deadline of the run has passed"
    assert outcome == Failed("", (reason,), left=("edit", "build, which may or may not have happened"))
    assert str(outcome).startswith(f"the run failed: {reason} (still in place: edit, build")


async def test_steps_that_did_not_happen_or_were_undone_are_not_left(host):
    """The items of a list are named. A read-only step changes nothing."""
    flow = Flow("parts")

    @flow.step(read_only=True)
    def plan(task: Task) -> Plan:
        return Plan()

    @flow.step
    def split(plan: Plan) -> list[Part]:
        return [Part(1), Part(2)]

    @flow.step
    def build(part: Part) -> Built:
        if part.number == 2:
            raise Transient("refused", happened="no")
        return Built(part.number)

    assert isinstance(await flow.run(Task(), host, id="r"), Failed)
    assert list_left(await host.events("r")) == ("split", "build (item 1)")
    undone = Flow("undone")

    @undone.step(undo=lambda before: None)
    def edit(plan: Plan) -> Edited:
        raise ToolError("half of it is done")

    assert isinstance(await undone.run(Plan(), host, id="u"), Failed)
    assert list_left(await host.events("u")) == ()
