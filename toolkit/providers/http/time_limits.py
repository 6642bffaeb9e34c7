"""
Bound the time that one answer may take: in all, and without anything new.

Only the time spent waiting for the server counts. A caller who takes long over a piece of a stream loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from ...errors import Transient

__all__ = ["TimeLimits"]

T = TypeVar("T")


class TimeLimits:
    """
    Count the seconds that one answer has taken.

    Args:
        who: What messages call the server: "OpenAI at api.openai.com".
        idle_seconds: The longest wait without anything new.
        total_seconds: The longest wait in all.
    """

    def __init__(self, who: str, *, idle_seconds: float, total_seconds: float) -> None:
        self._who = who
        self._idle_seconds = idle_seconds
        self._total_seconds = total_seconds
        self._idle = 0.0
        self._total = 0.0

    async def wait_for(self, step: Awaitable[T]) -> T:
        """Return what *step* gives; raise `Transient` if a limit is reached first."""
        clock = asyncio.get_running_loop().time
        started = clock()
        seconds = max(0.0, min(self._idle_seconds - self._idle, self._total_seconds - self._total))
        try:
            async with asyncio.timeout(seconds) as limit:
                return await step
        except TimeoutError:
            if not limit.expired():
                raise
            raise Transient(f"{self._who} {self._describe_limit()}", happened="maybe") from None
        finally:
            passed = clock() - started
            self._idle += passed
            self._total += passed

    def note_progress(self) -> None:
        """Begin to count the idle time anew: the server sent something that belongs to the answer."""
        self._idle = 0.0

    def _describe_limit(self) -> str:
        if self._total_seconds - self._total <= self._idle_seconds - self._idle:
            return f"did not answer within {self._total_seconds:g} seconds"
        return f"said nothing for {self._idle_seconds:g} seconds"
