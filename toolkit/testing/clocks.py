"""
A clock for tests, whose time passes only when a test or the code under test sleeps on it.
"""

from __future__ import annotations

__all__ = ["FakeClock"]


class FakeClock:
    """
    A clock and a `sleep` that moves it forward: `Dispatcher(catalog, clock=clock, sleep=clock.sleep)`.

    Attributes:
        now: The time that the clock shows, in seconds.
        slept: The length of each sleep in seconds, in the order of the sleeps.
    """

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move the clock forward by *seconds*, and return at once."""
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move the clock forward by *seconds*; raise `ValueError` if they are negative."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards; got {seconds}")
        self.now += seconds
