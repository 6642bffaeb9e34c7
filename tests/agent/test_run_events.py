"""What listeners of the dispatcher are told about the runs of an agent."""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.kit import Shed, call
from tests.calls.event_recorders import AsyncRecorder, Recorder
from toolkit.agent import Agent, sub_run
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.errors import ProviderError
from toolkit.hooks import (
    CallStarted,
    ConversationSummarized,
    Halt,
    ModelAnswered,
    ModelAsked,
    PersonAsked,
    PromptReceived,
    RunEnded,
    RunStarted,
    SubRunEnded,
    SubRunStarted,
)
from toolkit.providers import Reply, ScriptedProvider, Usage
from toolkit.providers.messages import AssistantMessage
from toolkit.session import Session

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("recorder_class", [Recorder, AsyncRecorder])
async def test_hooks_receive_all_events_of_a_run_from_its_start_to_its_end(recorder_class):
    shed, recorder, session = Shed(), recorder_class(), Session(principal="ada")
    reply = Reply(message=AssistantMessage(text="Done."), stop="answer", usage=Usage(input_tokens=7, output_tokens=2))
    agent = shed.agent(
        [[call("look", what="oak")], reply], dispatcher=shed.dispatcher(hooks=[recorder]), session=session
    )
    run = await agent.run("go")
    assert recorder.names == [
        *("run_started", "prompt_received", "model_asked", "model_answered"),
        *("call_started", "attempt_started", "call_ended", "model_asked", "model_answered", "run_ended"),
    ]
    (start,), (prompt,), (end,) = recorder.of(RunStarted), recorder.of(PromptReceived), recorder.of(RunEnded)
    assert (start.run.id, start.run.session, start.run.verb, start.run.mode) == (run.id, session, "run", "default")
    assert (start.run.provider, start.run.model, start.run.parent_id) == ("scripted", "scripted", None)
    assert (prompt.message.text, prompt.run) == ("go", start.run)
    assert (end.run, end.status, end.reason, end.turns, end.usage) == (start.run, "done", "", 2, run.usage)
    assert recorder.of(ModelAnswered)[1].reply.usage == Usage(input_tokens=7, output_tokens=2)


async def test_a_run_that_waits_ends_and_its_resume_starts_again():
    shed, recorder = Shed(), Recorder()
    agent = shed.agent([[call("cut", wood="oak")], "Done."], dispatcher=shed.dispatcher(hooks=[recorder]))
    run = await agent.run("go")
    (question,) = recorder.of(PersonAsked)
    assert [event.status for event in recorder.of(RunEnded)] == ["waiting"]
    await agent.resume(run, Decision.approve())
    assert [(event.run.verb, event.run.id) for event in recorder.of(RunStarted)] == [
        ("run", run.id),
        ("resume", run.id),
    ]
    assert [event.status for event in recorder.of(RunEnded)] == ["waiting", "done"]
    assert [event.request_id for event in recorder.of(CallStarted)] == [None, question.request.id]
    assert len(recorder.of(PromptReceived)) == 1


async def test_a_message_between_turns_causes_a_prompt_event():
    shed, recorder = Shed(), Recorder()

    def interrupt(request):
        agent.say("and an elm")
        return [call("look", what="oak")]

    agent = shed.agent([interrupt, "Done."], dispatcher=shed.dispatcher(hooks=[recorder]))
    await agent.run("go")
    assert [event.message.text for event in recorder.of(PromptReceived)] == ["go", "and an elm"]


async def test_a_model_that_fails_has_answered_with_the_error():
    shed, recorder = Shed(), Recorder()

    def fail(request):
        raise ProviderError("down")

    run = await shed.agent([fail], dispatcher=shed.dispatcher(hooks=[recorder])).run("go")
    assert run.status == "failed"
    (answered,), (end,) = recorder.of(ModelAnswered), recorder.of(RunEnded)
    assert (answered.reply, str(answered.error)) == (None, "down")
    assert (end.status, end.error is run.error) == ("failed", True)


async def test_a_run_that_a_hook_keeps_from_starting_starts_and_ends():
    class Sunday:
        def agent_started(self, session, *, details):
            return Halt("not on Sundays")

    shed, recorder = Shed(), Recorder()
    await shed.agent([], dispatcher=shed.dispatcher(hooks=[Sunday(), recorder])).run("go")
    assert recorder.names == ["run_started", "prompt_received", "run_ended"]
    assert recorder.of(RunEnded)[0].reason == "not on Sundays"


