"""
A hook that records a span for each call, question to a model, run and flow, and how long they take.

A span starts and ends where the listeners are told. They are told in the context of the work itself, so the span is the
current one while the tool runs, also in its threads, tasks and generators, and it is the parent of what they start.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .._plumbing.records import record
from ..hooks import events
from ..hooks.cache import Cache
from . import names
from .attributes import (
    Attributes,
    clean_name,
    describe_call,
    describe_call_end,
    describe_caller,
    describe_flow,
    describe_reply,
    describe_run,
    describe_run_end,
    name_error,
)
from .sinks import SinkFinder, TelemetrySink

__all__ = ["Telemetry"]

_log = logging.getLogger("toolkit")

_CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURE_MODES = {"NO_CONTENT": False, "SPAN_ONLY": True, "EVENT_ONLY": False, "SPAN_AND_EVENT": True}
_MAX_LINKS = 32
_TRACE_PARENT_CHARS = 55

_W3C = TraceContextTextMapPropagator()

_Key: TypeAlias = tuple[str, ...]


@record(slots=True)
class _Activity:
    """
    What has started and not ended, with its *span*, if spans are recorded.

    Attributes:
        owner: The hook that has started it.
        key: Tells it from other activities of the hook. A start and its end have the same key.
        outer: The activity around this one.
        before: The context of OpenTelemetry around it.
        metric: The attributes of its duration.
        agent: The name of the agent that it belongs to.
        attributes: What is known before it ends, and is recorded then.
    """

    owner: object
    key: _Key
    operation: str
    sink: TelemetrySink
    span: Span | None
    metric: Attributes
    agent: str
    attributes: Attributes
    started_ns: int
    started: float
    outer: _Activity | None
    before: otel_context.Context
    is_over: bool = False


_current: ContextVar[_Activity | None] = ContextVar("toolkit_telemetry", default=None)


class Telemetry:
    """
    A hook that records spans and metrics with OpenTelemetry. As long as nothing records, it does nothing.

    An agent and a flow use the hooks of their dispatcher, so they are recorded too.

    Args:
        tracer_provider: Where the spans go; by default where the program has said, also if it says so later.
        meter_provider: Where the metrics go, likewise.
        capture: Whether spans show the arguments and the results of calls, and sessions and principals as they are.
            Secrets are masked. The environment variable OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT can also
            say so, with SPAN_ONLY or SPAN_AND_EVENT.
        max_chars: The most characters of the arguments, and of the result.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        capture: bool = False,
        max_chars: int = 4_000,
    ) -> None:
        if max_chars < 1:
            raise ValueError(f"max_chars has to be at least 1, got {max_chars}")
        self._finder = SinkFinder(tracer_provider, meter_provider)
        self._capture = capture or _reads_capture()
        self._max_chars = max_chars
        # The end of an activity may be told in another context: that of the program that closes an abandoned coroutine.
        self._open: dict[_Key, _Activity] = {}
        self._handlers: dict[type, Callable[[Any], None]] = {
            events.CallStarted: self._start_call,
            events.HookDecided: self._note_outcome,
            events.PersonAsked: self._note_question,
            events.PersonAnswered: self._note_answer,
            events.AttemptStarted: self._note_attempt,
            events.CallEnded: self._end_call,
            events.RunStarted: self._start_run,
            events.SubRunStarted: self._start_run,
            events.RunEnded: self._end_run,
            events.SubRunEnded: self._end_run,
            events.ModelAsked: self._start_model,
            events.ModelAnswered: self._end_model,
            events.FlowStarted: self._start_flow,
            events.FlowEnded: self._end_flow,
        }
        self.listens_to = tuple(self._handlers)

    def is_listening(self) -> bool:
        """Return whether anything records now."""
        return self._finder.find() is not None

    def trace_parent(self) -> str | None:
        """Return the span of the current call as W3C trace context; None if there is none."""
        carrier: dict[str, str] = {}
        if _current.get() is not None:
            _W3C.inject(carrier)
        return carrier.get("traceparent")

    def on_event(self, event: events.Event) -> None:
        """Record *event*."""
        if self._open or self.is_listening():
            self._handlers[type(event)](event)

    # Calls.

    def _start_call(self, event: events.CallStarted) -> None:
        call, outer = event.call, _current.get()
        attributes = describe_call(call, "" if outer is None else outer.agent)
        name, kinds = attributes[names.TOOL_NAME], (names.TOOL_NAME, names.TOOL_TYPE, names.AGENT_NAME)
        metric = {kind: attributes[kind] for kind in kinds if kind in attributes}
        if call.tool is None:
            metric[names.TOOL_NAME] = names.UNKNOWN_TOOL
        attributes |= describe_caller(call, capture=self._capture)
        if event.request_id is not None:
            attributes[names.REQUEST_ID] = event.request_id
        links = [] if event.waited_in is None else [event.waited_in]
        self._start(_key_of_call(event), f"{names.EXECUTE_TOOL} {name}", attributes, metric, links=links)

    def _end_call(self, event: events.CallEnded) -> None:
        activity = self._find(_key_of_call(event))
        if activity is not None:
            capture = self._capture and activity.span is not None and activity.span.is_recording()
            attributes = describe_call_end(event, capture=capture, max_chars=self._max_chars)
            self._end(activity, attributes, str(attributes.get(names.TOOL_RESULT, "")))

    def _note_attempt(self, event: events.AttemptStarted) -> None:
        attributes: Attributes = {names.ATTEMPT_NUMBER: event.number}
        if event.error is not None:
            attributes[names.ERROR_TYPE] = name_error(event.error)
        self._note(event, names.ATTEMPT_EVENT, attributes)

    def _note_outcome(self, event: events.HookDecided) -> None:
        attributes: Attributes = {names.HOOK_NAME: type(event.hook).__name__}
        attributes[names.HOOK_OUTCOME] = type(event.outcome).__name__.lower()
        activity = self._note(event, names.HOOK_EVENT, attributes)
        if activity is not None and isinstance(event.hook, Cache):
            activity.attributes[names.CACHED] = True

    def _note_question(self, event: events.PersonAsked) -> None:
        self._note(event, names.ASKED_EVENT, {names.REQUEST_ID: event.request.id})

    def _note_answer(self, event: events.PersonAnswered) -> None:
        request = event.request
        attributes: Attributes = {names.REQUEST_ID: request.id, names.ANSWER_APPROVED: event.decision.approved}
        activity = self._note(event, names.ANSWERED_EVENT, attributes)
        if activity is not None:
            # The person may have been asked in another process, so only the time of day can be compared.
            activity.attributes[names.WAITED_SECONDS] = round(max(0.0, time.time() - request.created_at), 3)
            activity.attributes[names.REQUEST_ID] = request.id

    def _note(self, event: Any, name: str, attributes: Attributes) -> _Activity | None:
        """Add an event to the span of the call that *event* is about, and return what belongs to the call."""
        activity = self._find(_key_of_call(event))
        if activity is not None and activity.span is not None:
            activity.span.add_event(name, attributes)
        return activity

    # Runs, models and flows.

    def _start_run(self, event: events.RunStarted | events.SubRunStarted) -> None:
        run, agent = event.run, clean_name(event.run.agent)
        attributes: Attributes = {names.OPERATION: names.INVOKE_AGENT, names.RUN_ID: run.id, names.RUN_VERB: run.verb}
        attributes |= describe_run(run, capture=self._capture)
        if agent:
            attributes[names.AGENT_NAME] = agent
        metric: Attributes = {
            key: attributes[key] for key in (names.AGENT_NAME, names.REQUEST_MODEL) if key in attributes
        }
        name = f"{names.INVOKE_AGENT} {agent}" if agent else names.INVOKE_AGENT
        self._start(("run", run.id), name, attributes, metric, links=run.waited_in, agent=agent)

    def _end_run(self, event: events.RunEnded | events.SubRunEnded) -> None:
        activity = self._find(("run", event.run.id))
        if activity is not None:
            self._end(activity, describe_run_end(event))

    def _start_model(self, event: events.ModelAsked) -> None:
        run = event.run
        provider = names.PROVIDERS.get(run.provider, clean_name(run.provider))
        attributes: Attributes = {names.OPERATION: names.CHAT, names.PROVIDER: provider}
        attributes |= describe_run(run, capture=self._capture)
        metric = {key: value for key, value in attributes.items() if key != names.CONVERSATION}
        name = f"{names.CHAT} {clean_name(run.model)}" if run.model else names.CHAT
        self._start(("model", run.id), name, attributes, metric, kind=SpanKind.CLIENT)

    def _end_model(self, event: events.ModelAnswered) -> None:
        activity = self._find(("model", event.run.id))
        if activity is None:
            return
        attributes, reply = describe_reply(event), event.reply
        if names.RESPONSE_MODEL in attributes:
            activity.metric[names.RESPONSE_MODEL] = attributes[names.RESPONSE_MODEL]
        self._end(activity, attributes)
        if reply is not None:
            counts = {"input": reply.usage.input_tokens, "output": reply.usage.output_tokens}
            for kind, count in counts.items():
                activity.sink.record(names.TOKEN_USAGE, count, {**activity.metric, names.TOKEN_TYPE: kind})

    def _start_flow(self, event: events.FlowStarted) -> None:
        attributes = describe_flow(event.flow, capture=self._capture)
        name = attributes[names.WORKFLOW_NAME]
        metric: Attributes = {names.WORKFLOW_NAME: name}
        self._start(("flow", event.flow.id), f"{names.INVOKE_WORKFLOW} {name}", attributes, metric)

    def _end_flow(self, event: events.FlowEnded) -> None:
        activity = self._find(("flow", event.flow.id))
        if activity is not None:
            attributes: Attributes = {names.FLOW_STATUS: event.status}
            if event.error is not None or event.status == "failed":
                attributes[names.ERROR_TYPE] = event.status if event.error is None else name_error(event.error)
            self._end(activity, attributes)

    # What starts and ends.

    def _start(
        self,
        key: _Key,
        name: str,
        attributes: Attributes,
        metric: Attributes,
        *,
        links: Any = (),
        agent: str = "",
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        sink = self._finder.find()
        if sink is None:
            return
        outer = _current.get()
        agent = agent or ("" if outer is None else outer.agent)
        now, operation = time.time_ns(), str(attributes[names.OPERATION])
        span = None
        if sink.tracer is not None:
            contexts = [context for context in map(_read_trace_parent, links[:_MAX_LINKS]) if context is not None]
            span = sink.tracer.start_span(
                name, kind=kind, attributes=attributes, links=list(map(Link, contexts)), start_time=now
            )
        before, started = otel_context.get_current(), time.perf_counter()
        activity = _Activity(self, key, operation, sink, span, metric, agent, {}, now, started, outer, before)
        if span is not None:
            otel_context.attach(trace.set_span_in_context(span, before))
        _current.set(activity)
        self._open[key] = activity

    def _find(self, key: _Key) -> _Activity | None:
        activity = _current.get()
        is_own = activity is not None and activity.owner is self and activity.key == key
        return activity if is_own else self._open.get(key)

    def _end(self, activity: _Activity, attributes: Attributes, error: str = "") -> None:
        if self._open.get(activity.key) is activity:
            del self._open[activity.key]
        _leave(activity)
        seconds, span = time.perf_counter() - activity.started, activity.span
        if (kind := attributes.get(names.ERROR_TYPE)) is not None:
            activity.metric[names.ERROR_TYPE] = kind
        # A tool may have ended the span itself. Then it records nothing any more, and says so in the log if it is told.
        if span is not None and span.is_recording():
            span.set_attributes({**activity.attributes, **attributes})
            if kind is not None:
                span.set_status(Status(StatusCode.ERROR, error or None))
            # The clock of the machine may have been set back meanwhile.
            span.end(activity.started_ns + int(seconds * 1e9))
        activity.sink.record(activity.operation, seconds, activity.metric)


def _key_of_call(event: Any) -> _Key:
    call = event.call
    return "call", call.id, call.session_key, call.name


def _leave(activity: _Activity) -> None:
    """
    Make the innermost activity that is not over the current one again.

    Two hooks of one dispatcher end their activities in the order in which they started them. If the end is told in
    another context, *activity* was never current there, and nothing changes.
    """
    activity.is_over = True
    current = _current.get()
    before: otel_context.Context | None = None
    while current is not None and current.is_over:
        before = current.before
        current = current.outer
    if before is not None:
        _current.set(current)
        otel_context.attach(before)


def _read_trace_parent(text: str) -> SpanContext | None:
    """Return the span that W3C trace context names; None if it is not valid."""
    if len(text) != _TRACE_PARENT_CHARS:
        return None
    context = trace.get_current_span(_W3C.extract({"traceparent": text}, otel_context.Context())).get_span_context()
    return context if context.is_valid else None


def _reads_capture() -> bool:
    """Return whether the environment says that spans show what calls are about."""
    mode = os.environ.get(_CAPTURE_VARIABLE, "").strip().upper()
    if mode and mode not in _CAPTURE_MODES:
        _log.warning("%s is %r, and not one of %s; nothing is captured", _CAPTURE_VARIABLE, mode, [*_CAPTURE_MODES])
    return _CAPTURE_MODES.get(mode, False)
