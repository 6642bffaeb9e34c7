"""
Runs that pause for a person: what they keep, which answers they take, and in which order things then happen.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import Agent, Run, sub_run
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.calls.resources import PER_CALL
from toolkit.context import Context, Inject
from toolkit.decisions import ApprovalRequest, AuthNeeded, AuthRequest, Decision
from toolkit.hooks import Halt, Proceed
from toolkit.providers import ScriptedProvider, ToolMessage
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
KEY = b"k" * 32
YES, NO = Decision.approve(by="ada"), Decision.deny("not today", by="ada")


async def test_a_waiting_call_pauses_the_run_and_keeps_its_siblings():
    """Calls that could run have run, and the request describes the waiting one."""
    shed = Shed()
    run = await shed.agent([[call("look", what="oak"), call("cut", wood="oak"), call("look", what="elm")]]).run("go")
    assert (run.status, shed.done) == ("waiting", ["look oak", "look elm"])
    assert [request.tool for request in run.requests] == ["cut"]
    assert [result.kind for result in results_of(run)] == ["ok", "waiting", "ok"]


async def test_an_approved_call_runs_and_the_model_goes_on():
    """The result takes the place of the one that waited, and the model has never seen that."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "It is cut."])
    run = await agent.run("go")
    run = await agent.resume(run, {run.requests[0].id: YES})
    assert (run.status, run.text, shed.done) == ("done", "It is cut.", ["cut oak"])
    assert [result.text for result in agent.asked[1].messages[-1].results] == ["cut oak"]


async def test_a_denied_call_does_not_run_and_the_model_reads_why():
    """A no is an answer, too."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "Then not."])
    run = await agent.run("go")
    run = await agent.resume(run, {run.requests[0].id: NO})
    assert (run.status, shed.done) == ("done", [])
    assert "not today" in results_of(run)[0].text


async def test_calls_that_were_held_back_run_in_order():
    """Later changes wait for the first, and each of them needs its own approval."""
    shed = Shed()
    agent = shed.agent([[call("burn", wood="oak"), call("cut", wood="elm"), call("cut", wood="ash")], "Done."])
    run = await agent.run("go")
    assert [request.tool for request in run.requests] == ["burn"]
    run = await agent.resume(run, {run.requests[0].id: YES})
    assert (run.status, shed.done) == ("waiting", ["burn oak"])
    assert [dict(request.arguments) for request in run.requests] == [{"wood": "elm"}]
    grant = run.requests[0].grants[-1]
    run = await agent.resume(run, {run.requests[0].id: Decision.approve(grant=grant)})
    assert (run.status, shed.done) == ("done", ["burn oak", "cut elm", "cut ash"])


async def test_a_call_that_was_held_back_does_not_run_while_an_earlier_call_waits():
    """Decisions about some of the requests leave the other requests waiting."""
    shed = Shed()
    agent = shed.agent(
        [
            [call("fetch", url="https://a.example"), call("fetch", url="https://b.example"), call("cut", wood="oak")],
            "Done.",
        ]
    )
    run = await agent.run("go")
    first, second = run.requests
    run = await agent.resume(run, {first.id: YES})
    assert (run.status, shed.done) == ("waiting", ["fetch https://a.example"])
    assert run.requests == (second,)
    run = await agent.resume(run, {second.id: NO})
    assert (run.status, [request.tool for request in run.requests]) == ("waiting", ["cut"])


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_call_that_was_held_back_runs_once_if_a_run_is_resumed_twice(kind, tmp_path):
    """An approved call runs once, too. The result of the second resume says that the call may have happened."""
    shed = Shed("auto")
    store = MemoryApprovals() if kind == "memory" else SQLiteApprovals(tmp_path / "work.approvals.sqlite")
    dispatcher = shed.dispatcher(Approvals(store))
    agent = shed.agent(
        [[call("burn", wood="oak"), call("cut", wood="elm")], "Done.", "Done again."], dispatcher=dispatcher
    )
    paused = await agent.run("go")
    for _ in range(2):
        run = await agent.resume(Run.loads(paused.dumps()), {paused.requests[0].id: YES})
    assert (run.status, shed.done, store.pending()) == ("done", ["burn oak", "cut elm"], [])
    assert [result.kind for result in results_of(run)] == ["ok", "cancelled"]
    assert "another process has continued this run: it may or may not have happened" in results_of(run)[1].text


async def test_a_resume_without_decisions_changes_nothing():
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")]])
    run = await agent.run("go")
    again = await agent.resume(run, {})
    assert (again.status, again.requests, again.messages) == ("waiting", run.requests, run.messages)


async def test_decisions_about_something_else_are_refused_by_name():
    """No call runs if any of the ids is unknown."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak"), call("cut", wood="elm")]])
    run = await agent.run("go")
    with pytest.raises(ApprovalError, match=r"'nonsense'.*`cut`") as caught:
        await agent.resume(run, {run.requests[0].id: YES, "nonsense": YES})
    assert (caught.value.why, shed.done) == ("unknown", [])
    held_id = results_of(run)[1].request.id
    with pytest.raises(ApprovalError, match="held back is asked about when its turn comes"):
        await agent.resume(run, {held_id: YES})
    with pytest.raises(TypeError, match="Decision.approve"):
        await agent.resume(run, {run.requests[0].id: True})


