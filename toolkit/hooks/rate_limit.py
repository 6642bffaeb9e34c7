"""Not more than so many calls in so much time."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Literal

from ..errors import Transient
from ..results import ToolCall, ToolResult
from .base import Run

__all__ = ["RateLimit"]

_MOST_BUCKETS = 10_000


class RateLimit:
    """
    Let through *calls* in *seconds*, in bursts of at most that many; the rest waits or is refused.

    A token bucket for each tool, group or principal.

    Args:
        by: What has a bucket of its own; "all" for one that everyone shares.
        wait: Whether a call waits for its turn; otherwise it is refused as transient.
        wait_max: A call that would have to wait longer is refused.
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
        if calls < 1 or seconds <= 0:
            raise ValueError("a rate needs at least one call, and a time above 0")
        self._capacity = float(calls)
        self._per_second = calls / seconds
        self._by = by
        self._wait = wait
        self._wait_max = wait_max
        self._clock = clock
        self._sleep = sleep
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def around(self, call: ToolCall, run: Run) -> ToolResult:
        key = self._key(call)
        now = self._clock()
        tokens, updated = self._buckets.pop(key, (self._capacity, now))
        tokens = min(self._capacity, tokens + (now - updated) * self._per_second)
        delay = max(0.0, (1 - tokens) / self._per_second)
        if delay > (self._wait_max if self._wait else 0.0):
            self._keep(key, tokens, now)
            raise Transient(f"too many calls; the next may come in {delay:.1f} s", retry_after_seconds=delay)
        # Taken before the wait, so that those who come later queue behind.
        self._keep(key, tokens - 1, now)
        if delay:
            await self._sleep(delay)
        return await run()

    def _keep(self, key: str, tokens: float, now: float) -> None:
        self._buckets[key] = (tokens, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)

    def _key(self, call: ToolCall) -> str:
        if self._by == "principal":
            return call.principal or ""
        if self._by == "group":
            return call.tool.facts.group or ""
        return call.tool.name if self._by == "tool" else ""
