"""
A hook that makes a span of each call, question to a model, run and flow, and measures how long they take.

A span starts and ends where the listeners are told. They are told in the context of the work itself, so the span is the
current one while the tool runs, also in its threads, tasks and generators, and it is the parent of what they start.
`Telemetry` makes spans of OpenTelemetry, and `TraceFile` lines of a file.
"""

from __future__ import annotations

import logging
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from .._plumbing.records import record
from ..hooks import events
from ..hooks.base import ShownCall, current_recording
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
    select_for_metric,
)
from .names import Names

if TYPE_CHECKING:
    from ..providers.base import Usage

__all__ = ["Activity", "SpanHook", "read_links"]

_log = logging.getLogger("toolkit")

_CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURE_MODES = {"NO_CONTENT": False, "SPAN_ONLY": True, "EVENT_ONLY": False, "SPAN_AND_EVENT": True}

_TRACE_PARENT = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_MAX_LINKS = 32

_Key: TypeAlias = tuple[str | int | None, ...]


@record(slots=True, eq=False)
class Activity:
    """
    What has started and not ended.

    Attributes:
        key: Tells it from other activities of the hook. A start and its end have the same key.
        outer: The activity around this one.
        attributes: Those that are known at the start.
        span: Its span; None if only metrics are recorded.
        context: What the hook needs to make the span around it the current one again.
        started: When it has started, by `time.perf_counter_ns`.
        start_time: The same in nanoseconds since 1970. Later times are counted from it, because the clock of the
            machine may be set back.
        agent: The name of the agent that it is a part of; empty if there is none. If it is a run, that of the agent
            that works on it now, because a conversation may be handed over.
        usage: The tokens of the replies of models inside it, if it is a run; None before the first reply.
    """

    owner: SpanHook
    key: _Key
    outer: Activity | None
    attributes: Attributes
    span: Any
    context: Any
    started: int
    start_time: int
    agent: str
    usage: Usage | None = None
    is_over: bool = False

    def now(self) -> int:
        return self.start_time + time.perf_counter_ns() - self.started

    def open_span(self) -> Any:
        """Return the span if it records; None if it is not sampled, or if the tool has ended it itself."""
        return self.span if self.span is not None and self.span.is_recording() else None


_current: Any = current_recording


