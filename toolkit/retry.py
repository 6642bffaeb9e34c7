"""
Retrying, for failures that are the world's fault.

Only `Transient` errors are retried; any other error is an answer and goes
straight back. Waiting, time and chance are parameters, so tests never wait.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from .errors import Transient

__all__ = ["RetryPolicy", "retrying"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """
    How often, and how patiently, to try again.

    Attributes:
        attempts: Tries in all, the first one included.
        wait_initial: Seconds before the second try; doubles from there.
        wait_max: No wait of ours is longer than this.
        wait_jitter: The part of each wait that is left to chance, 0 to 1, so that clients do not come back in step.
        retry_after_max: If the other side asks for a longer wait than this, the answer is no.
    """

    attempts: int = 3
    wait_initial: float = 0.2
    wait_max: float = 5.0
    wait_jitter: float = 0.5
    retry_after_max: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts has to be at least 1, got {self.attempts}")
        if self.wait_initial < 0 or self.wait_max < 0 or not 0 <= self.wait_jitter <= 1:
            raise ValueError("waits have to be 0 or more, and wait_jitter between 0 and 1")

    def wait_before(self, attempt: int, *, chance: float = 1.0) -> float:
        """Seconds to wait before try number *attempt*; *chance* is between 0 and 1."""
        # The exponent is capped because a float times 2**1024 overflows.
        longest = min(self.wait_max, self.wait_initial * 2.0 ** min(attempt - 2, 32))
        return longest * (1 - self.wait_jitter * (1 - chance))


async def retrying(
    call: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    *,
    failed: Transient | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
    deadline: float | None = None,
    may_repeat: Callable[[Transient], str | None] = lambda error: None,
    noted: Callable[[str], object] = lambda note: None,
) -> T:
    """
    Await *call*, again on `Transient`, until it succeeds or *policy* gives up.

    Serves any awaitable: a tool's attempt, a request to a provider. With *failed* the first
    attempt has been made. *may_repeat* gives a reason not to try again; *noted* is told what
    was decided, and why.
    """
    attempt = 1
    while True:
        if failed is None:
            try:
                return await call()
            except Transient as error:
                failed = error
        attempt += 1
        reason = may_repeat(failed)
        wait = policy.wait_before(attempt, chance=chance())
        if failed.retry_after_seconds is not None:
            wait = max(wait, failed.retry_after_seconds)
            if failed.retry_after_seconds > policy.retry_after_max:
                reason = reason or f"it asked to wait {failed.retry_after_seconds:g} s"
        if deadline is not None and clock() + wait >= deadline:
            reason = reason or "there was no time left"
        if attempt > policy.attempts:
            reason = reason or f"{policy.attempts} attempts were made"
        if reason is not None:
            noted(f"not tried again: {reason}")
            raise failed
        noted(f"attempt {attempt - 1} failed ({failed}); tried again after {wait:.2f} s")
        failed = None
        await sleep(wait)
