"""
Retries of failures that come from the environment and may pass.

Only `Transient` errors are retried. Any other error is raised at once. The
functions for waiting, time and chance are parameters, so tests never wait.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from .._plumbing.records import record
from .._plumbing.wording import format_count, format_seconds
from ..errors import Transient

__all__ = ["RetryPolicy", "count_retries", "random_chance", "retrying"]

T = TypeVar("T")

_take_retry: ContextVar[Callable[[], str | None] | None] = ContextVar("toolkit_take_retry", default=None)

_MAX_ERROR_CHARS = 200
_LARGEST = sys.float_info.max


@record(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """
    The number of attempts, and the waits between them.

    Attributes:
        attempts: The total number of attempts, with the first one.
        wait_initial: The seconds before the second attempt.
        factor: How many times as long as the wait before it each further wait is. With 1, all waits are the same.
        wait_max: The longest wait in seconds, unless the server asks for a longer one.
        wait_jitter: The random part of each wait, 0 to 1, so that clients do not all retry at the same time.
        retry_after_max: There is no retry if the server asks for a longer wait than this, in seconds.
    """

    attempts: int = 3
    wait_initial: float = 0.2
    factor: float = 2.0
    wait_max: float = 5.0
    wait_jitter: float = 0.5
    retry_after_max: float = 60.0

    def __post_init__(self) -> None:
        if isinstance(self.attempts, bool) or not isinstance(self.attempts, int) or self.attempts < 1:
            raise ValueError(f"attempts has to be a whole number of at least 1, got {self.attempts!r}")
        for name in ("wait_initial", "wait_max"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} has to be a number of seconds, 0 or more, got {getattr(self, name)!r}")
        if (
            isinstance(self.factor, bool)
            or not isinstance(self.factor, int | float)
            or not 1 <= self.factor <= _LARGEST
        ):
            raise ValueError(
                f"factor has to be a number of at least 1, got {self.factor!r}; with 1, all waits are the same"
            )
        if not 0 <= self.wait_jitter <= 1:
            raise ValueError(f"wait_jitter has to be between 0 and 1, got {self.wait_jitter!r}")
        if not self.retry_after_max >= 0:
            raise ValueError(f"retry_after_max has to be a number of seconds, 0 or more, got {self.retry_after_max!r}")

    def wait_before(self, attempt: int, *, chance: float = 1.0) -> float:
        """Return the seconds to wait before attempt number *attempt*; *chance* is between 0 and 1."""
        longest = min(self.wait_max, self._grow_wait(max(attempt - 2, 0)))
        return longest * (1 - self.wait_jitter * (1 - chance))

    def _grow_wait(self, times: int) -> float:
        """Return the first wait, made longer by the factor as many *times*."""
        if not self.wait_initial:
            return 0.0
        try:
            return self.wait_initial * float(self.factor) ** times
        except OverflowError:  # a power above 2**1024
            return self.wait_max


@contextmanager
def count_retries(take_retry: Callable[[], str | None]) -> Iterator[None]:
    """
    Call *take_retry* before every retry inside the block, both of tool calls and of requests to a provider.

    *take_retry* counts one retry and returns None, or returns the reason why no retry is left.
    """
    token = _take_retry.set(take_retry)
    try:
        yield
    finally:
        _take_retry.reset(token)


def random_chance() -> float:
    """Return a random number from 0 to 1."""
    import random  # few calls are retried, and it takes long to load

    return random.random()  # noqa: S311 -- it spreads waits, and protects nothing


async def retrying(
    call: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    *,
    failed: Transient | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random_chance,
    deadline: float | None = None,
    may_repeat: Callable[[Transient], str | None] = lambda error: None,
    noted: Callable[[str], object] = lambda note: None,
) -> T:
    """
    Await *call*, and again after each `Transient`, until it succeeds or *policy* allows no more attempts.

    *call* may be an attempt of a tool or a request to a provider. *failed* is the error of the first attempt, if the
    caller has made that already. *may_repeat* returns a reason not to retry, or None. *noted* is called with each
    decision and its reason. No wait lasts beyond *deadline*. Inside an agent's run, every retry is taken from the
    budget of the run.
    """
    attempt = 1
    while True:
        if failed is None:
            try:
                return await call()
            except Transient as error:
                failed = error
        attempt += 1
        wait = policy.wait_before(attempt, chance=chance())
        requested_wait = failed.retry_after_seconds
        if requested_wait is not None:
            wait = max(wait, requested_wait)
        reason = may_repeat(failed)
        if reason is None and attempt > policy.attempts:
            reason = (
                "only one attempt is allowed"
                if attempt == 2
                else f"{format_count(policy.attempts, 'attempt')} were made"
            )
        if reason is None and requested_wait is not None and requested_wait > policy.retry_after_max:
            most = format_seconds(policy.retry_after_max)
            reason = f"it asked to wait {format_seconds(requested_wait)}, and {most} is the most"
        if reason is None and deadline is not None and clock() + wait >= deadline:
            reason = "there was no time left"
        if reason is None and (take := _take_retry.get()) is not None:
            reason = take()
        if reason is not None:
            noted(f"not tried again: {reason}")
            try:
                raise failed
            finally:
                failed = None  # breaks the cycle: the traceback of the error refers to this frame
        noted(f"attempt {attempt - 1} failed ({_shorten_error(failed)}); tried again after {wait:.2f} s")
        failed = None
        await sleep(wait)


def _shorten_error(error: Transient) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= _MAX_ERROR_CHARS else f"{text[:_MAX_ERROR_CHARS]}..."
