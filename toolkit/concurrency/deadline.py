"""
The deadline of a call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["NO_DEADLINE", "Deadline"]

T = TypeVar("T")


class Deadline:
    """
    The moment at which a call's time is up, if it has a limit.

    Attributes:
        at: That moment by *clock*; None if there is no limit.
    """

    __slots__ = ("_clock", "at")

    def __init__(self, clock: Callable[[], float], at: float | None = None) -> None:
        self._clock = clock
        self.at = at

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, or None if there is no limit."""
        return None if self.at is None else self.at - self._clock()

    def is_past(self) -> bool:
        return self.at is not None and self._clock() >= self.at

    def with_minimum(self, seconds: float) -> Deadline:
        """Return a deadline that is the same, but not sooner than *seconds* from now."""
        return self if self.at is None else Deadline(self._clock, max(self.at, self._clock() + seconds))

    async def within(self, work: Awaitable[T]) -> T:
        """Await *work*, or raise `TimeoutError` if it takes longer than the time left."""
        if self.at is None:
            return await work
        async with asyncio.timeout(self.seconds_left()):
            return await work


NO_DEADLINE = Deadline(time.monotonic)
"""The deadline of calls without a limit."""
