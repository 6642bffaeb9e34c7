"""
A word between turns: `agent.say` while a run goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.kit import Shed, call
from toolkit.agent import NotRunning, Run, ToolFinished, TurnFinished, UserInput, sub_run
from toolkit.agent.conversation.run_inbox import RunInbox, RunInboxes
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.errors import ProviderError, ToolkitError
from toolkit.providers import AssistantMessage, Reply, ToolMessage, UserMessage

pytestmark = pytest.mark.anyio


def speaking_agent(script, word="Stop at ten.", shed=None, **options):
    """Return an agent whose tool `speak` says something to the run while the call is under way."""
    shed = shed or Shed()

    @shed.catalog.tool(read_only=True)
    async def speak() -> str:
        """Let someone speak."""
        await asyncio.to_thread(agent.say, word)
        return "spoken"

    agent = shed.agent(script, **options)
    return agent


async def test_a_word_reaches_the_model_with_its_next_turn():
    """`agent.say(text)` while a run is going on reaches the model with its next turn."""
    events = []
    agent = speaking_agent([[call("speak")], "Ten."], on_event=events.append)
    run = await agent.run("Count.")
    assert run.text == "Ten."
    assert [type(message) for message in agent.asked[1].messages[-2:]] == [ToolMessage, UserMessage]
    assert agent.asked[1].messages[-1].text == "Stop at ten."


async def test_a_message_to_a_run_is_an_event_and_part_of_the_run():
    events = []
    agent = speaking_agent([[call("speak")], "Ten."], on_event=events.append)
    run = await agent.run("Count.")
    kinds = [type(event) for event in events]
    assert kinds.index(TurnFinished) < kinds.index(UserInput) < len(kinds) - 2
    assert [event.message for event in events if isinstance(event, UserInput)] == [UserMessage.of("Stop at ten.")]
    assert run.messages[3] == UserMessage.of("Stop at ten.")
    assert Run.loads(run.dumps()) == run
    assert run.unread == ()


async def test_a_word_during_the_answer_asks_the_model_once_more():
    """A word that arrives while the model gives its answer is not lost."""

    async def reply(request):
        agent.say("And elm?")
        return "Oak."

    agent = Shed().agent([reply, "Oak and elm."])
    run = await agent.run("Which?")
    assert (run.text, run.turns) == ("Oak and elm.", 2)
    assert [message.text for message in agent.asked[1].messages] == ["Which?", "Oak.", "And elm?"]


async def test_a_word_during_a_typed_answer_asks_the_model_once_more():
    """The answer that counts is the one after the word."""

    async def reply(request):
        agent.say("Double it.")
        return [call("final_answer", "c1", answer=1)]

    agent = Shed().agent([reply, [call("final_answer", "c2", answer=2)]], output=int)
    run = await agent.run("How many?")
    assert (run.output, run.turns) == (2, 2)


async def test_saying_something_to_an_agent_without_a_run_is_refused():
    """The error names the remedy, `agent.run(text, run=run)`."""
    agent = Shed().agent(["Hello."])
    with pytest.raises(NotRunning, match=r"no run .* under way.*agent\.run\(text, run=run\)") as raised:
        agent.say("Hello?")
    assert isinstance(raised.value, ToolkitError)
    run = await agent.run("Hello?")
    with pytest.raises(NotRunning, match=r"the run .* is not under way"):
        agent.say("Still there?", run=run)
    assert agent.active_run_ids == ()


@pytest.mark.parametrize(("word", "error"), [("", ValueError), ("  ", ValueError), (3, TypeError)])
async def test_an_empty_message_to_a_run_is_refused(word, error):
    with pytest.raises(error, match="prompt is"):
        Shed().agent([]).say(word)


async def test_several_runs_are_distinguished_by_their_ids():
    ids, started, go_on = [], asyncio.Event(), asyncio.Event()

    async def reply(request):
        ids[:] = agent.active_run_ids
        if len(ids) == 2:
            started.set()
        await go_on.wait()
        return "Yes."

    agent = Shed().agent([reply, reply, "To the second."])
    runs = [asyncio.create_task(agent.run(prompt)) for prompt in ("First?", "Second?")]
    await started.wait()
    with pytest.raises(ValueError, match=f"2 runs .*{ids[0]}, {ids[1]}.*run=run_id"):
        agent.say("Which?")
    agent.say("You.", run=ids[1])
    with pytest.raises(NotRunning, match=f"'no-run'.*under way are {ids[0]}"):
        agent.say("You.", run="no-run")
    go_on.set()
    first, second = await asyncio.gather(*runs)
    assert [first.id, second.id] == ids
    assert (first.turns, second.turns, second.text) == (1, 2, "To the second.")


async def test_a_listener_can_speak_to_the_run_of_its_event():
    """`TurnFinished` has the run so far, which names the run."""

    def listen(event):
        if isinstance(event, TurnFinished) and event.number == 1:
            agent.say("Enough.", run=event.run)

    agent = Shed().agent([[call("look", what="oak")], "Done."], on_event=listen)
    assert (await agent.run("Look."))._text() == "Done."
    assert agent.asked[1].messages[-1].text == "Enough."


async def test_a_message_to_a_run_that_then_waits_is_kept_until_the_resume():
    """It is part of the run, also of a saved one."""
    agent = speaking_agent([[call("speak"), call("cut", wood="oak")], "Done."])
    waiting = await agent.run("Cut.")
    assert (waiting.status, waiting.unread) == ("waiting", (UserMessage.of("Stop at ten."),))
    loaded = Run.loads(waiting.dumps())
    assert loaded == waiting
    run = await agent.resume(loaded, {loaded.requests[0].id: Decision.approve()})
    assert (run.unread, agent.asked[1].messages[-1].text) == ((), "Stop at ten.")


async def test_a_message_to_a_run_that_fails_is_read_before_the_next_prompt():
    """The messages keep their order."""

    async def fail(request):
        agent.say("Hurry.")
        raise ProviderError("overloaded")

    agent = Shed().agent([fail, "Done."])
    failed = await agent.run("Count.")
    assert failed.unread == (UserMessage.of("Hurry."),)
    await agent.run("Go on.", run=failed)
    assert [message.text for message in agent.asked[1].messages] == ["Count.", "Hurry.", "Go on."]


async def test_a_word_alone_is_something_to_go_on_with():
    """A run with an unread word needs no prompt."""

    async def reply(request):
        agent.say("And elm?")
        return "Oak."

    agent = Shed().agent([reply, "Elm."], max_turns=1)
    run = await agent.run("Which?")
    assert (run.status, run.text, len(run.unread)) == ("done", "Oak.", 1)  # the budget has no turn left for it
    assert (await agent.run(run=run)).text == "Elm."


async def test_a_word_waits_while_the_model_has_paused():
    """A reply that pauses goes on in the next request; a message between the two would break it."""

    async def pause(request):
        agent.say("Hurry.")
        return Reply(message=AssistantMessage(text="Well,"), stop="paused")

    agent = Shed().agent([pause, [call("look", what="oak")], "Done."])
    await agent.run("Look.")
    assert [type(request.messages[-1]) for request in agent.asked] == [UserMessage, AssistantMessage, UserMessage]


async def test_a_sub_run_does_not_read_a_word():
    """A word is for the run that the host knows."""
    shed = Shed()

    @shed.catalog.tool(read_only=True)
    async def ask_helper(context: Context) -> str:
        """Ask a helper."""
        agent.say("To the parent.")
        return await sub_run("Help.", context=context)

    agent = shed.agent([[call("ask_helper")], "Helped.", "Done."])
    await agent.run("Go.")
    assert [request.messages[-1].text for request in agent.asked if isinstance(request.messages[-1], UserMessage)] == [
        "Go.",
        "Help.",
        "To the parent.",
    ]


async def test_many_threads_may_speak_at_once():
    """Thread-safe: every word is refused or read, and none is read twice."""
    accepted, refused = [], []

    def speak(name):
        for number in range(20):
            word = f"{name}-{number}"
            try:
                agent.say(word)
            except NotRunning:
                refused.append(word)
            else:
                accepted.append(word)

    async def reply(request):
        if not threads:
            threads.extend(threading.Thread(target=speak, args=(name,)) for name in "abc")
            for thread in threads:
                thread.start()
        return "Yes."

    threads: list[threading.Thread] = []
    agent = Shed().agent([reply] * 200, max_turns=200)
    run = await agent.run("Listen.")
    for thread in threads:
        await asyncio.to_thread(thread.join)
    read = [message.text for message in (*run.messages[1:], *run.unread) if isinstance(message, UserMessage)]
    assert sorted(read) == sorted(accepted)
    assert len(accepted) + len(refused) == 60


@pytest.mark.parametrize("unread", [3, [3], [{"version": 1, "role": "tool", "results": []}]])
async def test_a_saved_run_with_malformed_unread_messages_is_refused(unread):
    """The message names the field `unread`."""
    data = (await Shed().agent(["Hello."]).run("Hello?")).to_json()
    with pytest.raises(ValueError, match="unread"):
        Run.from_json({**data, "unread": unread})


@given(st.lists(st.sampled_from(["add", "take", "close_if_empty", "close"])))
def test_an_inbox_loses_no_message(steps):
    """Every message that was accepted is taken once or still there; a closed inbox accepts none."""
    inbox, accepted, messages, is_open = RunInbox(), [], [], True
    for number, step in enumerate(steps):
        message = UserMessage.of(str(number))
        if step == "add":
            assert inbox.add(message) is is_open
            accepted += [message] if is_open else []
        elif step == "take":
            messages += inbox.take_all()
        elif step == "close":
            inbox.close()
            is_open = False
        else:
            is_open = is_open and bool(inbox.messages)
            assert inbox.close_if_empty() is not is_open
    assert [*messages, *inbox.messages] == accepted


def test_a_message_reaches_all_runs_with_the_same_id():
    """Two runs may have the same id, if one saved run is continued by two callers."""
    inboxes, first, second = RunInboxes(), RunInbox(), RunInbox()
    with inboxes.register("a", first), inboxes.register("a", second):
        assert inboxes.open_ids() == ("a",)
        inboxes.add(UserMessage.of("Hello."), "a")
    assert first.messages == second.messages == (UserMessage.of("Hello."),)
    assert not first.is_open


def test_a_message_does_not_reach_a_run_that_starts_afterwards():
    """A message without an id is for the only run that goes on, also if another thread starts one at that moment."""
    first, second = RunInbox(), RunInbox()

    class Inboxes(RunInboxes):
        def open_ids(self):
            ids = super().open_ids()
            starter.start()
            starter.join(0.05)  # it waits for the lock, so it has not ended then
            return ids

    inboxes = Inboxes()
    with contextlib.ExitStack() as runs:
        starter = threading.Thread(target=lambda: runs.enter_context(inboxes.register("b", second)))
        runs.enter_context(inboxes.register("a", first))
        inboxes.add(UserMessage.of("for a"), None)
        starter.join(30)
        assert (len(first.messages), len(second.messages)) == (1, 0)


async def test_a_message_to_a_run_may_have_several_parts():
    """It is one event, and starts no tool."""
    events = []

    async def reply(request):
        agent.say(UserMessage.of("Look:", "here"))
        return "Oak."

    agent = Shed().agent([reply, "Yes."], on_event=events.append)
    await agent.run("Which?")
    assert [event.message.text for event in events if isinstance(event, UserInput)] == ["Look:\nhere"]
    assert not any(isinstance(event, ToolFinished) for event in events)
