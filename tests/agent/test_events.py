"""
What an agent tells while it works.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from typing import Annotated

import pytest

from tests.agent.kit import Shed, call
from toolkit.access import Writes
from toolkit.agent import (
    Agent,
    CatalogChanged,
    Compacted,
    Done,
    Refused,
    Run,
    RunFailed,
    RunWaits,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
)
from toolkit.context import Context, Secret
from toolkit.decisions import Decision
from toolkit.errors import ProviderError, Safety
from toolkit.providers import ScriptedProvider

pytestmark = pytest.mark.anyio


async def collect(stream):
    return [event async for event in stream]


async def test_a_stream_gives_the_events_of_a_run_in_order():
    shed = Shed("bypass")
    events = await collect(shed.agent([[call("burn", "c1", wood="oak")], "All done."]).stream("go"))
    kinds = [type(event) for event in events]
    assert kinds == [ToolStarted, ToolProgress, ToolFinished, TurnFinished, TextDelta, TextDelta, TurnFinished, Done]
    started, progress, finished, turn, first, second, _, done = events
    assert (started.call.name, started.call.id, progress.progress.message) == ("burn", "c1", "it smokes")
    assert (finished.result.text, turn.number, first.text + second.text) == ("burnt oak", 1, "All done.")
    assert (done.run.status, done.run.text) == ("done", "All done.")


async def test_on_event_receives_the_same_events_as_a_stream():
    """This holds for a run without a stream, and beside a stream."""
    reported = []
    shed = Shed("bypass")
    agent = shed.agent([[call("look", what="oak")], "Done."] * 2, on_event=reported.append)
    await agent.run("go")
    first, reported[:] = [type(event) for event in reported], []
    events = await collect(agent.stream("go"))
    assert events == reported
    assert [type(event) for event in events] == first


async def test_a_listener_that_raises_does_not_disturb_the_run(caplog):
    """The log has its error, and a stream gets every event."""

    def raise_error(event):
        raise ValueError("oops")

    agent = Shed().agent(["Done."], on_event=raise_error)
    with caplog.at_level(logging.ERROR, "toolkit"):
        events = await collect(agent.stream("go"))
    assert events[-1].run.status == "done"
    assert len(caplog.records) == len(events)


async def test_calls_are_summarized_as_their_authors_say():
    """`summary` counts first, then `activity`, then the name. The arguments do not have to fit."""
    shed = Shed("bypass")

    @shed.catalog.tool(read_only=True, summary=lambda arguments: 1 / 0)
    async def trip() -> str:
        """Fall."""

    @shed.catalog.tool(read_only=True, activity=lambda arguments: f"opening {arguments['key']}\x1b[2J\n" + "x" * 500)
    async def unlock(key: Annotated[str, Secret]) -> str:
        """Open the door."""

    calls = [
        call("look", what="oak"),
        call("cut", wood="oak"),
        call("burn", wood="oak"),
        call("look"),
        call("trip"),
        call("unlock", key="sesame"),
        call("nothing\n", x=1),
    ]
    events = await collect(shed.agent([calls, "Done."]).stream("go"))
    summaries = [event.summary for event in events if isinstance(event, ToolStarted)]
    assert sorted(summaries[:5] + summaries[6:]) == sorted(
        ["look at oak", "cutting", "burn", "look", "trip", "nothing\\n"]
    )
    assert summaries[5].startswith("opening [redacted]\\x1b[2J\\nxx")
    assert len(summaries[5]) == 200


async def test_a_safety_refusal_is_an_event_before_the_end_of_the_call():
    shed = Shed()

    @shed.catalog.tool
    async def leap(where: Annotated[str, Writes]) -> str:
        """Leap."""

    events = await collect(shed.agent([[call("leap", where="/etc/passwd")], "No."]).stream("go"))
    assert [type(event) for event in events[:4]] == [ToolStarted, Refused, ToolFinished, TurnFinished]
    refused = events[1]
    assert (refused.call.name, bool(refused.reason)) == ("leap", True)


async def test_a_tool_that_raises_safety_causes_an_event_with_the_reason():
    shed = Shed("bypass")

    @shed.catalog.tool
    async def leap() -> str:
        """Leap."""
        raise Safety("too high")

    events = await collect(shed.agent([[call("leap")], "No."]).stream("go"))
    assert [event.reason for event in events if isinstance(event, Refused)] == ["too high"]


async def test_a_pause_is_an_event_and_a_resume_can_be_streamed():
    """The last event has the run to resume."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak"), call("cut", wood="elm")], "Done."])
    *_, turn, waiting, done = await collect(agent.stream("go"))
    assert (type(turn), waiting) == (TurnFinished, RunWaits(done.run.requests))
    grant = done.run.requests[0].grants[-1]
    events = await collect(
        agent.stream(run=done.run, decisions={done.run.requests[0].id: Decision.approve(grant=grant)})
    )
    kinds = [type(event) for event in events]
    assert kinds == [ToolStarted, ToolFinished, ToolStarted, ToolFinished, TextDelta, TurnFinished, Done]
    assert [event.result.text for event in events if isinstance(event, ToolFinished)] == ["cut oak", "cut elm"]