async def test_a_prompt_for_a_waiting_run_or_a_resume_of_a_finished_run_is_refused():
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "Done."])
    run = await agent.run("go")
    with pytest.raises(ValueError, match=r"resume\(run, decisions\)"):
        await agent.run("something else", run=run)
    run = await agent.resume(run, {run.requests[0].id: YES})
    with pytest.raises(ValueError, match="the run is done"):
        await agent.resume(run, {})


async def test_a_run_does_not_pause_if_an_asker_answers():
    shed = Shed()
    approvals = Approvals(ask=lambda request: True)
    run = await shed.agent([[call("cut", wood="oak")], "Done."], dispatcher=shed.dispatcher(approvals)).run("go")
    assert (run.status, shed.done) == ("done", ["cut oak"])


async def test_a_refused_answer_is_raised_and_can_be_corrected():
    """The run still waits, and `last_run` has the earlier steps."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "Done."])
    run = await agent.run("go")
    key = run.requests[0].id
    with pytest.raises(ApprovalError, match="do not fit"):
        await agent.resume(run, {key: Decision.approve(arguments={"tree": 1})})
    assert (agent.last_run.status, agent.last_run.requests) == ("waiting", run.requests)
    run = await agent.resume(agent.last_run, {key: Decision.approve(arguments={"wood": "ash"})})
    assert (run.status, shed.done) == ("done", ["cut ash"])


async def test_the_result_of_a_request_that_was_answered_elsewhere_is_used():
    """A program may have resumed the call alone. It is not run twice, and the run goes on."""
    shed = Shed()
    dispatcher = shed.dispatcher()
    agent = shed.agent([[call("cut", wood="oak")], "Done."], dispatcher=dispatcher)
    run = await agent.run("go")
    key = run.requests[0].id
    await dispatcher.resume(key, YES, session=run.session)
    run = await agent.resume(run, {key: YES})
    assert (run.status, shed.done, results_of(run)[0].text) == ("done", ["cut oak"], "cut oak")


async def test_the_model_reads_that_a_request_has_expired():
    """The call did not run, and the model may call again."""
    shed, now = Shed(), [1000.0]
    approvals = Approvals(expires_seconds=10, clock=lambda: now[0])
    agent = shed.agent([[call("cut", wood="oak")], "Too late."], dispatcher=shed.dispatcher(approvals))
    run = await agent.run("go")
    now[0] += 20
    run = await agent.resume(run, {run.requests[0].id: YES})
    assert (run.status, shed.done) == ("done", [])
    assert "expired" in results_of(run)[0].text


async def test_a_run_is_resumed_from_json_by_another_agent_with_the_same_store():
    """A value can go anywhere; the store has the truth."""
    shed = Shed()
    store = MemoryApprovals()
    run = await shed.agent([[call("cut", wood="oak")]], dispatcher=shed.dispatcher(Approvals(store))).run("go")
    loaded = Run.loads(run.dumps())
    other = shed.agent(["Done."], dispatcher=shed.dispatcher(Approvals(store)))
    finished = await other.resume(loaded, {loaded.requests[0].id: YES})
    assert (finished.status, finished.id, shed.done) == ("done", run.id, ["cut oak"])


async def test_changed_run_cannot_make_a_person_approve_another_call():
    """The store has to have the request that the person saw."""
    shed = Shed()
    agent = shed.agent([[call("burn", wood="oak")]])
    run = await agent.run("go")
    data = run.to_json()
    request = data["messages"][-1]["results"][0]["request"]
    request["tool"], request["reason"] = "look", "just a look"
    forged = Run.from_json(data)
    with pytest.raises(ApprovalError, match="not what was asked") as caught:
        await agent.resume(forged, {forged.requests[0].id: YES})
    assert (caught.value.why, shed.done) == ("forged", [])


async def test_a_sealed_request_travels_in_the_run():
    """If there is no store, the decision answers the request in the run."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "Done."], dispatcher=shed.dispatcher(Approvals(key=KEY)))
    loaded = Run.loads((await agent.run("go")).dumps())
    run = await agent.resume(loaded, {loaded.requests[0].id: YES})
    assert (run.status, shed.done) == ("done", ["cut oak"])


