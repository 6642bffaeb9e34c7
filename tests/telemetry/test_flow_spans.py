"""The span of a flow: to which span it is linked when the flow goes on, and the ids that it has."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("toolkit.durable", reason="the extra `durable` is not installed")

from tests.flows.kit import Edited, Plan, Released
from tests.telemetry.kept_spans import KeptSpans, linked_ids
from toolkit import Catalog, Decision, Dispatcher, Permissions
from toolkit.agent import Agent
from toolkit.durable import DurableAgent, DurableHost
from toolkit.flows import Flow
from toolkit.providers import ScriptedProvider

pytestmark = pytest.mark.anyio

TOP = "invoke_workflow release"


def build_flow(recording, *, approval="always", begun=None):
    """Return a flow whose second step may ask first. If there is an event *begun*, the step sets it, and hangs."""
    flow = Flow[Released](
        "release", dispatcher=Dispatcher(Catalog(), permissions=Permissions("auto"), hooks=[recording.hook()])
    )

    @flow.step
    def edit(plan: Plan) -> Edited:
        return Edited("text")

    @flow.step(approval=approval, idempotent=True)
    async def publish(edited: Edited) -> Released:
        if begun is not None:
            begun.set()
            await asyncio.Event().wait()
        return Released(edited.text)

    return flow


async def cut_off(durable, recording, decisions=None):
    """Let a process work on the run `r1` that goes away in the middle of its second step."""
    begun = asyncio.Event()
    flow = build_flow(recording, approval="never" if decisions is None else "always", begun=begun)
    work = flow.run(Plan(), durable, id="r1") if decisions is None else flow.resume("r1", decisions, durable)
    task = asyncio.create_task(work)
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_flow_that_goes_on_is_linked_to_the_call_that_waited(recording):
    flow = build_flow(recording)
    await flow.resume(await flow.run(Plan()), Decision.approve())
    first, second = recording.named(TOP)
    waited = recording.named("execute_tool publish")[0].context
    assert (linked_ids(first), linked_ids(second)) == ([], [(waited.trace_id, waited.span_id)])


async def test_a_durable_flow_that_goes_on_is_linked_to_the_call_that_waited(tmp_path):
    """This holds also if its process was cut off after the answer."""
    recordings, address = [KeptSpans() for _ in range(3)], f"sqlite:///{tmp_path}/runs.sqlite"
    async with DurableHost(address) as durable:
        waiting = await build_flow(recordings[0]).run(Plan(), durable, id="r1")
    decisions = {request.id: Decision.approve() for request in waiting.requests}
    async with DurableHost(address) as durable:
        await cut_off(durable, recordings[1], decisions)
    async with DurableHost(address) as durable:
        assert await build_flow(recordings[2]).run(Plan(), durable, id="r1") == Released("text")
    waited = recordings[0].one("execute_tool publish").context
    links = [linked_ids(recording.one(TOP)) for recording in recordings]
    assert links == [[], *[[(waited.trace_id, waited.span_id)]] * 2]


async def test_a_durable_flow_that_was_cut_off_is_linked_to_its_first_span(tmp_path):
    first, second, address = KeptSpans(), KeptSpans(), f"sqlite:///{tmp_path}/runs.sqlite"
    async with DurableHost(address) as durable:
        await cut_off(durable, first)
    async with DurableHost(address) as durable:
        flow = build_flow(second, approval="never")
        assert await flow.run(Plan(), durable, id="r1") == Released("text")
        story = [str(event) for event in await flow.replay("r1", durable)]
    began = first.one(TOP).context
    assert linked_ids(second.one(TOP)) == [(began.trace_id, began.span_id)]
    assert not [sentence for sentence in story if "span" in sentence]


async def test_the_ids_of_runs_and_flows_are_shown_and_cannot_act(recording, tmp_path):
    """An operator looks for them in the database. The ids of the calls of a flow show its id as well."""
    text = "r\x1b[2J" + "1" * 500
    await build_flow(recording).run(Plan(), id=text)
    agent = Agent(ScriptedProvider(["Done."]), telemetry=recording.hook())
    async with DurableAgent(agent, f"sqlite:///{tmp_path}/runs.sqlite") as durable:
        await durable.run("go", id=text[:100])
    ids = [recording.one(TOP).attributes["toolkit.flow.id"], recording.one("invoke_agent").attributes["toolkit.run.id"]]
    assert all(run_id.startswith("r\\x1b[2J1") and len(run_id) <= 200 for run_id in ids)
