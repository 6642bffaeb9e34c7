"""
Ending a coroutine at each of its steps, so that a test can walk through all moments at which a caller may go away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any

__all__ = ["ENDINGS", "JumpingClock", "end_at_step", "end_at_turn"]


class _Steps:
    """Awaits *work*, and calls *end* with the future that it waits for at step number *step*, counted from 1."""

    def __init__(self, work: Coroutine[Any, Any, Any], step: int, end: Callable[[Any], object]) -> None:
        self._work = work
        self._steps_left = step
        self._end = end

    @property
    def has_ended(self) -> bool:
        """Whether the step was reached."""
        return self._steps_left <= 0

    def __await__(self) -> Generator[Any, Any, Any]:
        send: Callable[[Any], Any] = self._work.send
        value: Any = None
        while True:
            try:
                future = send(value)
            except StopIteration as stop:
                return stop.value
            self._steps_left -= 1
            if not self._steps_left:
                self._end(future)
            try:
                value = yield future
                send = self._work.send
            except GeneratorExit:
                self._work.close()
                raise
            except BaseException as error:  # noqa: BLE001 -- the coroutine gets it
                value, send = error, self._work.throw


def _cancel(future: Any) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


def _cancel_when_done(future: Any) -> None:
    """Cancel the task after *future* is done, and before the task goes on."""
    task = asyncio.current_task()
    assert task is not None
    if future is None:  # `asyncio.sleep(0)` waits for nothing
        task.cancel()
    else:
        future.add_done_callback(lambda _: task.cancel())


ENDINGS: dict[str, Callable[[Any], object]] = {"while it waits": _cancel, "as it goes on": _cancel_when_done}


async def end_at_step(work: Coroutine[Any, Any, Any], step: int, ending: str) -> tuple[Any, bool]:
    """
    Run *work* in a task that is cancelled at *step*.

    Return its result, or the `CancelledError`; and whether it came as far as *step*.
    """
    steps = _Steps(work, step, ENDINGS[ending])

    async def run() -> Any:
        return await steps

    outcome = (await asyncio.gather(asyncio.ensure_future(run()), return_exceptions=True))[0]
    return outcome, steps.has_ended


async def end_at_turn(work: Coroutine[Any, Any, Any], turn: int) -> tuple[Any, bool]:
    """Do the same after *turn* turns of the event loop, for work that has tasks of its own and no threads."""
    task = asyncio.ensure_future(work)
    for _ in range(turn):
        await asyncio.sleep(0)
    was_reached = task.cancel()
    return (await asyncio.gather(task, return_exceptions=True))[0], was_reached


class JumpingClock:
    """A clock that stands still, and jumps by a day when it is read for the *step*th time."""

    def __init__(self, step: int) -> None:
        self._reads_left = step

    @property
    def has_jumped(self) -> bool:
        return self._reads_left <= 0

    def __call__(self) -> float:
        self._reads_left -= 1
        return 86_400.0 if self.has_jumped else 0.0
