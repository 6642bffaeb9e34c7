"""
Limits of the time that one answer may take: in total, and without new data.

Only the time spent waiting for the server counts. The time that the caller takes for a piece of a stream does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from ..._plumbing.wording import format_seconds
from ...errors import Transient

__all__ = ["TimeLimits"]

T = TypeVar("T")


class TimeLimits:
    """
    The time limits of one answer, and the seconds that it has taken so far.

    Args:
        server: The name of the server in messages, such as "OpenAI at api.openai.com".
        idle_seconds: The longest wait without new data.
        total_seconds: The longest total wait.
    """

    def __init__(self, server: str, *, idle_seconds: float, total_seconds: float) -> None:
        self._server = server
        self._max_idle_seconds = idle_seconds
        self._max_total_seconds = total_seconds
        self._idle_so_far = 0.0
        self._total_so_far = 0.0

    async def wait_for(self, step: Awaitable[T]) -> T:
        """Await *step* and return its result. Raise `Transient` if a limit is reached first."""
        clock = asyncio.get_running_loop().time
        started_at = clock()
        seconds = max(
            0.0, min(self._max_idle_seconds - self._idle_so_far, self._max_total_seconds - self._total_so_far)
        )
        try:
            async with asyncio.timeout(seconds) as limit:
                return await step
        except TimeoutError:
            if not limit.expired():
                raise
            raise Transient(f"{self._server} {self._describe_limit()}", happened="maybe") from None
        finally:
            elapsed = clock() - started_at
            self._idle_so_far += elapsed
            self._total_so_far += elapsed

    def note_progress(self) -> None:
        """Start the idle time again at zero, because the server has sent a part of the answer."""
        self._idle_so_far = 0.0

    def _describe_limit(self) -> str:
        if self._max_total_seconds - self._total_so_far <= self._max_idle_seconds - self._idle_so_far:
            return f"did not answer within {format_seconds(self._max_total_seconds)}"
        return f"said nothing for {format_seconds(self._max_idle_seconds)}"
