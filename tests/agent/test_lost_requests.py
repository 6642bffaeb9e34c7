"""
Requests that were asked after a run was saved: a process was killed, and the saved run goes on without knowing them.
"""

from __future__ import annotations

import pytest

from tests.agent.kit import Shed, call
from toolkit.agent import Run
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.decisions import Decision
from toolkit.session import Session

pytestmark = pytest.mark.anyio

YES = Decision.approve(by="ada")


@pytest.fixture
def store(tmp_path):
    """A store that outlives a process."""
    return SQLiteApprovals(tmp_path / "approvals.db")


def agent_of(shed, store, script, **options):
    """Return an agent as another process would make it."""
    return shed.agent(script, dispatcher=shed.dispatcher(Approvals(store)), **options)


async def test_a_resumed_run_withdraws_unknown_requests(store):
    """Otherwise both could be approved, and the wood would be cut twice."""
    shed = Shed()
    first = agent_of(shed, store, [[call("cut", wood="oak")], [call("cut", wood="elm")]])
    saved = (await first.run("go")).dumps()
    lost = await first.resume(Run.loads(saved), {Run.loads(saved).requests[0].id: YES})
    # Killed here: the run that waits for the elm was never saved.
    second = agent_of(shed, store, [[call("cut", wood="elm")], "Cut."])
    again = await second.resume(Run.loads(saved), {Run.loads(saved).requests[0].id: YES})
    assert [request.id for request in store.pending()] == [request.id for request in again.requests]
    with pytest.raises(ApprovalError, match="was denied"):
        await shed.dispatcher(Approvals(store)).resume(lost.requests[0].id, YES)
    done = await second.resume(again, {again.requests[0].id: YES})
    assert (done.status, shed.done) == ("done", ["cut oak", "cut elm"])


async def test_an_answer_to_a_withdrawn_request_is_refused(store):
    """A caller with an old list is told that the request was denied."""
    shed = Shed()
    first = agent_of(shed, store, ["Hello.", [call("cut", wood="oak")]])
    saved = (await first.run("hi")).dumps()
    lost = await first.run("cut it", run=Run.loads(saved))
    second = agent_of(shed, store, [[call("cut", wood="oak")], "Cut."])
    again = await second.run("cut it", run=Run.loads(saved))
    with pytest.raises(ApprovalError, match="was denied") as refused:
        await shed.dispatcher(Approvals(store)).resume(lost.requests[0].id, YES)
    assert refused.value.why == "answered"
    await second.resume(again, {again.requests[0].id: YES})
    assert shed.done == ["cut oak"]


async def test_answering_one_of_two_requests_does_not_withdraw_the_other(store):
    shed = Shed()
    agent = agent_of(shed, store, [[call("burn", wood="oak"), call("fetch", url="https://a.example")], "Done."])
    run = await agent.run("go")
    assert len(run.requests) == 2
    run = await agent.resume(Run.loads(run.dumps()), {run.requests[0].id: YES})
    assert run.status == "waiting"
    run = await agent.resume(Run.loads(run.dumps()), {run.requests[0].id: YES})
    assert (run.status, len(shed.done)) == ("done", 2)


async def test_requests_of_other_conversations_stay(store):
    """A run withdraws what was asked in its own session, and nothing else."""
    shed = Shed()
    other = await agent_of(shed, store, [[call("cut", wood="ash")]]).run("go")
    agent = agent_of(shed, store, ["Hello.", "Still here."])
    run = await agent.run("hi")
    await agent.run("and?", run=run)
    assert [request.id for request in store.pending()] == [request.id for request in other.requests]


async def test_runs_that_share_a_session_of_the_host_keep_their_requests(store):
    """There one run cannot tell what another one waits for."""
    shed, session = Shed(), Session()
    waiting = await agent_of(shed, store, [[call("cut", wood="ash")]], session=session).run("go")
    agent = agent_of(shed, store, ["Hello.", "Still here."], session=session)
    await agent.run("and?", run=await agent.run("hi"))
    assert [request.id for request in store.pending()] == [request.id for request in waiting.requests]


async def test_a_request_of_a_removed_tool_is_withdrawn(store):
    """Another process may still have the tool."""
    shed = Shed()
    agent = agent_of(shed, store, ["Hello.", [call("cut", wood="oak")]])
    saved = (await agent.run("hi")).dumps()
    await agent.run("cut it", run=Run.loads(saved))
    shed.catalog.remove("cut")
    await agent_of(shed, store, ["Fine."]).run("and?", run=Run.loads(saved))
    assert store.pending() == []


async def test_a_killed_run_in_mode_auto_repeats_steps_that_were_not_saved(store):
    """No person was asked, so no request was kept."""
    shed = Shed("auto")
    saved = (await agent_of(shed, store, ["Hello."]).run("hi")).dumps()
    for _ in range(2):  # the first was killed before its run was saved
        await agent_of(shed, store, [[call("cut", wood="oak")], "Cut."]).run("cut it", run=Run.loads(saved))
    assert shed.done == ["cut oak", "cut oak"]


async def test_an_approval_of_a_request_that_is_not_in_the_store_is_refused():
    """The run was saved, and its request stayed in the memory of the process that asked."""
    shed = Shed()
    saved = (await agent_of(shed, MemoryApprovals(), [[call("cut", wood="oak")]]).run("go")).dumps()
    agent = agent_of(shed, MemoryApprovals(), ["Fine."])
    with pytest.raises(ApprovalError, match=r"SQLiteApprovals\(path\)") as refused:
        await agent.resume(Run.loads(saved), YES)
    assert (refused.value.why, agent.asked, shed.done) == ("unknown", [], [])
    denied = await agent.resume(Run.loads(saved), Decision.deny("no"))
    assert (denied.status, shed.done) == ("done", [])


async def test_an_approval_of_an_expired_and_deleted_request_does_not_run_the_call():
    """The model reads that the request has expired, and the host gets no error."""
    shed, now = Shed(), [1000.0]
    approvals = Approvals(store := MemoryApprovals(), clock=lambda: now[0], expires_seconds=60)
    agent = shed.agent([[call("cut", wood="oak")], "Too late."], dispatcher=shed.dispatcher(approvals))
    run = await agent.run("go")
    now[0] += 100
    store.purge(before=now[0])
    done = await agent.resume(run, YES)
    assert (done.text, shed.done) == ("Too late.", [])
