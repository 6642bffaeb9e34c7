"""
Time that passes only when somebody sleeps.
"""

from __future__ import annotations

__all__ = ["FakeClock"]


class FakeClock:
    """
    A clock, and the sleep that moves it: `Dispatcher(catalog, clock=clock, sleep=clock.sleep)`.

    Attributes:
        now: What it shows, in seconds.
        slept: How long each sleep was, in order.
    """

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Return at once, so many seconds later."""
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards; got {seconds}")
        self.now += seconds
