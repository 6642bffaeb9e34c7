"""
Time that passes only when somebody sleeps, and waiting that takes no longer than it must.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Clock", "until"]


class Clock:
    """A clock, and the sleep that moves it: `Dispatcher(clock=clock, sleep=clock.sleep)`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


async def until(condition: Callable[[], object]) -> None:
    """Let the loop turn until *condition* holds; threads end in their own time."""
    for _ in range(1_000_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")
