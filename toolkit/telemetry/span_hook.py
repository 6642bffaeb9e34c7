"""
A hook that makes a span of each call, question to a model, run and flow, and measures how long they take.

A span starts and ends where the listeners are told. They are told in the context of the work itself, so the span is the
current one while the tool runs, also in its threads, tasks and generators, and it is the parent of what they start.
Where the spans go is said by a `SpanSink`: to OpenTelemetry or to a file.
"""

from __future__ import annotations

import logging
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .._plumbing.records import record
from ..hooks import events
from ..hooks.cache import Cache
from .attributes import (
    Attributes,
    clean_name,
    describe_call,
    describe_call_end,
    describe_flow,
    describe_question,
    describe_reply,
    describe_run,
    describe_run_end,
    name_error,
)
from .names import UNKNOWN_TOOL, Names

if TYPE_CHECKING:
    from ..providers.base import Usage

__all__ = ["MAX_LINKS", "RecordedSpan", "SpanHook", "SpanSink", "read_trace_parent", "write_trace_parent"]

_log = logging.getLogger("toolkit")

_CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURE_MODES = {"NO_CONTENT": False, "SPAN_ONLY": True, "EVENT_ONLY": False, "SPAN_AND_EVENT": True}

_TRACE_PARENT = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")

MAX_LINKS = 32
"""The most spans that a span is linked to."""

_Key: TypeAlias = tuple[str, ...]


class RecordedSpan(Protocol):
    """The methods of a span of OpenTelemetry that the hook uses. Times are in nanoseconds since 1970."""

    def is_recording(self) -> bool: ...

    def set_attributes(self, attributes: Mapping[str, Any], /) -> None: ...

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None: ...

    def end(self, end_time: int | None = None) -> None: ...


class SpanSink(Protocol):
    """Where spans and metrics go. Without *has_metrics* it takes no metrics."""

    has_metrics: bool

    def start_span(
        self, name: str, attributes: Attributes, links: Sequence[str], *, is_client: bool, start_time: int
    ) -> tuple[RecordedSpan | None, Any]:
        """
        Start a span and make it the current one. Return it, and the context around it.

        The span is None if spans are not recorded. *links* are spans as W3C trace context.
        """
        ...

    def leave_span(self, around: Any) -> None:
        """Make the context *around* a span the current one again."""
        ...

    def set_error(self, span: Any, text: str) -> None:
        """Mark *span* as failed."""
        ...

    def trace_parent(self, span: Any) -> str:
        """Return *span* as W3C trace context."""
        ...

    def record(self, metric: str, amount: float, attributes: Attributes) -> None:
        """Add *amount* to a histogram of `METRICS`."""
        ...


@record(slots=True, eq=False)
class _Activity:
    """
    What has started and not ended, with its *span*, if spans are recorded.

    Attributes:
        owner: The hook that has started it.
        key: Tells it from other activities of the hook. A start and its end have the same key.
        context: The context of the sink around it.
        outer: The activity around this one.
        agent: The name of the agent that it belongs to.
        metric: The attributes of its metrics; None if no metrics are recorded.
        started: When it has started, by `time.perf_counter_ns`.
        offset: What makes that clock the time since 1970, also after the clock of the machine was set back.
        attempted: When its first attempt started.
        usage: The tokens of the replies of models inside it, if it is a run; None before the first reply.
    """

    owner: object
    key: _Key
    operation: str
    sink: SpanSink
    span: RecordedSpan | None
    context: Any
    outer: _Activity | None
    agent: str
    metric: Attributes | None
    started: int
    offset: int
    attempted: int = 0
    usage: Usage | None = None
    is_over: bool = False

    def now(self) -> int:
        return self.offset + time.perf_counter_ns()

    def add_event(self, name: str, attributes: Attributes, at: int, of_span: Attributes | None = None) -> None:
        """Add an event to the span, and attributes *of_span*, unless the tool has ended the span itself."""
        if self.span is not None and self.span.is_recording():
            self.span.add_event(name, attributes, at)
            if of_span:
                self.span.set_attributes(of_span)


_current: ContextVar[_Activity | None] = ContextVar("toolkit_telemetry", default=None)


