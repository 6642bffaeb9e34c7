"""
The time that people take to answer the questions of a running tool, which is not time of the tool.

The time limit of a tool says how long the tool may take. A person who is asked meanwhile may take longer. The deadline
that a caller sets for the whole call holds for people too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["QuestionTimer", "wait_within"]


class QuestionTimer:
    """
    Measures how long the questions of one attempt are open. All of it runs in one event loop.

    Args:
        seconds_left: Returns the seconds until the deadline of the call; None if the call has none.
    """

    def __init__(self, seconds_left: Callable[[], float | None]) -> None:
        self._seconds_left = seconds_left
        self._open_count = 0
        self._opened_at = 0.0
        self._seconds = 0.0
        self._all_answered = asyncio.Event()

    @contextlib.contextmanager
    def measure(self) -> Iterator[None]:
        """Count the time in this block, in which a person is asked. Blocks that overlap count once."""
        loop = asyncio.get_running_loop()
        if self._open_count == 0:
            self._opened_at = loop.time()
            self._all_answered.clear()
        self._open_count += 1
        try:
            yield
        finally:
            self._open_count -= 1
            if self._open_count == 0:
                self._seconds += loop.time() - self._opened_at
                self._all_answered.set()

    async def wait_for(self, task: asyncio.Task[Any], seconds: float) -> bool:
        """Wait for *task*, at most *seconds* besides the time of people. Return whether the task has ended."""
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        while not task.done():
            left, deadline_left = seconds - (loop.time() - started_at - self._seconds), self._seconds_left()
            if deadline_left is not None and deadline_left <= 0:
                return False
            if self._open_count:
                await self._wait_for_answers(task, deadline_left)
            elif left > 0:
                await asyncio.wait({task}, timeout=left if deadline_left is None else min(left, deadline_left))
            else:
                return False
        return True

    async def _wait_for_answers(self, task: asyncio.Task[Any], seconds: float | None) -> None:
        answered = asyncio.ensure_future(self._all_answered.wait())
        try:
            await asyncio.wait({task, answered}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answered.cancel()


async def wait_within(task: asyncio.Task[Any], seconds: float, timer: QuestionTimer | None) -> bool:
    """Wait for *task*, at most *seconds*, in which the time that *timer* measures does not count."""
    if timer is not None:
        return await timer.wait_for(task, seconds)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    return bool(done)
