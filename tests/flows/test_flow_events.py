"""What listeners of the dispatcher are told about flows."""

from __future__ import annotations

import pytest

from tests.calls.event_recorders import Recorder
from tests.flows.kit import Edited, Plan, Released
from toolkit import Catalog, Decision, Dispatcher, Permissions
from toolkit.flows import Failed, Flow, Waiting
from toolkit.hooks import FlowEnded, FlowStarted

pytestmark = pytest.mark.anyio


def build_flow(recorder: Recorder) -> Flow:
    """Return a flow whose last step asks, under a dispatcher with a listener."""
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), hooks=[recorder])
    flow = Flow[Released]("release", dispatcher=dispatcher)

    @flow.step
    def edit(plan: Plan) -> Edited:
        return Edited("text")

    @flow.step(destructive=True)
    def publish(edited: Edited) -> Released:
        return Released(edited.text)

    return flow


async def test_a_flow_that_waits_and_goes_on_causes_start_and_end_events_twice():
    """The second time, the recorded step is not called again."""
    recorder = Recorder()
    flow = build_flow(recorder)
    waiting = await flow.run(Plan(), id="r1")
    assert isinstance(waiting, Waiting)
    assert (recorder.names[0], recorder.names[-1]) == ("flow_started", "flow_ended")
    assert await flow.resume(waiting, Decision.approve()) == Released("text")
    assert [(event.flow.name, event.flow.id) for event in recorder.of(FlowStarted)] == [("release", "r1")] * 2
    assert [event.status for event in recorder.of(FlowEnded)] == ["waiting", "done"]
    assert recorder.of(FlowStarted)[0].flow.session.id == "flow:release:r1"
    assert [kind for _, kind in recorder.ends] == ["ok", "waiting", "ok"]


async def test_the_end_event_of_a_failed_flow_has_its_problems():
    recorder = Recorder()
    flow = build_flow(recorder)
    waiting = await flow.run(Plan())
    failed = await flow.resume(waiting, Decision.deny("not today"))
    assert isinstance(failed, Failed)
    end = recorder.of(FlowEnded)[-1]
    assert (end.status, end.problems) == ("failed", failed.problems)