class SpanHook(ABC):
    """
    A hook that records spans and metrics in the sink that `find_sink` returns.

    Args:
        capture: Whether spans show the arguments and the results of calls, and sessions and principals as they are.
            Secrets are masked. The environment variable OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT can also
            say so, with SPAN_ONLY or SPAN_AND_EVENT.
        max_chars: The most characters of the arguments, and of the result.
    """

    def __init__(self, *, capture: bool = False, max_chars: int = 4_000) -> None:
        if max_chars < 1:
            raise ValueError(f"max_chars has to be at least 1, got {max_chars}")
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

    @abstractmethod
    def find_sink(self) -> SpanSink | None:
        """Return where spans and metrics go now; None if nothing records."""

    def is_listening(self) -> bool:
        """Return whether anything records now."""
        return self.find_sink() is not None

    def trace_parent(self) -> str | None:
        """Return the span of the current call as W3C trace context; None if there is none."""
        activity = _current.get()
        while activity is not None and activity.owner is not self:
            activity = activity.outer
        return None if activity is None or activity.span is None else activity.sink.trace_parent(activity.span)

    def on_event(self, event: events.Event) -> None:
        """Record *event*."""
        self._handlers[type(event)](event)

    # Calls.

    def _start_call(self, event: events.CallStarted) -> None:
        if (sink := self.find_sink()) is None:
            return
        call, outer = event.call, _current.get()
        attributes = describe_call(call, "" if outer is None else outer.agent, capture=self._capture)
        if event.request_id is not None:
            attributes[Names.REQUEST_ID] = event.request_id
        links = () if event.waited_in is None else (event.waited_in,)
        activity = self._start(sink, _key_of_call(call), attributes, Names.TOOL_NAME, links=links)
        if activity.metric is not None and call.tool is None:
            activity.metric[Names.TOOL_NAME] = UNKNOWN_TOOL

    def _end_call(self, event: events.CallEnded) -> None:
        if (activity := self._find(_key_of_call(event.call))) is not None:
            describe = partial(describe_call_end, event, capture=self._capture, max_chars=self._max_chars)
            self._end(activity, None if event.kind in ("ok", "waiting") else event.kind, describe)

    def _note_attempt(self, event: events.AttemptStarted) -> None:
        """Add an event for each attempt, if there is more than one. So the usual call has none."""
        activity = self._find(_key_of_call(event.call))
        if activity is None:
            return
        if event.number == 1:
            activity.attempted = activity.now()
            return
        if event.number == 2:
            activity.add_event(Names.ATTEMPT_EVENT, {Names.ATTEMPT_NUMBER: 1}, activity.attempted)
        error = name_error(event.error)
        attributes: Attributes = {} if error is None else {Names.ERROR_TYPE: error}
        activity.add_event(Names.ATTEMPT_EVENT, {Names.ATTEMPT_NUMBER: event.number, **attributes}, activity.now())

    def _note_outcome(self, event: events.HookDecided) -> None:
        attributes: Attributes = {Names.HOOK_NAME: type(event.hook).__name__}
        attributes[Names.HOOK_OUTCOME] = type(event.outcome).__name__.lower()
        self._note(event, Names.HOOK_EVENT, attributes, {Names.CACHED: True} if isinstance(event.hook, Cache) else {})

    def _note_question(self, event: events.PersonAsked) -> None:
        self._note(event, Names.ASKED_EVENT, {Names.REQUEST_ID: event.request.id})

    def _note_answer(self, event: events.PersonAnswered) -> None:
        request = event.request
        attributes: Attributes = {Names.REQUEST_ID: request.id, Names.ANSWER_APPROVED: event.decision.approved}
        # The person may have been asked in another process, so only the time of day can be compared.
        waited = round(max(0.0, time.time() - request.created_at), 3)
        self._note(
            event, Names.ANSWERED_EVENT, attributes, {Names.WAITED_SECONDS: waited, Names.REQUEST_ID: request.id}
        )

    def _note(self, event: Any, name: str, attributes: Attributes, of_span: Attributes | None = None) -> None:
        """Add an event to the span of the call that *event* is about, and the attributes *of_span* to the span."""
        if (activity := self._find(_key_of_call(event.call))) is not None:
            activity.add_event(name, attributes, activity.now(), of_span)

    # Runs, models and flows.

    def _start_run(self, event: events.RunStarted | events.SubRunStarted) -> None:
        if (sink := self.find_sink()) is not None:
            attributes = describe_run(event.run, capture=self._capture)
            self._start(sink, ("run", event.run.id), attributes, Names.AGENT_NAME, links=event.run.waited_in)

    def _end_run(self, event: events.RunEnded | events.SubRunEnded) -> None:
        if (activity := self._find(("run", event.run.id))) is not None:
            self._end(activity, name_error(event.error), partial(describe_run_end, event, activity.usage))

    def _start_model(self, event: events.ModelAsked) -> None:
        if (sink := self.find_sink()) is not None:
            attributes = describe_question(event.run, capture=self._capture)
            self._start(sink, ("model", event.run.id), attributes, Names.REQUEST_MODEL)

    def _end_model(self, event: events.ModelAnswered) -> None:
        if (activity := self._find(("model", event.run.id))) is None:
            return
        metric, reply, record = activity.metric, event.reply, activity.sink.record
        if reply is not None:
            self._count_usage(activity, reply.usage)
        if metric is not None and reply is not None and reply.model:
            metric[Names.RESPONSE_MODEL] = clean_name(reply.model)
        self._end(activity, name_error(event.error), partial(describe_reply, event))
        if metric is not None and reply is not None:
            record(Names.TOKEN_USAGE, reply.usage.input_tokens, {**metric, Names.TOKEN_TYPE: "input"})
            record(Names.TOKEN_USAGE, reply.usage.output_tokens, {**metric, Names.TOKEN_TYPE: "output"})
            if event.first_text_seconds is not None:
                record(Names.FIRST_CHUNK, event.first_text_seconds, metric)

    def _count_usage(self, activity: _Activity, usage: Usage) -> None:
        """Add *usage* to the runs around *activity*. The usage of a `Run` has that of earlier spans in it."""
        outer: _Activity | None = activity
        while (outer := outer.outer) is not None:
            if outer.owner is self and outer.key[0] == "run":
                outer.usage = usage if outer.usage is None else outer.usage + usage

    def _start_flow(self, event: events.FlowStarted) -> None:
        if (sink := self.find_sink()) is not None:
            attributes = describe_flow(event.flow, capture=self._capture)
            self._start(sink, ("flow", event.flow.id), attributes, Names.WORKFLOW_NAME)

    def _end_flow(self, event: events.FlowEnded) -> None:
        if (activity := self._find(("flow", event.flow.id))) is not None:
            error = name_error(event.error) or ("failed" if event.status == "failed" else None)
            self._end(activity, error, lambda: {Names.FLOW_STATUS: event.status})

    # What starts and ends.

    def _start(
        self, sink: SpanSink, key: _Key, attributes: Attributes, subject: str, *, links: Sequence[str] = ()
    ) -> _Activity:
        """Start an activity, and return it. Its attribute *subject* says what it is about, if there is one."""
        outer, operation = _current.get(), str(attributes[Names.OPERATION])
        agent = str(attributes.get(Names.AGENT_NAME, "" if outer is None else outer.agent))
        metric: Attributes | None = None
        if sink.has_metrics:
            metric = {name: attributes[name] for name in _METRIC_NAMES[operation] if name in attributes}
        name = f"{operation} {attributes[subject]}" if subject in attributes else operation
        started = time.perf_counter_ns()
        offset = time.time_ns() - started
        is_client = operation == Names.CHAT
        span, context = sink.start_span(name, attributes, links, is_client=is_client, start_time=offset + started)
        activity = _Activity(self, key, operation, sink, span, context, outer, agent, metric, started, offset)
        _current.set(activity)
        self._open[key] = activity
        return activity

    def _find(self, key: _Key) -> _Activity | None:
        activity = _current.get()
        is_own = activity is not None and activity.owner is self and activity.key == key
        return activity if is_own else self._open.get(key)

    def _end(self, activity: _Activity, error: str | None, describe: Callable[[], Attributes]) -> None:
        """End *activity*, which has failed if *error* names an error. *describe* is called if its span records."""
        if self._open.get(activity.key) is activity:
            del self._open[activity.key]
        _leave(activity)
        ended, span, metric = time.perf_counter_ns(), activity.span, activity.metric
        if span is not None and span.is_recording():
            attributes = describe()
            if error is not None:
                attributes[Names.ERROR_TYPE] = error
                activity.sink.set_error(span, str(attributes.get(Names.TOOL_RESULT, "")))
            span.set_attributes(attributes)
            span.end(activity.offset + ended)
        if metric is not None:
            if error is not None:
                metric[Names.ERROR_TYPE] = error
            activity.sink.record(activity.operation, (ended - activity.started) / 1e9, metric)