class SpanHook(ABC):
    """A hook that records spans, and metrics if it *has_metrics*. The spans have the methods of OpenTelemetry."""

    has_metrics = False

    def __init__(self, *, capture: bool, max_chars: int) -> None:
        if max_chars < 1:
            raise ValueError(f"max_chars has to be at least 1, got {max_chars}")
        self._capture = capture or _reads_capture()
        self._describe_call_end = partial(describe_call_end, capture=self._capture, max_chars=max_chars)
        # The end of an activity may be told in another context: that of the program that closes an abandoned coroutine.
        self._open: dict[_Key, Activity] = {}
        self._handlers: dict[type, Callable[[Any], None]] = {
            events.CallStarted: self._start_call,
            events.CallRetried: self._note_retry,
            events.CallEnded: self._end_call,
            events.HookDecided: self._note_outcome,
            events.PersonAsked: self._note_question,
            events.PersonAnswered: self._note_answer,
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

    # Where the spans go.

    @abstractmethod
    def is_listening(self) -> bool:
        """Return whether anything records now."""

    @abstractmethod
    def start_span(
        self, name: str, attributes: Attributes, links: Sequence[str], outer: Activity | None, start_time: int
    ) -> tuple[Any, Any]:
        """Return a new span, or None, and the context around it. *links* are spans as W3C trace context."""

    @abstractmethod
    def leave_span(self, around: Any) -> None:
        """Make the context *around* a span the current one again."""

    @abstractmethod
    def set_error(self, span: Any, text: str) -> None:
        """Mark *span* as failed."""

    @abstractmethod
    def write_trace_parent(self, span: Any) -> str:
        """Return *span* as W3C trace context."""

    @abstractmethod
    def record(self, metric: str, amount: float, attributes: Attributes) -> None:
        """Add *amount* to a histogram of `METRICS`."""

    # What is told.

    def on_event(self, event: events.Event) -> None:
        self._handlers[type(event)](event)

    def trace_parent(self) -> str | None:
        """Return the span of the current call or run as W3C trace context; None if there is none."""
        activity = _current.get()
        while activity is not None and activity.owner is not self:
            activity = activity.outer
        return None if activity is None or activity.span is None else self.write_trace_parent(activity.span)

    def _start_call(self, event: events.CallStarted) -> None:
        if self.is_listening():
            outer = _current.get()
            attributes = describe_call(event, "" if outer is None else outer.agent, capture=self._capture)
            links = () if event.waited_in is None else (event.waited_in,)
            self._start(_key_of_call(event), attributes, Names.TOOL_NAME, links)

    def _end_call(self, event: events.CallEnded) -> None:
        error = None if event.kind in ("ok", "waiting") else event.kind
        self._end(_key_of_call(event), error, event, self._describe_call_end)

    def _note_retry(self, event: events.CallRetried) -> None:
        """Add an event for each attempt, if there is more than one: an event takes a sixth of the time of a span."""
        activity = self._find(_key_of_call(event))
        if activity is None or (span := activity.open_span()) is None:
            return
        now, error = activity.now(), name_error(event.error)
        if event.number == 2:
            span.add_event(Names.ATTEMPT_EVENT, {Names.ATTEMPT_NUMBER: 1}, now - round(event.seconds * 1e9))
        attributes: Attributes = {} if error is None else {Names.ERROR_TYPE: error}
        span.add_event(Names.ATTEMPT_EVENT, {Names.ATTEMPT_NUMBER: event.number, **attributes}, now)

    def _note_outcome(self, event: events.HookDecided) -> None:
        outcome = type(event.outcome).__name__.lower()
        attributes: Attributes = {Names.HOOK_NAME: type(event.hook).__name__, Names.HOOK_OUTCOME: outcome}
        self._note(event, Names.HOOK_EVENT, attributes, {Names.CACHED: True} if isinstance(event.hook, Cache) else {})

    def _note_question(self, event: events.PersonAsked) -> None:
        self._note(event, Names.ASKED_EVENT, {Names.REQUEST_ID: event.request.id}, {})

    def _note_answer(self, event: events.PersonAnswered) -> None:
        attributes: Attributes = {Names.REQUEST_ID: event.request.id}
        # The person may have been asked in another process, so only the time of day can be compared.
        waited = round(max(0.0, time.time() - event.request.created_at), 3)
        of_span = attributes | {Names.WAITED_SECONDS: waited}
        self._note(event, Names.ANSWERED_EVENT, attributes | {Names.ANSWER_APPROVED: event.decision.approved}, of_span)

    def _note(self, event: Any, name: str, attributes: Attributes, of_span: Attributes) -> None:
        """Add an event to the span of the call that *event* is about, and the attributes *of_span* to the span."""
        activity = self._find(_key_of_call(event))
        if activity is not None and (span := activity.open_span()) is not None:
            span.add_event(name, attributes, activity.now())
            span.set_attributes(of_span)

    def _start_run(self, event: events.RunStarted | events.SubRunStarted) -> None:
        if self.is_listening():
            attributes = describe_run(event.run, capture=self._capture)
            self._start(("run", event.run.id), attributes, Names.AGENT_NAME, event.run.waited_in)

    def _end_run(self, event: events.RunEnded | events.SubRunEnded) -> None:
        key = "run", event.run.id
        activity = self._find(key)
        usage = activity.usage if activity is not None else None
        self._end(key, name_error(event.error), event, partial(describe_run_end, usage=usage))

    def _start_model(self, event: events.ModelAsked) -> None:
        if self.is_listening():
            if event.run.agent and (run := self._find(("run", event.run.id))) is not None:
                run.agent = clean_name(event.run.agent)
            attributes = describe_question(event.run, capture=self._capture)
            self._start(("model", event.run.id), attributes, Names.REQUEST_MODEL)

    def _end_model(self, event: events.ModelAnswered) -> None:
        activity, reply = self._find(("model", event.run.id)), event.reply
        if activity is not None and reply is not None:
            self._count_usage(activity, reply.usage)
            if reply.model:
                activity.attributes[Names.RESPONSE_MODEL] = clean_name(reply.model)
        metric = self._end(("model", event.run.id), name_error(event.error), event, describe_reply)
        if metric is None or reply is None:
            return
        self.record(Names.TOKEN_USAGE, reply.usage.input_tokens, {**metric, Names.TOKEN_TYPE: "input"})
        self.record(Names.TOKEN_USAGE, reply.usage.output_tokens, {**metric, Names.TOKEN_TYPE: "output"})
        if event.first_text_seconds is not None:
            self.record(Names.FIRST_CHUNK, event.first_text_seconds, metric)

    def _count_usage(self, activity: Activity, usage: Usage) -> None:
        """Add *usage* to the runs around *activity*. The usage of a `Run` has that of earlier spans in it."""
        outer = activity.outer
        while outer is not None:
            if outer.owner is self and outer.key[0] == "run":
                outer.usage = usage if outer.usage is None else outer.usage + usage
            outer = outer.outer

    def _start_flow(self, event: events.FlowStarted) -> None:
        if self.is_listening():
            attributes = describe_flow(event.flow, capture=self._capture)
            self._start(("flow", event.flow.id), attributes, Names.WORKFLOW_NAME, event.flow.waited_in)

    def _end_flow(self, event: events.FlowEnded) -> None:
        error = name_error(event.error) or ("failed" if event.status == "failed" else None)
        self._end(("flow", event.flow.id), error, event, lambda event: {Names.FLOW_STATUS: event.status})

    # What starts and ends.

    def _start(self, key: _Key, attributes: Attributes, subject: str, links: Sequence[str] = ()) -> None:
        """Start an activity. Its attribute *subject* says what it is about, if there is one."""
        outer, name = _current.get(), str(attributes[Names.OPERATION])
        if subject in attributes:
            name = f"{name} {attributes[subject]}"
        started, start_time = time.perf_counter_ns(), time.time_ns()
        span, context = self.start_span(name, attributes, links, outer, start_time)
        agent = str(attributes.get(Names.AGENT_NAME) or ("" if outer is None else outer.agent))
        activity = Activity(self, key, outer, attributes, span, context, started, start_time, agent)
        self._open[key] = activity
        _current.set(activity)

    def _find(self, key: _Key) -> Activity | None:
        activity = _current.get()
        is_own = activity is not None and activity.owner is self and activity.key == key
        return activity if is_own else self._open.get(key)

    def _end(
        self, key: _Key, error: str | None, event: Any, describe: Callable[[Any], Attributes]
    ) -> Attributes | None:
        """
        End an activity, which has failed if *error* names an error. *describe* is called if its span records.

        Return the attributes of its metrics; None if there are none.
        """
        if (activity := self._find(key)) is None:
            return None
        if self._open.get(key) is activity:
            del self._open[key]
        _leave(activity)
        ended, span = activity.now(), activity.open_span()
        if span is not None:
            attributes = describe(event)
            if getattr(span, "dropped_attributes", 0):  # the tool has set so many that there was no room for ours
                attributes = activity.attributes | attributes
            if error is not None:
                attributes[Names.ERROR_TYPE] = error
                self.set_error(span, str(attributes.get(Names.TOOL_RESULT, "")))
            span.set_attributes(attributes)
            span.end(ended)
        if not self.has_metrics:
            return None
        metric = select_for_metric(activity.attributes, error)
        self.record(str(activity.attributes[Names.OPERATION]), (ended - activity.start_time) / 1e9, metric)
        return metric


def _key_of_call(event: Any) -> _Key:
    call: ShownCall = event.call
    return call.number, call.name, None if call.session is None else call.session.id


def _leave(activity: Activity) -> None:
    """
    Make the innermost activity that is not over the current one again.

    Two hooks of one dispatcher end their activities in the order in which they started them. If the end is told in
    another context, *activity* was never current there, and nothing changes.
    """
    activity.is_over = True
    innermost = current = _current.get()
    while innermost is not None and innermost.is_over:
        innermost.owner.leave_span(innermost.context)
        innermost = innermost.outer
    if innermost is not current:
        _current.set(innermost)


def read_links(texts: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the trace, the span and the flags of each span in W3C trace context, if they are valid."""
    matches = [match for match in map(_TRACE_PARENT.fullmatch, texts[:_MAX_LINKS]) if match is not None]
    return [(match[1], match[2], match[3]) for match in matches if int(match[1], 16) and int(match[2], 16)]


def _reads_capture() -> bool:
    """Return whether the environment says that spans show what calls are about."""
    mode = os.environ.get(_CAPTURE_VARIABLE, "").strip().upper()
    if mode and mode not in _CAPTURE_MODES:
        _log.warning("%s is %r, and not one of %s; nothing is captured", _CAPTURE_VARIABLE, mode, [*_CAPTURE_MODES])
    return _CAPTURE_MODES.get(mode, False)
