"""Listeners: in which order they are told, how long they may take, and what their failure does, which is nothing."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from typing import Any

import pytest

from tests.calls.event_recorders import AsyncRecorder, BlockingRecorder, Recorder
from tests.clocks import block_until, until
from toolkit import Catalog, Dispatcher, Tool
from toolkit.calls.propagation import CallAbandoned
from toolkit.hooks import CallEnded, CallStarted, CatalogChanged

pytestmark = pytest.mark.anyio


def add(a: int) -> int:
    """Add one."""
    return a + 1


def subtract(a: int) -> int:
    """Subtract one."""
    return a - 1


class Raising:
    """A listener that raises at every event."""

    error: BaseException = ValueError("a listener's mistake")

    def on_event(self, event: Any) -> None:
        raise self.error


class RaisingLater(Raising):
    """The same, after a while."""

    async def on_event(self, event: Any) -> None:
        await asyncio.sleep(0)
        raise self.error


class RaisingInThread(Raising):
    """The same, in a thread."""

    blocking = True


@pytest.mark.parametrize("broken", [Raising, RaisingLater, RaisingInThread])
@pytest.mark.parametrize("error", [ValueError("oops"), SystemExit(3), asyncio.CancelledError()])
async def test_a_listener_that_raises_changes_nothing_and_is_logged_once(caplog, broken, error):
    """There is one log record for each event, and later listeners receive the event."""
    hook, recorder = broken(), Recorder()
    hook.error = error
    with caplog.at_level(logging.WARNING, "toolkit"):
        result = await Dispatcher(Catalog(add), hooks=[hook, recorder], raise_bugs=True).call("add", {"a": 1})
    assert result.value == 2
    assert recorder.names == ["call_started", "attempt_started", "call_ended"]
    messages = [record.getMessage() for record in caplog.records]
    assert [message.partition(", at ")[::2] for message in messages] == [
        (f"hook {broken.__name__} failed in on_event", name) for name in ("CallStarted", "AttemptStarted", "CallEnded")
    ]


async def test_an_error_of_a_listener_is_masked_in_the_log(caplog):
    class Quoting:
        def on_event(self, event: Any) -> None:
            raise ValueError(f"it was {event.call.arguments['a']}")

    with caplog.at_level(logging.WARNING, "toolkit"):
        await Dispatcher(Catalog(add), hooks=[Quoting()], redact=["4711"]).call("add", {"a": 4711})
    assert "it was" in caplog.text
    assert "4711" not in caplog.text


class Hanging:
    """A listener that never returns."""

    timeout_seconds: float | None = 0.01

    def __init__(self) -> None:
        self.cancelled = 0

    async def on_event(self, event: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def test_a_listener_that_hangs_is_ended_and_the_call_goes_on(caplog):
    hanging, recorder = Hanging(), Recorder()
    with caplog.at_level(logging.WARNING, "toolkit"):
        result = await Dispatcher(Catalog(add), hooks=[hanging, recorder]).call("add", {"a": 1})
    assert (result.value, hanging.cancelled) == (2, 3)
    assert recorder.names == ["call_started", "attempt_started", "call_ended"]
    assert len(caplog.records) == 3


async def test_a_listener_has_no_more_time_than_the_call():
    """Besides the time for cleaning up."""

    class Patient(Hanging):
        timeout_seconds = None

    dispatcher = Dispatcher(Catalog(add), hooks=[Patient()], cleanup_seconds=0.01)
    async with asyncio.timeout(20):
        result = await dispatcher.call("add", {"a": 1}, timeout_seconds=0.01)
    assert result.kind == "timeout"


async def test_listeners_are_called_once_and_in_order():
    """A hook that is given twice is called once."""
    lines: list[str] = []

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        async def on_event(self, event: Any) -> None:
            await asyncio.sleep(0)
            lines.append(f"{self.name} {type(event).__name__}")

    first, second = Named("first"), Named("second")
    dispatcher = Dispatcher(Catalog(add), hooks=[first, second]).extended(hooks=[first])
    await dispatcher.call("add", {"a": 1})
    names = ("CallStarted", "AttemptStarted", "CallEnded")
    assert lines == [f"{hook} {name}" for name in names for hook in ("first", "second")]


async def test_a_listener_that_blocks_runs_in_a_thread():
    class Looking(BlockingRecorder):
        def on_event(self, event: Any) -> None:
            super().on_event(event)
            self.thread = threading.current_thread()

    looking = Looking()
    await Dispatcher(Catalog(add), hooks=[looking]).call("add", {"a": 1})
    assert looking.thread is not threading.current_thread()
    assert looking.names == ["call_started", "attempt_started", "call_ended"]


async def test_a_cancellation_reaches_the_other_listeners_first():
    """Otherwise they would miss the end of a call."""
    reached = asyncio.Event()

    class Slow:
        async def on_event(self, event: Any) -> None:
            if isinstance(event, CallStarted):
                reached.set()
                await asyncio.Event().wait()

    recorder = Recorder()
    task = asyncio.ensure_future(Dispatcher(Catalog(add), hooks=[Slow(), recorder]).call("add", {"a": 1}))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recorder.names == ["call_started", "call_ended"]
    assert recorder.of(CallEnded)[0].kind == "cancelled"


@pytest.mark.parametrize("broken", [Raising, RaisingLater, RaisingInThread])
@pytest.mark.parametrize("recorder_class", [Recorder, AsyncRecorder])
async def test_a_call_abandoned_by_a_listener_still_sends_all_events(broken, recorder_class):
    """The error of each event replaces the one before; the call has an end, and its tool has not run."""
    hook, recorder, ran = broken(), recorder_class(), []
    hook.error = CallAbandoned()

    def run(a: int) -> None:
        """Run."""
        ran.append(a)

    with pytest.raises(CallAbandoned):
        await Dispatcher(Catalog(run), hooks=[hook, recorder]).call("run", {"a": 1})
    assert (recorder.names, ran) == (["call_started", "call_ended"], [])


async def test_listeners_of_all_kinds_run_in_their_order():
    """This holds also if an async one stands between others."""
    names: list[str] = []

    class First:
        def on_event(self, event: Any) -> None:
            names.append("first")

    class Second:
        async def on_event(self, event: Any) -> None:
            await asyncio.sleep(0)
            names.append("second")

    class Third:
        def on_event(self, event: Any) -> None:
            names.append("third")
            raise ValueError

    class Fourth:
        def on_event(self, event: Any) -> Any:
            return self.tell()

        async def tell(self) -> None:
            names.append("fourth")

    await Dispatcher(Catalog(add), hooks=[First(), Second(), Third(), Fourth()]).call("add", {"a": 1})
    assert names == ["first", "second", "third", "fourth"] * 3


async def test_a_call_with_a_listener_leaves_no_cyclic_garbage():
    """Its objects are freed at its end, also if it failed."""

    def fail(a: int) -> int:
        """Fail."""
        raise ValueError("never")

    class Onlooker:
        def on_event(self, event: Any) -> None:
            pass

    dispatcher = Dispatcher(Catalog(add, fail), hooks=[Onlooker()])
    logging.disable(logging.CRITICAL)
    try:
        counts = []
        while len(counts) < 4 and 0 not in counts:
            gc.collect()
            gc.disable()
            for name in ("add", "fail", "nope"):
                await dispatcher.call(name, {"a": 1})
                await dispatcher.call(name, {"b": 1})
            counts.append(gc.collect())
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)
    assert min(counts) == 0


# Changes of the catalog.


def test_listeners_receive_changes_of_the_catalog_at_once():
    """The changes are added, replaced and removed tools, in a program without an event loop."""
    catalog, recorder = Catalog(add), Recorder()
    dispatcher = Dispatcher(catalog, hooks=[recorder])
    catalog.add(subtract)
    catalog.add(Tool.of(add).renamed("subtract"), replace=True)
    catalog.remove("add")
    added = [[tool.name for tool in event.added] for event in recorder.of(CatalogChanged)]
    removed = [[tool.name for tool in event.removed] for event in recorder.of(CatalogChanged)]
    assert (added, removed) == ([["subtract"], ["subtract"], []], [[], ["subtract"], ["add"]])
    dispatcher.close()
    catalog.remove("subtract")
    assert len(recorder.events) == 3


@pytest.mark.parametrize("recorder_class", [AsyncRecorder, BlockingRecorder])
def test_an_async_listener_runs_in_a_thread_without_an_event_loop(recorder_class):
    catalog, recorder = Catalog(add), recorder_class()
    dispatcher = Dispatcher(catalog, hooks=[recorder])
    catalog.add(subtract)
    block_until(lambda: recorder.events)
    assert recorder.names == ["catalog_changed"]
    dispatcher.close()


async def test_an_async_listener_runs_in_the_running_event_loop():
    class Looking(AsyncRecorder):
        async def on_event(self, event: Any) -> None:
            self.loop = asyncio.get_running_loop()
            await super().on_event(event)

    catalog, looking = Catalog(add), Looking()
    dispatcher = Dispatcher(catalog, hooks=[looking])
    catalog.add(subtract)
    await until(lambda: looking.events)
    assert looking.loop is asyncio.get_running_loop()
    dispatcher.close()


def test_a_failure_at_a_change_is_logged_and_the_change_stays(caplog):
    catalog, recorder = Catalog(add), Recorder()
    dispatcher = Dispatcher(catalog, hooks=[Raising(), recorder])
    with caplog.at_level(logging.WARNING, "toolkit"):
        catalog.add(subtract)
    assert [record.getMessage() for record in caplog.records] == ["hook Raising failed in on_event, at CatalogChanged"]
    assert (recorder.names, catalog.names()) == (["catalog_changed"], ["add", "subtract"])
    dispatcher.close()


def test_listeners_of_a_dispatcher_and_its_extension_receive_a_catalog_change_once():
    catalog, first, second = Catalog(add), Recorder(), Recorder()
    dispatcher = Dispatcher(catalog, hooks=[first])
    extended = dispatcher.extended(hooks=[second])
    catalog.add(subtract)
    assert first.names == second.names == ["catalog_changed"]
    extended.close()
    dispatcher.close()


def test_a_listener_does_not_keep_a_dispatcher_alive():
    catalog, recorder = Catalog(add), Recorder()
    settings = weakref.ref(Dispatcher(catalog, hooks=[recorder]).settings)
    gc.collect()
    assert settings() is None
    catalog.add(subtract)
    assert recorder.events == []


# What a listener wants to be told.


async def test_a_listener_receives_only_its_chosen_events():
    class Ends(Recorder):
        listens_to = (CallEnded,)

    ends, all_events = Ends(), Recorder()
    await Dispatcher(Catalog(add), hooks=[ends]).call("add", {"a": 1})
    assert ends.names == ["call_ended"]
    await Dispatcher(Catalog(add), hooks=[ends, all_events]).call("nope", {})
    assert ends.names == ["call_ended", "call_ended"]
    assert all_events.names == ["call_started", "call_ended"]


@pytest.mark.parametrize("wrong", ["call_ended", ("call_ended",), [CallEnded], CallEnded])
def test_events_that_are_not_a_tuple_are_refused(wrong):
    """The error comes when the dispatcher is made, and has an example."""
    recorder = Recorder()
    recorder.listens_to = wrong
    with pytest.raises(TypeError, match=r"has to be a tuple of events, such as \(CallEnded,\)"):
        Dispatcher(Catalog(add), hooks=[recorder])