async def test_streaming_a_prompt_with_decisions_is_refused():
    agent = Shed().agent([])
    with pytest.raises(TypeError, match="decisions go with the run"):
        await collect(agent.stream("go", decisions={}))


async def test_a_failure_is_an_event_before_the_end_of_the_stream():
    """The stream itself does not raise."""
    error = ProviderError("overloaded")
    events = await collect(Shed().agent([error]).stream("go"))
    assert (events[0], events[1].run.status) == (RunFailed(error), "failed")


async def test_a_bug_is_raised_after_its_events():
    reported = []
    agent = Shed().agent([RuntimeError("a bug")], on_event=reported.append)
    with pytest.raises(RuntimeError, match="a bug"):
        await collect(agent.stream("go"))
    assert [type(event) for event in reported] == [RunFailed, Done]


async def test_a_stream_that_ends_without_a_reply_is_a_provider_error():
    class Mumbling(ScriptedProvider):
        async def stream(self, request):
            yield TextDelta("hm")

    events = await collect(Agent(Mumbling([]), []).stream("go"))
    assert "without a reply" in events[-1].run.reason


async def test_listener_that_stops_ends_the_run():
    """Tools are cancelled, and the conversation is whole."""
    shed, ended = Shed(), []

    @shed.catalog.tool(read_only=True)
    async def dig() -> str:
        """Dig for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    agent = shed.agent([[call("dig"), call("look", what="oak")]])
    async with contextlib.aclosing(agent.stream("go")) as stream:
        async for event in stream:
            if isinstance(event, ToolFinished):
                break
    assert (ended, agent.last_run.status, agent.last_run.stop) == ([True], "stopped", "cancelled")
    assert [result.kind for result in agent.last_run.messages[-1].results] == ["cancelled", "ok"]


async def test_progress_goes_to_the_run_that_the_call_belongs_to():
    """Two runs of one agent at once, with the same ids, from threads."""
    shed = Shed("bypass")
    both = threading.Barrier(2, timeout=10)

    @shed.catalog.tool(read_only=True)
    def dig(where: str, context: Context) -> str:
        """Dig."""
        both.wait()
        context.report(message=where)
        both.wait()
        return where

    def script(request):
        where = request.messages[0].text
        return [call("dig", "c1", where=where)] if len(request.messages) == 1 else "Done."

    agent = shed.agent([script] * 4)
    left, right = await asyncio.gather(collect(agent.stream("left")), collect(agent.stream("right")))
    for where, events in (("left", left), ("right", right)):
        assert [event.progress.message for event in events if isinstance(event, ToolProgress)] == [where]


async def test_compacting_causes_an_event():
    """It has the number of results and of characters."""
    shed = Shed("bypass")

    @shed.catalog.tool(read_only=True)
    async def shout(loud: int) -> str:
        """Shout."""
        return "a" * loud

    agent = shed.agent([[call("shout", loud=3000)]] * 4 + ["Done."], compact_at=6000)
    events = await collect(agent.stream("go"))
    cut = [event for event in events if isinstance(event, Compacted)]
    assert [event.results for event in cut] == [1, 1]
    assert cut[0].characters > 2000


def test_an_async_on_event_is_refused():
    """The library does not await it."""

    async def on_event(event):
        pass

    with pytest.raises(TypeError, match="called and not awaited"):
        Shed().agent([], on_event=on_event)


async def test_a_stream_need_not_be_a_generator():
    """Any iterator of events is accepted."""

    class Plain(ScriptedProvider):
        def stream(self, request):
            return Once(self.reply(request))

    class Once:
        def __init__(self, reply):
            self.reply = reply

        def __aiter__(self):
            return self

        async def __anext__(self):
            if self.reply is None:
                raise StopAsyncIteration
            reply, self.reply = self.reply, None
            return await reply

    events = await collect(Agent(Plain(["Done."]), []).stream("go"))
    assert [type(event) for event in events] == [TurnFinished, Done]


async def test_error_after_the_stream_was_closed_is_not_reported():
    """A reader that has stopped is not told, and nothing is logged about a lost exception."""
    shed, left = Shed("bypass"), asyncio.Event()

    @shed.catalog.tool(read_only=True)
    async def dig() -> str:
        """Dig, and fall when told to stop."""
        try:
            await left.wait()
        finally:
            raise ZeroDivisionError

    agent = shed.agent([[call("dig")]], dispatcher=shed.dispatcher(raise_bugs=True))
    async with contextlib.aclosing(agent.stream("go")) as stream:
        async for event in stream:
            assert isinstance(event, ToolStarted)
            break
    assert agent.last_run.status in ("failed", "stopped")


async def test_each_turn_has_the_run_so_far():
    """Events ... for each turn with the `Run` so far."""
    script = [[call("look", what="oak")], [call("look", what="elm")], "Done."]
    events = await collect(Shed().agent(script, clock=lambda: 12.0).stream("go"))
    turns = [event.run for event in events if isinstance(event, TurnFinished)]
    assert [(run.status, len(run.messages), run.turns) for run in turns] == [
        ("running", 3, 1),
        ("running", 5, 2),
        ("done", 6, 3),
    ]
    assert turns[-1] == events[-1].run
    assert {run.id for run in turns} == {events[-1].run.id}


async def test_a_run_so_far_can_be_saved_and_continued_in_another_process():
    """A process that is killed between two turns has lost nothing of the turns before."""
    shed = Shed()
    events = await collect(shed.agent([[call("look", what="oak")], "Lost."]).stream("go"))
    saved = next(event.run for event in events if isinstance(event, TurnFinished)).dumps()
    loaded = Run.loads(saved)
    assert (loaded.status, loaded.reason) == ("running", "the run is under way")
    run = await shed.agent(["Done."]).run(run=loaded)
    assert (run.status, run.text, run.messages[:3]) == ("done", "Done.", loaded.messages)


async def test_the_run_of_a_turn_that_waits_can_be_resumed():
    """The run so far waits as soon as a call of its turn does."""
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "Done."])
    turn = next(event for event in await collect(agent.stream("go")) if isinstance(event, TurnFinished))
    assert turn.run.status == "waiting"
    run = await agent.resume(turn.run, {turn.run.requests[0].id: Decision.approve()})
    assert (run.text, shed.done) == ("Done.", ["cut oak"])


async def test_a_change_of_the_catalog_is_an_event():
    """Events for a change of the catalog."""
    shed = Shed()

    def saw() -> str:
        """Saw."""
        return "sawn"

    async def add_and_remove(request):
        await asyncio.to_thread(shed.catalog.add, saw)
        shed.catalog.remove("fetch")
        return [call("look", what="oak")]

    events = await collect(shed.agent([add_and_remove, "Done."]).stream("go"))
    changes = [event for event in events if isinstance(event, CatalogChanged)]
    assert [([tool.name for tool in change.added], [tool.name for tool in change.removed]) for change in changes] == [
        (["saw"], ["fetch"])
    ]
    kinds = [type(event) for event in events]
    assert kinds.index(CatalogChanged) < kinds.index(TurnFinished)


async def test_a_tool_that_is_replaced_is_in_both_fields():
    """It is in `removed` and in `added` of the event, as in the change that a catalog reports."""
    shed = Shed()

    def replace_look(request):
        def look(what: str) -> str:
            """Look twice."""
            return what

        shed.catalog.add(look, replace=True)
        return "Done."

    events = await collect(shed.agent([replace_look]).stream("go"))
    change = next(event for event in events if isinstance(event, CatalogChanged))
    assert [tool.description for tool in (*change.removed, *change.added)] == ["Look at something.", "Look twice."]


async def test_a_catalog_that_stays_is_not_reported():
    """A change that came before the run is none of its events."""
    shed = Shed()
    shed.catalog.remove("fetch")
    events = await collect(shed.agent([[call("look", what="oak")], "Done."]).stream("go"))
    assert not any(isinstance(event, CatalogChanged) for event in events)


async def test_a_turn_has_the_message_that_is_in_the_run():
    """Its calls have the ids that the other events have, also if the model uses an id twice."""
    shed = Shed("bypass")
    script = [[call("look", "c1", what="oak"), call("look", "c1", what="elm")], "Done."]
    events = await collect(shed.agent(script).stream("go"))
    turn = next(event for event in events if isinstance(event, TurnFinished))
    ids = [event.call.id for event in events if isinstance(event, ToolStarted)]
    assert (turn.message, [call.id for call in turn.message.calls]) == (events[-1].run.messages[1], ids)
    assert len(set(ids)) == 2