async def test_a_request_is_answered_for_its_principal():
    """A loaded run has no principal, and the session of the agent has it."""
    shed = Shed()
    store = MemoryApprovals()
    run = await shed.agent(
        [[call("cut", wood="oak")]], dispatcher=shed.dispatcher(Approvals(store)), session=Session(principal="ada")
    ).run("go")
    loaded = Run.loads(run.dumps())
    other_agent = shed.agent(["Done."], dispatcher=shed.dispatcher(Approvals(store)))
    with pytest.raises(ApprovalError) as caught:
        await other_agent.resume(loaded, {loaded.requests[0].id: YES})
    assert caught.value.why == "principal"
    ada = shed.agent(["Done."], dispatcher=shed.dispatcher(Approvals(store)), session=Session(principal="ada"))
    assert (await ada.resume(loaded, {loaded.requests[0].id: YES})).status == "done"


class Token(str):
    """A login."""


@pytest.mark.parametrize("way", ["run", "stream"])
async def test_credentials_are_asked_for_and_given_with_the_answer(way):
    """They reach the call that asked and the calls after it, and are not kept."""
    shed, used = Shed(), []

    @shed.catalog.tool(read_only=True)
    async def issues(context: Context) -> str:
        """List the issues."""
        if Token not in context.resources:
            raise AuthNeeded(AuthRequest(provider="tracker"))
        used.append(context.resources[Token])
        return "3 issues"

    agent = shed.agent([[call("issues")], [call("issues")], "Three."])
    run = await agent.run("go")
    assert (run.status, run.requests[0].auth.provider) == ("waiting", "tracker")
    answers, resources = {run.requests[0].id: YES}, {Token: Token("sesame")}
    if way == "run":
        run = await agent.resume(run, answers, resources=resources)
    else:
        run = [event async for event in agent.stream(run=run, decisions=answers, resources=resources)][-1].run
    assert (run.status, used) == ("done", ["sesame", "sesame"])
    assert "sesame" not in run.dumps()


async def test_resources_of_a_run_reach_all_its_calls():
    """They reach calls after the prompt, in sub-runs and in the execution of a plan."""
    shed, used = Shed(), []

    @shed.catalog.tool(read_only=True)
    async def issues(token: Inject[Token], context: Context) -> str:
        """List the issues."""
        used.append(str(token))
        return await sub_run("sub", context=context) if len(used) == 1 else "3 issues"

    dispatcher = shed.dispatcher(resources={Token: PER_CALL})
    agent = shed.agent(
        [[call("issues")], [call("issues")], "Sub.", "Plan.", [call("issues")], "Done."],
        dispatcher=dispatcher,
        mode="plan",
    )
    planned = await agent.run("go", resources={Token: Token("a")})
    run = await agent.execute(planned, resources={Token: Token("b")})
    assert (run.status, used) == ("done", ["a", "a", "b"])


async def test_a_halt_closes_all_waiting_calls():
    """The calls cannot run later, and each has its result."""
    shed = Shed()

    class Alarm:
        def before(self, call):
            return Halt("fire") if call.name == "look" else Proceed()

    dispatcher = shed.dispatcher(hooks=[Alarm()])
    agent = shed.agent(
        [[call("cut", wood="oak"), call("cut", wood="elm"), call("look", what="fire")]], dispatcher=dispatcher
    )
    run = await agent.run("go")
    assert (run.status, run.stop, run.reason, run.requests) == ("stopped", "halt", "fire", ())
    assert [result.kind for result in results_of(run)] == ["halted"] * 3


async def test_no_waiting_call_runs_after_a_halt():
    """This holds also if the run was cancelled before its requests were closed, and is resumed."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak"), call("look", what="fire")]])
    paused = await agent.run("go")
    halted = ToolResult.failure("halted", "fire", call_id=paused.messages[-1].results[1].call_id, tool="look")
    broken = replace(paused, messages=(*paused.messages[:-1], ToolMessage((paused.messages[-1].results[0], halted))))
    run = await agent.resume(broken, {paused.requests[0].id: YES})
    assert (run.status, run.stop, run.requests, shed.done) == ("stopped", "halt", (), ["look fire"])
    with pytest.raises(ApprovalError, match="was denied"):
        await agent._toolbox.dispatcher.resume(paused.requests[0].id, YES, session=paused.session)


async def test_a_halt_while_held_back_calls_run_ends_the_run():
    """The calls behind the halt do not run."""
    shed = Shed()

    class Alarm:
        def before(self, call):
            return Halt("fire") if call.arguments["wood"] == "elm" else Proceed()

    dispatcher = shed.dispatcher(hooks=[Alarm()])
    agent = shed.agent(
        [[call("cut", wood="oak"), call("cut", wood="elm"), call("cut", wood="ash")]], dispatcher=dispatcher
    )
    run = await agent.run("go")
    run = await agent.resume(run, {run.requests[0].id: YES})
    assert (run.status, run.stop, shed.done) == ("stopped", "halt", ["cut oak"])
    assert [result.kind for result in results_of(run)] == ["ok", "halted", "halted"]


async def test_people_may_take_their_time():
    """The budget's seconds do not run while a run waits; what was spent before is not forgotten."""
    shed, now = Shed(), [0.0]
    agent = shed.agent([[call("cut", wood="oak")], "Done."], max_turns=2, clock=lambda: now[0])
    run = await agent.run("go")
    now[0] += 1_000_000
    run = await agent.resume(run, {run.requests[0].id: YES})
    assert (run.status, run.spent.turns, run.spent.seconds) == ("done", 2, 0.0)


