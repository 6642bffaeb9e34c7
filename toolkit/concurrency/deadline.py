"""
When a call has to be over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["NEVER", "Deadline"]

T = TypeVar("T")


class Deadline:
    """
    The moment at which a call's time is up, if it has one.

    Attributes:
        at: That moment by *clock*; None if the call may take its time.
    """

    __slots__ = ("_clock", "at")

    def __init__(self, clock: Callable[[], float], at: float | None = None) -> None:
        self._clock = clock
        self.at = at

    def left(self) -> float | None:
        """Seconds until then."""
        return None if self.at is None else self.at - self._clock()

    def is_past(self) -> bool:
        return self.at is not None and self._clock() >= self.at

    def extended(self, seconds: float) -> Deadline:
        """The same, but not sooner than *seconds* from now."""
        return self if self.at is None else Deadline(self._clock, max(self.at, self._clock() + seconds))

    async def within(self, work: Awaitable[T]) -> T:
        """Await *work* as long as there is time; `TimeoutError` if it takes longer."""
        if self.at is None:
            return await work
        async with asyncio.timeout(self.left()):
            return await work


NEVER = Deadline(time.monotonic)
"""For calls that may take their time."""
