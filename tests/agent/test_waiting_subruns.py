"""Runs inside runs that wait: their requests wait in the outer run, and their answers go in."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.kit import call, results_of
from tests.agent.subrun_kit import script_by_prompt, shed_with_helper
from tests.clocks import until
from toolkit.agent import Run, ToolFinished
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals
from toolkit.decisions import Decision
from toolkit.errors import ProviderError
from toolkit.hooks import Halt, Proceed
from toolkit.providers import AssistantMessage, Reply, Usage

pytestmark = pytest.mark.anyio


def waiting_script():
    return script_by_prompt(
        go=[[call("help", "c1", task="sub"), call("burn", "c2", wood="elm")], "Fine."],
        sub=[[call("look", what="oak"), call("cut", wood="oak"), call("cut", wood="ash")], "All cut."],
    )


@pytest.mark.parametrize("way", ["here", "json"])
async def test_a_run_waits_with_the_requests_of_its_sub_run(way):
    """Changes after the call are held back, and all calls run in order."""
    shed, store = shed_with_helper(), MemoryApprovals()
    agent = shed.agent(waiting_script(), dispatcher=shed.dispatcher(Approvals(store)))
    run = await agent.run("go")
    rounds = []
    while run.status == "waiting":
        if way == "json":
            run = Run.loads(run.dumps())
        rounds.append([(request.tool, dict(request.arguments)) for request in run.requests])
        run = await agent.resume(run, {request.id: Decision.approve() for request in run.requests})
    assert rounds == [[("cut", {"wood": "oak"})], [("cut", {"wood": "ash"})], [("burn", {"wood": "elm"})]]
    assert (run.status, run.text, run.subs) == ("done", "Fine.", ())
    assert shed.done == ["look oak", "cut oak", "cut ash", "burn elm"]
    assert [result.text for result in results_of(run)] == ["All cut.", "burnt elm"]


async def test_the_usage_of_a_sub_run_that_waited_is_counted_once():
    """The parts before and after the pause are added."""

    def spending(step):
        calls = tuple(step) if isinstance(step, list) else ()
        message = AssistantMessage(text="" if calls else step, calls=calls)
        return Reply(message=message, stop="calls" if calls else "answer", usage=Usage(input_tokens=100))

    script = script_by_prompt(
        go=[spending([call("help", "c1", task="sub")]), spending("Fine.")],
        sub=[spending([call("cut", "c1", wood="oak")]), spending("Cut.")],
    )
    agent = shed_with_helper().agent(script)
    run = await agent.run("go")
    assert run.usage.input_tokens == 200
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.usage.input_tokens, run.spent.usage.input_tokens, run.turns) == (400, 400, 4)


async def test_sub_run_waits_until_a_person_answers():
    """Decisions about others leave it alone."""
    shed = shed_with_helper(tools=("cut",))
    script = script_by_prompt(
        go=[[call("help", task="sub"), call("fetch", url="https://a.example")], "Fine."],
        sub=[[call("cut", wood="oak")], "Cut."],
    )
    agent = shed.agent(script)
    run = await agent.run("go")
    inner, outer = run.requests
    run = await agent.resume(run, {outer.id: Decision.approve()})
    assert (run.status, run.requests) == ("waiting", (inner,))
    run = await agent.resume(run, {inner.id: Decision.deny("no")})
    assert (run.status, shed.done) == ("done", ["fetch https://a.example"])


async def test_two_deep():
    """A wait comes out through every run around it, and goes back in."""
    shed = shed_with_helper()
    script = script_by_prompt(
        go=[[call("help", task="middle")], "Fine."],
        middle=[[call("help", task="inner")], "Passed on."],
        inner=[[call("cut", wood="oak")], "Cut."],
    )
    agent = shed.agent(script)
    run = Run.loads((await agent.run("go")).dumps())
    assert run.subs[0].run.subs[0].run.requests == run.requests
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, shed.done) == ("done", ["cut oak"])
    assert results_of(run)[0].text == "Passed on."


async def test_a_halt_closes_the_waiting_requests_of_a_sub_run():
    """The call cannot run later."""
    shed, store = shed_with_helper(), MemoryApprovals()

    class Fire:
        def before(self, call):
            return Halt("fire") if call.name == "look" else Proceed()

    script = script_by_prompt(go=[[call("help", task="sub"), call("look", what="x")]], sub=[[call("cut", wood="oak")]])
    dispatcher = shed.dispatcher(Approvals(store), hooks=[Fire()])
    run = await shed.agent(script, dispatcher=dispatcher).run("go")
    assert (run.status, run.stop, run.subs, store.pending()) == ("stopped", "halt", (), [])


async def test_a_sub_run_that_fails_after_its_pause_is_a_failed_call():
    """The parent run goes on."""
    shed = shed_with_helper()
    script = script_by_prompt(
        go=[[call("help", task="sub")], "Alone."], sub=[[call("cut", wood="oak")], ProviderError("overloaded")]
    )
    agent = shed.agent(script)
    run = await agent.run("go")
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, run.text, results_of(run)[0].kind) == ("done", "Alone.", "failed")


async def test_a_sub_run_that_is_cancelled_after_its_pause_is_a_cancelled_call():
    """No part of it waits any more."""
    shed = shed_with_helper()
    speaking = asyncio.Event()

    async def forever(request):
        speaking.set()
        await asyncio.Event().wait()

    def say(request):
        if request.messages[0].text == "go":
            return [call("help", "c1", task="sub")] if len(request.messages) == 1 else "Fine."
        return [call("cut", wood="oak")] if len(request.messages) == 1 else forever(request)

    agent = shed.agent([say] * 9)
    run = await agent.run("go")
    task = asyncio.ensure_future(agent.resume(run, {run.requests[0].id: Decision.approve()}))
    await speaking.wait()
    task.cancel()
    await asyncio.wait({task})
    run = agent.last_run
    assert (run.status, run.stop, run.subs, results_of(run)[0].kind) == ("stopped", "cancelled", (), "cancelled")
    assert Run.loads(run.dumps()) == run


async def test_a_call_that_was_approved_has_its_sub_run_too():
    """A person agrees to the helper first, and then to what it does."""
    shed = shed_with_helper(read_only=False)
    agent = shed.agent(
        script_by_prompt(go=[[call("help", task="sub")], "Fine."], sub=[[call("cut", wood="oak")], "Cut."])
    )
    run, tools = await agent.run("go"), []
    while run.status == "waiting":
        tools.append(run.requests[0].tool)
        run = await agent.resume(Run.loads(run.dumps()), {run.requests[0].id: Decision.approve()})
    assert (tools, run.status, shed.done) == (["help", "cut"], "done", ["cut oak"])


async def test_the_result_of_a_resumed_sub_run_passes_hooks_and_redaction():
    shed, results = shed_with_helper(), []

    class Diary:
        def after(self, call, result):
            results.append((call.name, call.tool is not None, call.session is not None, result.text))
            return result

    script = script_by_prompt(
        go=[[call("help", task="sub")], "Fine."], sub=[[call("cut", wood="oak")], "The code is 1234."]
    )
    agent = shed.agent(script, dispatcher=shed.dispatcher(hooks=[Diary()], redact=["1234"]))
    run = await agent.run("go")
    results.clear()
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert results == [("cut", True, True, "cut oak"), ("help", True, True, "The code is 1234.")]
    assert results_of(run)[0].text == "The code is [redacted]."


@pytest.mark.parametrize("when", ["run", "resume"])
async def test_a_waiting_request_of_a_cancelled_sub_run_can_still_be_answered(when):
    """A pause inside a cancellation is a pause, at every depth."""
    shed, digging = shed_with_helper(tools=("cut", "dig", "fetch")), asyncio.Event()

    @shed.catalog.tool(read_only=True, approval="always" if when == "resume" else "never")
    async def dig() -> str:
        """Dig for ever."""
        digging.set()
        await asyncio.Event().wait()

    events, calls = [], [call("fetch", url="https://a.example"), call("dig")]
    script = script_by_prompt(go=[[call("help", task="sub")], "Fine."], sub=[calls, "Fetched."])
    agent = shed.agent(script, on_event=events.append)
    if when == "run":
        task = asyncio.ensure_future(agent.run("go"))
    else:
        run = await agent.run("go")
        task = asyncio.ensure_future(agent.resume(run, {run.requests[1].id: Decision.approve()}))
    await digging.wait()
    await until(lambda: any(isinstance(getattr(event, "event", None), ToolFinished) for event in events))
    task.cancel()
    await asyncio.wait({task})
    run = Run.loads(agent.last_run.dumps())
    assert (run.status, [request.tool for request in run.requests]) == ("waiting", ["fetch"])
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, results_of(run)[0].text, shed.done) == ("done", "Fetched.", ["fetch https://a.example"])


async def test_a_refused_answer_inside_a_sub_run_loses_no_step():
    """Earlier steps are kept, and the other request can be answered again."""
    shed = shed_with_helper(tools=("fetch",))
    calls = [call("fetch", url="https://a.example"), call("fetch", url="https://b.example")]
    agent = shed.agent(script_by_prompt(go=[[call("help", task="sub")], "Fine."], sub=[calls, "Fetched."]))
    run = await agent.run("go")
    first, second = run.requests
    with pytest.raises(ApprovalError, match="do not fit"):
        await agent.resume(run, {first.id: Decision.approve(), second.id: Decision.approve(arguments={})})
    run = agent.last_run
    assert (run.requests, shed.done) == ((second,), ["fetch https://a.example"])
    run = await agent.resume(run, {second.id: Decision.approve()})
    assert (run.status, len(shed.done)) == ("done", 2)