@pytest.mark.parametrize("turns", range(12))
async def test_a_cancelled_run_has_one_end_for_each_start(turns):
    """The run, the request to the model and the calls have ends, also while a listener is awaited."""
    shed, recorder = Shed(), AsyncRecorder()
    agent = shed.agent([[call("look", what="oak")], "Done."], dispatcher=shed.dispatcher(hooks=[recorder]))
    task = asyncio.ensure_future(agent.run("go"))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    counts = [len(recorder.of(kind)) for kind in (RunStarted, RunEnded)]
    assert counts == ([0, 0] if turns == 0 else [1, 1])
    assert len(recorder.of(ModelAsked)) == len(recorder.of(ModelAnswered))
    assert len(recorder.starts) == len(recorder.ends)
    if turns:
        assert recorder.of(RunEnded)[0].status == agent.last_run.status


def shed_with_helper() -> Shed:
    """Return a shed in which one tool lets the model work on a prompt of its own."""
    shed = Shed()

    @shed.catalog.tool(name="help", read_only=True)
    async def helper(task: str, context: Context) -> str:
        """Have a helper do something."""
        return await sub_run(task, context=context)

    return shed


def answer(**turns):
    """Return a script with replies by prompt."""

    def say(request):
        return turns[request.messages[0].text].pop(0)

    return [say] * 20


async def test_the_events_of_a_sub_run_name_its_parent_and_its_call():
    shed, recorder = shed_with_helper(), Recorder()
    script = answer(go=[[call("help", "c1", task="sub")], "Fine."], sub=["An oak."])
    run = await shed.agent(script, dispatcher=shed.dispatcher(hooks=[recorder])).run("go")
    (start,), (end,) = recorder.of(SubRunStarted), recorder.of(SubRunEnded)
    assert (start.run.parent_id, start.run.call_id, start.run.verb) == (run.id, "c1", "sub_run")
    assert (end.run, end.status) == (start.run, "done")
    assert (len(recorder.of(RunStarted)), len(recorder.of(RunEnded))) == (1, 1)
    names = recorder.names
    assert names.index("attempt_started") < names.index("sub_run_started") < names.index("sub_run_ended")
    assert [event.run.id for event in recorder.of(ModelAsked)] == [run.id, start.run.id, run.id]


async def test_a_sub_run_that_waits_ends_and_starts_again():
    shed, recorder = shed_with_helper(), Recorder()
    script = answer(go=[[call("help", task="sub")], "Fine."], sub=[[call("cut", wood="oak")], "Cut."])
    agent = shed.agent(script, dispatcher=shed.dispatcher(hooks=[recorder]))
    run = await agent.run("go")
    assert [event.status for event in recorder.of(SubRunEnded)] == ["waiting"]
    run = await agent.resume(run, Decision.approve())
    assert (run.status, shed.done) == ("done", ["cut oak"])
    assert [event.status for event in recorder.of(SubRunEnded)] == ["waiting", "done"]
    assert len(recorder.of(SubRunStarted)) == 2
    assert sorted(recorder.starts) == sorted(call_id for call_id, _ in recorder.ends)


async def test_a_summary_and_its_request_cause_events():
    shed, recorder = Shed("bypass"), Recorder()

    @shed.catalog.tool
    async def note(text: str) -> str:
        """Write a note."""
        return "noted"

    notes = [[call("note", text=f"{number} " + "x" * 1500)] for number in range(4)]
    agent = shed.agent(
        [*notes, "Four notes so far.", "Done."], dispatcher=shed.dispatcher(hooks=[recorder]), compact_at=6000
    )
    run = await agent.run("go")
    (event,) = recorder.of(ConversationSummarized)
    assert (event.summary, event.run.id, event.messages > 0) == ("Four notes so far.", run.id, True)
    assert len(recorder.of(ModelAsked)) == len(recorder.of(ModelAnswered)) == 6


async def test_agents_over_one_dispatcher_share_its_listeners():
    """A change of the catalog is told once, however many agents follow it."""
    shed, recorder = Shed(), Recorder()
    dispatcher = shed.dispatcher(hooks=[recorder])
    agents = [Agent(ScriptedProvider(["Done."]), dispatcher) for _ in range(2)]
    shed.catalog.remove("fetch")
    assert recorder.names == ["catalog_changed"]
    for agent in agents:
        await agent.run("go")
    assert len(recorder.of(RunEnded)) == 2
