"""Time limits for long work. The work checks its limit often enough that some time is left for the answer."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..context import Context
from ..errors import ToolError

__all__ = ["TimeLimit", "TimeUp", "time_limit_for"]

_SHARE_FOR_WORK = 0.9


class TimeUp(Exception):  # noqa: N818 -- named by what happened, as all our errors are
    """Raised when the time for the work is up."""


class TimeLimit:
    """A time limit for one piece of work, which also notices that the call was cancelled."""

    def __init__(
        self, seconds: float, is_cancelled: Callable[[], bool], *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._now = now
        self._end = now() + seconds
        self._is_cancelled = is_cancelled

    def check(self) -> None:
        """Raise `TimeUp` if the time is up, and `ToolError` if the call was cancelled."""
        if self._is_cancelled():
            raise ToolError("it was cancelled, and stopped before it was done")
        if self._now() > self._end:
            raise TimeUp


def time_limit_for(seconds: float, context: Context) -> TimeLimit:
    """Return a `TimeLimit` of *seconds* for one call that stops the work early enough to leave time for the answer."""
    if context.deadline is not None:
        seconds = min(seconds, context.deadline - time.monotonic())
    return TimeLimit(seconds * _SHARE_FOR_WORK, lambda: context.cancelled)
