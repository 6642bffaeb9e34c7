"""
The watcher of a run's calls: it is told when a call starts, reports progress and ends.

The run of a call is found in a context variable. So several runs can share one toolbox, and a tool can find the run
that it belongs to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from ..results import ToolCall, ToolResult
from .conversation.valid_messages import build_unfinished_result
from .events import Event, EventListener, Refused, SubRunEvent, ToolFinished, ToolStarted

__all__ = ["CallWatcher", "CurrentRun", "current_run"]

_log = logging.getLogger("toolkit")


class CallWatcher:
    """
    Keeps the results of a run's calls, and reports what happens to the listener of the run, if it has one.

    A run can be ended at any moment. The watcher then knows which calls have a result and which have only started.
    """

    def __init__(self, on_event: EventListener | None) -> None:
        self._on_event = on_event
        self._started_ids: set[str] = set()
        self._results: dict[str, ToolResult] = {}
        self._overriding_results: dict[str, ToolResult] = {}

    @property
    def has_listener(self) -> bool:
        return self._on_event is not None

    def publish_event(self, event: Event) -> None:
        """Pass *event* to the listener. An exception of the listener is logged, because it must not end the run."""
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:  # noqa: BLE001 -- the listener is the host's code; see the docstring
                _log.exception("a listener to an agent's events failed")

    def build_sub_run_listener(self, call_id: str) -> EventListener | None:
        """Return a listener that reports the events of the sub-run of a call, or None if this run has no listener."""
        return None if self._on_event is None else lambda event: self.publish_event(SubRunEvent(call_id, event))

    def forget_turn(self) -> None:
        """Forget the calls of the turn before. Their results are in the conversation."""
        self._started_ids, self._results = set(), {}

    def has_started(self, call_id: str) -> bool:
        """Return whether a call with this id has started in the current turn of the run."""
        return call_id in self._started_ids

    def record_start(self, call: ToolCall, summarize: Callable[[ToolCall], str]) -> None:
        """Record that *call* starts. *summarize* returns what a call does in a few words, for the listener."""
        self._started_ids.add(call.id)
        if self._on_event is not None:
            self.publish_event(ToolStarted(call, summarize(call)))

    def record_result(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result that counts for *call*. If its sub-run waits or was halted, that is not *result*."""
        result = self.take_override(call, result)
        if result.kind == "waiting" and result.request is None:  # a tool may return any `ToolResult`
            result = build_unfinished_result(
                call, "it waits for an answer, and does not say for which", was_started=True
            )
        self._results[call.id] = result
        if result.kind == "safety":
            self.publish_event(Refused(call, result.text if result.error is None else result.error.message))
        self.publish_event(ToolFinished(call, result))
        return result

    def record_unless_known(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return *result*, and record it unless *call* has a recorded result in this turn."""
        return result if call.id in self._results else self.record_result(call, result)

    def override_result(self, result: ToolResult) -> None:
        """Make *result* the result of its call, whose sub-run waits or was halted, whatever the tool returns."""
        self._overriding_results[result.call_id] = result

    def take_override(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return what `override_result` was called with for *call*, or *result*."""
        return self._overriding_results.pop(call.id, result)

    def find_or_build_result(self, call: ToolCall, why: str) -> ToolResult:
        """Return the result of *call*. If it has none, the result says *why*, and whether the call was started."""
        result = self._results.get(call.id) or self._overriding_results.get(call.id)
        return result or build_unfinished_result(call, why, was_started=call.id in self._started_ids)


class CurrentRun(Protocol):
    """The members of an `ActiveRun` that its tools use."""

    watcher: CallWatcher

    def accept_plan(self, plan: str) -> bool:
        """Accept *plan*. Return False if the run is not in plan mode or has a plan already."""


current_run: ContextVar[CurrentRun | None] = ContextVar("toolkit_agent_run", default=None)
