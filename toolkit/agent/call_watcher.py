"""
Who watches the calls of a run: told when one starts, reports and ends.

Whoever watches is found by the context that a call runs in, so that several
runs can share one toolbox, and a tool can find the run that it belongs to.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from ..context import Progress
from ..results import ToolCall, ToolResult

__all__ = ["Watcher", "watching"]


class Watcher(Protocol):
    """What a run is told of its calls."""

    def started(self, call: ToolCall) -> None: ...

    def left_seconds(self) -> float | None:
        """How long a call that starts now may take; None if there is no end to it, 0 if it is too late."""
        ...

    def progressed(self, progress: Progress) -> None: ...

    def ended(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result as it counts: a call whose sub-run waits, waits."""
        ...

    def planned(self, plan: str) -> bool:
        """Take *plan*; False if nobody plans, or there is one already."""
        ...


watching: ContextVar[Watcher | None] = ContextVar("toolkit_agent_run", default=None)
