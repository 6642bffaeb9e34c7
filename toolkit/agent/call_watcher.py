"""
The watcher of a run's calls: it is told when a call starts, reports progress and ends.

The watcher is found in a context variable. So several runs can share one
toolbox, and a tool can find the run that it belongs to.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from ..context import Progress
from ..results import ToolCall, ToolResult

__all__ = ["CallWatcher", "current_watcher"]


class CallWatcher(Protocol):
    """The methods by which a run learns about its calls."""

    def record_start(self, call: ToolCall) -> None: ...

    def remaining_seconds(self) -> float | None:
        """Return how many seconds a call that starts now may take; None for no limit, 0 if no time is left."""
        ...

    def report_progress(self, progress: Progress) -> None: ...

    def record_result(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Return the result that counts for *call*. If its sub-run waits or was halted, that is not *result*."""
        ...

    def accept_plan(self, plan: str) -> bool:
        """Accept *plan*. Return False if the run is not in plan mode or has a plan already."""
        ...


current_watcher: ContextVar[CallWatcher | None] = ContextVar("toolkit_agent_run", default=None)