async def test_a_tool_that_only_claims_to_wait_does_not_stop_the_run():
    """There is no request to answer. The calls that were held back behind it are reported, and not run."""
    shed = Shed("auto")

    @shed.catalog.tool
    async def stall() -> ToolResult:
        """Wait for nothing."""
        return ToolResult("wait", None, "waiting")

    run = await shed.agent([[call("stall"), call("cut", wood="oak")], "Done."]).run("go")
    assert (run.status, shed.done) == ("done", ["cut oak"])
    assert results_of(run)[0].kind == "cancelled"


async def test_a_request_that_a_tool_invented_lets_no_call_run():
    """The store does not know it."""
    shed = Shed("auto")

    @shed.catalog.tool
    async def forge() -> ToolResult:
        """Ask for something."""
        request = ApprovalRequest(tool="burn", call_id="c1", reason="just a look", arguments={"wood": "oak"})
        return ToolResult("wait", None, "waiting", request=request)

    agent = shed.agent([[call("forge"), call("cut", wood="oak")], "Done."])
    run = await agent.run("go")
    assert run.status == "waiting"
    with pytest.raises(ApprovalError, match="does not know request"):
        await agent.resume(run, {run.requests[0].id: YES})
    run = await agent.resume(run, {run.requests[0].id: NO})
    assert (run.status, shed.done) == ("done", ["cut oak"])
    assert results_of(run)[0].kind == "denied"


async def test_a_call_held_back_without_an_earlier_waiting_call_is_cancelled():
    """Only a saved run that was changed holds such a call."""
    shed = Shed()
    calls = [call("look", what="oak"), call("cut", wood="oak"), call("cut", wood="elm")]
    agent = shed.agent([calls, "Done."])
    data = (await agent.run("go")).to_json()
    data["messages"][-1]["results"][0]["kind"] = "waiting"
    run = Run.from_json(data)
    run = await agent.resume(run, {run.requests[0].id: NO})
    assert (run.status, [result.kind for result in results_of(run)]) == ("done", ["cancelled", "denied", "cancelled"])


SCRIPT = """
import asyncio, json, sys
from tests.agent.kit import Shed
from toolkit.agent import Run
from toolkit.approvals import Approvals, SQLiteApprovals
from toolkit.decisions import Decision

shed = Shed()
run = Run.loads(sys.stdin.read())
dispatcher = shed.dispatcher(Approvals(SQLiteApprovals(sys.argv[1])))
agent = shed.agent(["It is cut."], dispatcher=dispatcher)
run = asyncio.run(agent.resume(run, {request.id: Decision.approve(by="eve") for request in run.requests}))
while run.status == "waiting":
    run = asyncio.run(agent.resume(run, {request.id: Decision.approve(by="eve") for request in run.requests}))
print(json.dumps([run.to_json(), shed.done]))
"""


async def test_a_run_is_resumed_in_another_process(tmp_path):
    """It is the same conversation, held-back calls run there, and no call runs twice."""
    shed, path = Shed(), tmp_path / "work.approvals.sqlite"
    dispatcher = shed.dispatcher(Approvals(SQLiteApprovals(path)))
    agent = shed.agent(
        [[call("look", what="oak"), call("cut", wood="oak"), call("burn", wood="elm")]], dispatcher=dispatcher
    )
    run = await agent.run("go")
    assert run.status == "waiting"
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, str(path), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    output, _ = await other.communicate(run.dumps().encode())
    assert other.returncode == 0
    data, done = json.loads(output)
    finished = Run.from_json(data)
    assert (finished.status, finished.text, finished.id) == ("done", "It is cut.", run.id)
    assert (shed.done, done) == (["look oak"], ["cut oak", "burn elm"])
    assert finished.messages[:2] == run.messages[:2]
    assert [result.text for result in results_of(finished)] == ["a oak", "cut oak", "burnt elm"]
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(run.requests[0].id, YES, session=run.session)
    assert caught.value.why == "answered"


async def test_an_agent_wants_something_that_answers():
    """A class, or a text, is no provider."""
    with pytest.raises(TypeError, match="toolkit.providers"):
        Agent(ScriptedProvider, [])
