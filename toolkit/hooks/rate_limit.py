"""A hook that limits the number of calls in a period of time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Literal

from ..results import ToolCall, ToolResult
from .base import Run

__all__ = ["RateLimit"]


class RateLimit:
    """
    A hook that lets through *calls* in *seconds*, in bursts of at most that many; other calls wait or are refused.

    It is a token bucket for each tool, group or principal.

    Args:
        by: What has its own bucket; "all" means one bucket for all calls. A tool without a group has its own bucket.
        wait: Whether a call waits for its turn; otherwise it is refused as transient.
        wait_max: The longest wait in seconds; a call that would have to wait longer is refused.
    """

    def __init__(
        self,
        calls: int,
        *,
        seconds: float = 1.0,
        by: Literal["tool", "group", "principal", "all"] = "tool",
        wait: bool = True,
        wait_max: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        if calls < 1 or seconds <= 0 or wait_max < 0:
            raise ValueError("a rate needs at least one call, a time above 0, and no wait below 0")
        if by not in ("tool", "group", "principal", "all"):
            raise ValueError(f'by has to be "tool", "group", "principal" or "all", got {by!r}')
        self._capacity = float(calls)
        self._per_second = calls / seconds
        self._by = by
        self._wait = wait
        self._wait_max = wait_max
        self._clock = clock
        self._sleep = sleep
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}  # the one that was used longest ago comes first

    async def around(self, call: ToolCall, run: Run) -> ToolResult:
        key = self._key(call)
        delay = self._take_token(key)
        if delay > (self._wait_max if self._wait else 0.0):
            self._return_token(key)
            return ToolResult.failure(
                "transient",
                f"too many calls; the next may come in {delay:.1f} s",
                details={"retry_after_seconds": delay, "happened": "no"},
            )
        if delay:
            try:
                await self._sleep(delay)
            except BaseException:
                self._return_token(key)
                raise
        return await run()

    def _take_token(self, key: tuple[str, str]) -> float:
        """
        Take a token, and return how long to wait for it.

        The token is taken before the wait, so that later calls queue behind this one.
        """
        now = self._clock()
        tokens = self._count_tokens(self._buckets.pop(key, (self._capacity, now)), now)
        self._buckets[key] = (tokens - 1, now)
        # A bucket that is full again counts like a new one. Two at most, because each call adds one at most.
        for oldest, bucket in [*islice(self._buckets.items(), 2)]:
            if self._count_tokens(bucket, now) >= self._capacity:
                self._buckets.pop(oldest, None)
        return max(0.0, (1 - tokens) / self._per_second)

    def _count_tokens(self, bucket: tuple[float, float], now: float) -> float:
        tokens, updated = bucket
        return min(self._capacity, tokens + (now - updated) * self._per_second)

    def _return_token(self, key: tuple[str, str]) -> None:
        if key in self._buckets:
            tokens, updated = self._buckets[key]
            self._buckets[key] = (tokens + 1, updated)

    def _key(self, call: ToolCall) -> tuple[str, str]:
        if self._by == "principal":
            return ("principal", call.principal or "")
        if self._by == "group" and call.tool.facts.group is not None:
            return ("group", call.tool.facts.group)
        return ("tool", "" if self._by == "all" else call.tool.name)
