"""
Time that passes only when a test sleeps, and waiting that takes no longer than it must.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["Clock", "block_until", "until", "wait_until"]

_LOOK_SECONDS = 0.005


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
    """Let the loop turn until *condition* holds; threads end in their own time, which a loop that only turns takes away."""
    for turn in range(30_000):
        if condition():
            return
        await asyncio.sleep(0 if turn < 100 else 0.001)
    raise AssertionError("it never came true")


async def wait_until(find: Callable[[], Any], *, seconds: float = 240.0) -> Any:
    """
    Look again and again until *find* returns or awaits something true, and return it; fail after *seconds*.

    This is for what another process or thread does, which sets no event.
    """
    async with asyncio.timeout(seconds):
        while True:
            value = find()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(_LOOK_SECONDS)


def block_until(find: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    """Do the same in a thread without an event loop."""
    latest, nothing = time.monotonic() + seconds, threading.Event()
    while not (value := find()):
        assert time.monotonic() < latest, "it never came true"
        nothing.wait(_LOOK_SECONDS)
    return value
