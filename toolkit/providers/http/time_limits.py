"""
Limits of the time that one answer may take: without progress, and in total.

The time of the client itself counts too, because a server that sends without end keeps the client busy. Only the time
that the reader of a stream takes for a piece does not count.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ..._plumbing.wording import format_seconds
from ...errors import Transient

__all__ = ["TimeLimits"]

T = TypeVar("T")


class TimeLimits:
    """
    The time limits of one answer of *server*. The total time begins here, and goes on over all attempts.

    Bytes and events that add nothing to the answer are no progress, so the idle time goes on.
    """

    def __init__(
        self, server: str, *, idle_seconds: float, total_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._server = server
        self._idle_seconds = idle_seconds
        self._total_seconds = total_seconds
        self.clock = clock
        self.deadline = clock() + total_seconds
        self.note_progress()

    def note_progress(self) -> None:
        """Start the idle time again at zero: an attempt begins, or the server has sent a part of the answer."""
        self._idle_deadline = self.clock() + self._idle_seconds

    def check(self) -> None:
        """Raise `Transient` if a limit is reached."""
        if self._seconds_left() <= 0:
            raise self._build_error()

    async def wait_for(self, step: Awaitable[T]) -> T:
        """Await *step* and return its result. Raise `Transient` if a limit is reached first."""
        try:
            async with asyncio.timeout(self._seconds_left()) as limit:
                return await step
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._build_error() from None

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Leave out the time of the block."""
        started_at = self.clock()
        try:
            yield
        finally:
            seconds = self.clock() - started_at
            self.deadline += seconds
            self._idle_deadline += seconds

    def _seconds_left(self) -> float:
        return max(0.0, min(self._idle_deadline, self.deadline) - self.clock())

    def _build_error(self) -> Transient:
        if self.deadline <= self._idle_deadline:
            reason = f"did not answer within {format_seconds(self._total_seconds)}"
        else:
            reason = f"sent no part of an answer for {format_seconds(self._idle_seconds)}"
        return Transient(f"{self._server} {reason}", happened="maybe")
