"""
What a person edits while a run waits: the model reads it, and the conversation and the saved run keep it.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import Run, sub_run
from toolkit.approvals import Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.context import Context, Secret
from toolkit.decisions import Decision
from toolkit.policies.redaction import MASK
from toolkit.session import Session

pytestmark = pytest.mark.anyio

EDITED = Decision.approve(arguments={"wood": "elm"}, by="ada")
TEXT = 'note: ada changed the arguments: `wood` is "elm" (was "oak")\ncut elm'
EDITS = [{"by": "ada", "before": {"wood": "oak"}, "after": {"wood": "elm"}}]


async def test_the_model_reads_the_edits_of_a_person(tmp_path):
    """Its own message does not change. The result has the arguments that ran, also after the run was saved."""
    shed = Shed()
    dispatcher = shed.dispatcher(Approvals(SQLiteApprovals(tmp_path / "x.approvals.sqlite")))
    paused = await shed.agent([[call("cut", wood="oak")]], dispatcher=dispatcher).run("go")
    agent = shed.agent(["I see."], dispatcher=dispatcher)
    run = await agent.resume(Run.loads(paused.dumps()), {paused.requests[0].id: EDITED})
    assert (run.status, shed.done) == ("done", ["cut elm"])
    read = agent.asked[0].messages
    assert ([entry.arguments for entry in read[-2].calls], [entry.text for entry in read[-1].results]) == (
        [{"wood": "oak"}],
        [TEXT],
    )
    (result,) = results_of(Run.loads(run.dumps()))
    assert (result.text, result.metadata) == (TEXT, {"edits": EDITS})


async def test_a_listener_gets_the_change_with_the_result():
    """The events carry the same result."""
    shed, events = Shed(), []
    agent = shed.agent([[call("cut", wood="oak")], "I see."], on_event=events.append)
    run = await agent.run("go")
    await agent.resume(run, {run.requests[0].id: EDITED})
    finished = [event.result for event in events if hasattr(event, "result") and event.result.kind == "ok"]
    assert [(result.text, result.metadata) for result in finished] == [(TEXT, {"edits": EDITS})]


async def test_the_model_reads_the_edits_of_an_asker():
    """An asker answers while the run goes on."""
    shed = Shed()
    approvals = Approvals(ask=lambda request: EDITED)
    agent = shed.agent([[call("cut", wood="oak")], "I see."], dispatcher=shed.dispatcher(approvals))
    run = await agent.run("go")
    assert (run.status, [result.text for result in agent.asked[1].messages[-1].results]) == ("done", [TEXT])


async def test_the_model_reads_a_change_of_arguments_that_needed_a_second_approval():
    """The run waits a second time, and the model reads the change with the result."""
    shed = Shed(rules=("ask cut(wood=elm)",))
    agent = shed.agent([[call("cut", wood="oak")], "I see."])
    run = await agent.run("go")
    run = await agent.resume(run, {run.requests[0].id: EDITED})
    assert (run.status, run.requests[0].arguments) == ("waiting", {"wood": "elm"})
    run = await agent.resume(run, {run.requests[0].id: Decision.approve(by="bob")})
    assert [result.text for result in agent.asked[1].messages[-1].results] == [TEXT]


@pytest.mark.parametrize("edits", [EDITED, Decision.approve(arguments={"wood": "elm", "key": MASK}, by="ada")])
async def test_the_result_of_a_cancelled_call_has_the_edits_of_a_person(edits):
    """The call may have happened with other arguments than the model sent. A secret is not among them."""
    shed, has_begun = Shed(), asyncio.Event()

    @shed.catalog.tool
    async def saw(wood: str, key: Annotated[str, Secret] = "sesame") -> None:
        """Saw wood for a long time."""
        has_begun.set()
        await asyncio.Event().wait()

    agent = shed.agent([[call("saw", wood="oak")]])
    run = await agent.run("go")
    task = asyncio.ensure_future(agent.resume(run, edits))
    await has_begun.wait()
    task.cancel()
    await asyncio.wait({task})
    (result,) = results_of(agent.last_run)
    note = 'note: ada changed the arguments: `wood` is "elm" (was "oak")\n'
    assert result.text == f"{note}error: cancelled: it was cancelled: it may or may not have happened"
    assert result.metadata == {"edits": EDITS}


async def test_a_sub_run_reads_the_edits_of_a_person():
    """Its conversation is kept like that of its parent."""
    shed = Shed()

    @shed.catalog.tool
    async def delegate(context: Context) -> str:
        """Let another run do it."""
        return await sub_run("cut it", context=context)

    agent = shed.agent([[call("delegate")], [call("cut", wood="oak")], "inner", "outer"])
    run = await agent.run("go")
    while run.status == "waiting":
        request = run.requests[0]
        run = await agent.resume(run, {request.id: EDITED if request.tool == "cut" else Decision.approve()})
    assert (run.status, run.text, shed.done) == ("done", "outer", ["cut elm"])
    texts = [result.text for request in agent.asked for result in getattr(request.messages[-1], "results", ())]
    assert TEXT in texts


async def test_two_runs_of_one_session_have_separate_calls():
    """The ids that the library makes begin anew with each run, so a call of the second run is no repetition."""
    shed = Shed()
    dispatcher = shed.dispatcher(Approvals(MemoryApprovals()))
    for _ in range(2):
        agent = shed.agent([[call("cut", wood="oak")], "ok"], dispatcher=dispatcher, session=Session(id="host"))
        run = await agent.run("go")
        assert run.status == "waiting"
        run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
        assert results_of(run)[0].text == "cut oak"
    assert shed.done == ["cut oak"] * 2


async def test_a_call_that_was_held_back_runs_despite_an_equal_call_of_the_session():
    """Another run of the session may have had a call with the same id and the same arguments."""
    shed = Shed()
    dispatcher = shed.dispatcher(Approvals(MemoryApprovals()))
    for _ in range(2):
        calls = [call("cut", wood="ash"), call("cut", wood="oak")]
        agent = shed.agent([calls, "ok"], dispatcher=dispatcher, session=Session(id="host"))
        run = await agent.run("go")
        while run.status == "waiting":
            run = await agent.resume(Run.loads(run.dumps()), {run.requests[0].id: Decision.approve()})
        assert [result.text for result in results_of(run)] == ["cut ash", "cut oak"]
    assert shed.done == ["cut ash", "cut oak"] * 2
