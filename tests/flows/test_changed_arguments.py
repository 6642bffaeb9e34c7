"""The check and the undo of a step get the value with which the step ran, also if a hook or a person changed it."""

from __future__ import annotations

import pytest

from tests.durable.kit import LocalEngine
from tests.flows.kit import Edited, Part, run_with
from tests.steps.crashing_steps import CrashingSteps, Disk, Killed, Process
from toolkit import Catalog, Decision, Dispatcher, Inject
from toolkit.durable import DurableHost
from toolkit.flows import Failed, Flow
from toolkit.hooks import Modify, Proceed

pytestmark = pytest.mark.anyio


def build_flow(log, **facts):
    """Return a flow whose only step is refused by its check, and undone."""
    flow = Flow("changed")

    def check(before: Part, after: Edited):
        log.append(f"check {before.number}")
        return "bad"

    @flow.step(check=check, undo=lambda before: log.append(f"undo {before.number}"), **facts)
    async def edit(part: Part) -> Edited:
        log.append(f"edit {part.number}")
        return Edited("")

    return flow


class ChangeHook:
    """Changes the number of a part to 7."""

    def before(self, call):
        return Modify({"part": {"number": 7}}) if call.name == "edit" else Proceed()


async def test_a_person_can_change_the_value_of_a_step():
    """The check and the undo get the new value, and the story names the change."""
    log = []
    flow = build_flow(log, approval="always")
    waiting = await flow.run(Part(1))
    decision = Decision.approve(arguments={"part": {"number": 50}})
    assert await flow.resume(waiting, {waiting.requests[0].id: decision}) == Failed("edit", ("bad",))
    assert log == ["edit 50", "check 50", "undo 50"]
    assert "edit got another value, from a hook or a person" in [str(event) for event in await flow.replay(waiting)]


async def test_a_person_changes_the_value_of_a_durable_run(tmp_path):
    """The value is kept in the database."""
    log = []
    flow = build_flow(log, approval="always")
    async with DurableHost(f"sqlite:///{tmp_path}/runs.sqlite", engine=LocalEngine) as host:
        waiting = await flow.run(Part(1), host, id="r")
        decision = Decision.approve(arguments={"part": {"number": 50}})
        assert await flow.resume("r", {waiting.requests[0].id: decision}, host) == Failed("edit", ("bad",))
        story = [str(event) for event in await flow.replay("r", host)]
    assert log == ["edit 50", "check 50", "undo 50"]
    assert "edit got another value, from a hook or a person" in story


async def test_a_call_inside_a_step_does_not_change_its_arguments():
    """The step makes another call with the same dispatcher, and is undone with its own value."""
    log = []
    flow = Flow("nested")

    @flow.step(check=lambda before, after: "bad", undo=lambda before: log.append(f"undo {before.number}"))
    async def edit(part: Part, dispatcher: Inject[Dispatcher]) -> Edited:
        if part.number == 1:
            await dispatcher.call("edit", {"part": {"number": 9}}, resources={Dispatcher: dispatcher})
        return Edited("")

    dispatcher = flow._dispatchers.build(None, {Dispatcher: Dispatcher(Catalog())})
    assert await flow.run(Part(1), resources={Dispatcher: dispatcher}) == Failed("edit", ("bad",))
    assert log == ["undo 1"]


@pytest.mark.parametrize("kill_at", range(13))
async def test_a_hook_changes_the_value(kill_at):
    """This holds also after a crash at any point, an attempt that was cut too is undone with the value that it had."""
    log, disk = [], Disk()
    flow, dispatcher = build_flow(log), Dispatcher(Catalog(), hooks=[ChangeHook()])
    try:
        outcome = await run_with(flow, Part(1), CrashingSteps(Process([kill_at]), disk), dispatcher=dispatcher)
    except Killed:
        outcome = await run_with(flow, Part(1), CrashingSteps(Process(), disk), dispatcher=dispatcher)
    assert outcome == Failed("edit", ("bad",))
    assert {line.split()[1] for line in log} == {"7"}
    assert log[-1] == "undo 7"
