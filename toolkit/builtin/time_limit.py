"""
Time for work that can take long: looked at on the way, such that there is some left to answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..context import Context
from ..errors import ToolError
from ..workspace import Workspace

__all__ = ["Stopped", "Watch", "watch_for"]

_SHARE = 0.9


class Stopped(Exception):  # noqa: N818 -- named by what happened, as all our errors are
    """The time is up."""


class Watch:
    """
    Looks at the clock, and whether anybody still waits.

    Args:
        seconds: How long the work may take.
        is_cancelled: Whether nobody waits any more.
    """

    def __init__(
        self, seconds: float, is_cancelled: Callable[[], bool], *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self._end = now() + seconds
        self._is_cancelled = is_cancelled

    def look(self) -> None:
        """Raise `Stopped` if the time is up, `ToolError` if nobody waits any more."""
        if self._is_cancelled():
            raise ToolError("it was cancelled, and stopped before it was done")
        if self._now() > self._end:
            raise Stopped


def watch_for(workspace: Workspace, context: Context) -> Watch:
    """Watches over one call, such that there is time left to answer."""
    most = workspace.timeout_seconds
    if context.deadline is not None:
        most = min(most, context.deadline - time.monotonic())
    return Watch(most * _SHARE, lambda: context.cancelled)
