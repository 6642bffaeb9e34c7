"""Faults of exporters, clocks, tools and clients change no call, and leave no span behind."""

from __future__ import annotations

import asyncio
import contextvars
import json
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult

from tests.telemetry.kept_spans import KeptSpans, build_work
from toolkit import Catalog, Dispatcher, Session, ToolCall, Transient
from toolkit.policies.retry import RetryPolicy
from toolkit.telemetry import Telemetry

pytestmark = pytest.mark.anyio


# Exporters.


class BrokenProcessor:
    """A processor of spans that raises, at their start or at their end."""

    def __init__(self, *broken: str) -> None:
        self.broken = broken

    def __getattr__(self, name):
        def work(*arguments, **options):
            if name in self.broken:
                raise RuntimeError("no room")

        return work


class Exporter(SpanExporter):
    """An exporter that raises, or waits until it is let go."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.free, self.names = error, threading.Event(), []

    def export(self, spans):
        self.free.wait()
        if self.error is not None:
            raise self.error
        self.names += [span.name for span in spans]
        return SpanExportResult.SUCCESS


def tracers_with(processor) -> TracerProvider:
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(processor)
    return tracers


@pytest.mark.parametrize("point", ["on_start", "on_end"])
async def test_a_processor_that_raises_changes_no_call(caplog, point):
    hook = Telemetry(tracer_provider=tracers_with(BrokenProcessor(point)))
    dispatcher = Dispatcher(build_work(), hooks=[hook])
    assert [(await dispatcher.call("work")).kind for _ in range(2)] == ["ok", "ok"]
    assert "hook Telemetry failed in on_event" in caplog.text
    assert not trace.get_current_span().get_span_context().is_valid


@pytest.mark.parametrize("processor", [SimpleSpanProcessor, BatchSpanProcessor])
async def test_an_exporter_that_raises_changes_no_call(caplog, processor):
    exporter = Exporter(OSError("no network"))
    exporter.free.set()
    tracers = tracers_with(processor(exporter))
    result = await Dispatcher(build_work(), hooks=[Telemetry(tracer_provider=tracers)]).call("work")
    tracers.shutdown()
    assert result.kind == "ok"
    assert "no network" in caplog.text


async def test_an_exporter_that_hangs_or_fills_up_holds_up_no_call(caplog):
    """It exports in a thread of its own, and has room for four spans. The others are dropped, and the log says so."""
    exporter = Exporter()
    tracers = tracers_with(BatchSpanProcessor(exporter, max_queue_size=4, max_export_batch_size=2))
    dispatcher = Dispatcher(build_work(), hooks=[Telemetry(tracer_provider=tracers)])
    results = await dispatcher.call_many([ToolCall("work", {}, f"c{number}") for number in range(50)])
    assert {result.kind for result in results} == {"ok"}
    exporter.free.set()
    tracers.shutdown()
    assert 4 <= len(exporter.names) < 50


class BrokenProvider:
    """A provider of tracers and meters that raises when it is asked for one."""

    def __getattr__(self, name):
        raise RuntimeError("no room")


@pytest.mark.parametrize("kind", ["tracer_provider", "meter_provider"])
async def test_a_provider_that_raises_changes_no_call(caplog, kind):
    """It is asked once, and the log has one line."""
    dispatcher = Dispatcher(build_work(), hooks=[Telemetry(**{kind: BrokenProvider()})])
    assert [(await dispatcher.call("work")).kind for _ in range(2)] == ["ok", "ok"]
    assert caplog.text.count("RuntimeError: no room") == 1


# Clocks.


async def test_a_span_never_ends_before_its_start(recording, monkeypatch):
    """Its events are between its start and its end, also if the clock is set back."""
    catalog, real = Catalog(), time.time_ns

    @catalog.tool(read_only=True)
    async def work() -> None:
        """Set the clock back by an hour."""
        monkeypatch.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
        raise Transient("busy")

    await Dispatcher(catalog, hooks=[recording.hook()], retry=RetryPolicy(wait_initial=0)).call("work")
    [span] = recording.spans
    times = [span.start_time, *(event.timestamp for event in span.events), span.end_time]
    assert times == sorted(times)
    assert len(times) == 5
    assert span.end_time - span.start_time < 60e9


# Tools.


async def test_a_span_that_the_tool_ends_is_not_changed(recording, caplog):
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def hasty() -> None:
        """End too much."""
        if trace.get_current_span().is_recording():
            trace.get_current_span().end()
        raise Transient("busy")

    dispatcher = Dispatcher(catalog, hooks=[recording.hook()], retry=RetryPolicy(wait_initial=0))
    await dispatcher.call("hasty")
    await dispatcher.call("hasty")
    assert len(recording.named("execute_tool hasty")) == 2
    assert all(span.parent is None for span in recording.spans)
    assert caplog.text == ""


async def test_ten_thousand_attributes_of_a_tool_leave_room_for_ours(recording):
    catalog = Catalog()

    @catalog.tool
    async def chatty() -> None:
        """Say too much."""
        trace.get_current_span().set_attributes({f"key_{number}": "x" * 1_000 for number in range(10_000)})

    await Dispatcher(catalog, hooks=[recording.hook()]).call("chatty")
    [span] = recording.spans
    assert len(span.attributes) <= 128
    assert (span.attributes["toolkit.result.kind"], span.attributes["toolkit.attempts"]) == ("ok", 1)
    assert (span.attributes["gen_ai.tool.name"], span.attributes["toolkit.origin"]) == ("chatty", "python")


async def test_a_coroutine_that_is_closed_elsewhere_ends_its_span(recording):
    """The context of the program that closes it is not that of the call."""
    dispatcher = Dispatcher(build_work(), hooks=[recording.hook()])
    call = dispatcher.call("work", {"how": "slow"})
    contextvars.copy_context().run(call.send, None)
    assert recording.spans == []
    call.close()
    assert recording.one("execute_tool work").attributes["error.type"] == "cancelled"


TEXTS = st.text(st.characters(), min_size=1, max_size=300) | st.sampled_from(["\x1b[2J", "a\x00b", "\u202e", "\ud800"])


@given(name=TEXTS, id=TEXTS, session=TEXTS, principal=TEXTS, text=TEXTS)
def test_no_foreign_text_acts_or_grows(name, id, session, principal, text):
    recording = KeptSpans()
    dispatcher = Dispatcher(build_work(), hooks=[recording.hook(capture=True, max_chars=50)])

    async def call():
        owner = Session(id=session)
        await dispatcher.call(name, {"how": text}, id=id, session=owner, principal=principal)
        await dispatcher.call("work", {"how": text}, id=id, session=owner, principal=principal)

    asyncio.run(call())
    assert len(recording.spans) == 2
    for span in recording.spans:
        texts = [span.name, *(value for value in span.attributes.values() if isinstance(value, str))]
        assert all(len(value) <= 250 for value in texts)
        assert not any(character < " " and character not in "\n\t" for value in texts for character in value)
        json.dumps(texts, ensure_ascii=False).encode()


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202e", "\ud800", "x" * 1_000_000])
async def test_a_description_cannot_act_or_grow(recording, text):
    catalog = Catalog()
    catalog.tool(lambda: None, name="work", description=f"Works. {text}")
    await Dispatcher(catalog, hooks=[recording.hook()]).call("work")
    description = recording.one("execute_tool work").attributes["gen_ai.tool.description"]
    assert description.startswith("Works. ")
    assert text not in description
    assert len(description.encode()) <= 8_000


# Processes.

FORK = """
import asyncio, os, sys
from tests.telemetry.kept_spans import KeptSpans, build_work
from toolkit import Dispatcher

recording = KeptSpans()
catalog = build_work()
dispatcher = Dispatcher(catalog, hooks=[recording.hook()])

@catalog.tool
def fork() -> str:
    '''Go on in two processes.'''
    child = os.fork()
    asyncio.new_event_loop().run_until_complete(dispatcher.call("work"))
    if not child:
        [inner] = recording.named("execute_tool work")
        print(inner.parent.span_id, inner.context.span_id, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    return "ok"

asyncio.run(dispatcher.call("fork"))
inner, outer = recording.one("execute_tool work"), recording.one("execute_tool fork")
print(inner.parent.span_id, inner.context.span_id, flush=True)
print(outer.context.span_id)
"""


def test_a_fork_gives_the_spans_of_both_processes_the_right_parent():
    code = [sys.executable, "-W", "ignore", "-c", FORK]
    done = subprocess.run(code, check=True, capture_output=True, text=True, timeout=120)
    (first_parent, first), (second_parent, second), (outer,) = map(str.split, done.stdout.splitlines())
    assert first_parent == second_parent == outer
    assert first != second