_METRIC_NAMES = {
    Names.EXECUTE_TOOL: (Names.TOOL_NAME, Names.TOOL_TYPE, Names.AGENT_NAME),
    Names.CHAT: (Names.OPERATION, Names.PROVIDER, Names.REQUEST_MODEL),
    Names.INVOKE_AGENT: (Names.AGENT_NAME, Names.REQUEST_MODEL),
    Names.INVOKE_WORKFLOW: (Names.WORKFLOW_NAME,),
}
"""The attributes of a span that are those of its metrics too."""


def _key_of_call(call: Any) -> _Key:
    return "call", call.id, call.session_key, call.name


def _leave(activity: _Activity) -> None:
    """
    Make the innermost activity that is not over the current one again.

    Two hooks of one dispatcher end their activities in the order in which they started them. If the end is told in
    another context, *activity* was never current there, and nothing changes.
    """
    activity.is_over = True
    current = _current.get()
    if current is None or not current.is_over:
        return
    while current is not None and current.is_over:
        current.sink.leave_span(current.context)
        current = current.outer
    _current.set(current)


def write_trace_parent(trace_id: int, span_id: int, flags: int) -> str:
    """Return a span as W3C trace context."""
    return f"00-{trace_id:032x}-{span_id:016x}-{flags:02x}"


def read_trace_parent(text: str) -> tuple[int, int, int] | None:
    """Return the ids of the trace and the span that W3C trace context names, and its flags; None if it is not valid."""
    match = _TRACE_PARENT.fullmatch(text)
    if match is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in match.groups())
    return (trace_id, span_id, flags) if trace_id and span_id else None


def _reads_capture() -> bool:
    """Return whether the environment says that spans show what calls are about."""
    mode = os.environ.get(_CAPTURE_VARIABLE, "").strip().upper()
    if mode and mode not in _CAPTURE_MODES:
        _log.warning("%s is %r, and not one of %s; nothing is captured", _CAPTURE_VARIABLE, mode, [*_CAPTURE_MODES])
    return _CAPTURE_MODES.get(mode, False)
