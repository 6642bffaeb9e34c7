"""
Time limits: the deadline of a call, the time that people take, and a limit on the cleanup of cancelled code.

A separate task for each tool and hook would cost more than a whole call, so the code is awaited in the current task.
Its first step is run directly, because most tools and hooks never wait for anything. Code that does wait is driven from
here: the task sees a wrapper in place of the future that the code waits for. The wrapper notices a cancellation, passes
it on, and starts a timer. When the time is up, the awaiting code gets its `CancelledError`, and the rest of the
coroutine continues in a separate task.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from typing import Any, TypeAlias

__all__ = ["NO_DEADLINE", "Deadline", "OnAbandon", "QuestionTimer", "await_with_limit", "wait_within"]

OnAbandon: TypeAlias = Callable[["asyncio.Task[None]"], object]
"""Receives the task in which abandoned code continues. It has to hold the task, because an event loop does not."""

_log = logging.getLogger("toolkit")


class Deadline:
    """
    The moment at which a call's time is up, if it has a limit.

    Attributes:
        at: That moment by *clock*; None if there is no limit.
    """

    __slots__ = ("_clock", "at")

    def __init__(self, clock: Callable[[], float], at: float | None = None) -> None:
        self._clock = clock
        self.at = at

    def seconds_left(self) -> float | None:
        """Return the seconds until the deadline, or None if there is no limit."""
        return None if self.at is None else self.at - self._clock()

    def is_past(self) -> bool:
        return self.at is not None and self._clock() >= self.at

    def with_minimum(self, seconds: float) -> Deadline:
        """Return a deadline that is the same, but not sooner than *seconds* from now."""
        return self if self.at is None else Deadline(self._clock, max(self.at, self._clock() + seconds))


NO_DEADLINE = Deadline(time.monotonic)
"""The deadline of calls without a limit."""


class QuestionTimer:
    """
    Measures how long the questions of one attempt are open. All of it runs in one event loop.

    The time limit of a tool says how long the tool may take. A person who is asked meanwhile may take longer. The
    deadline that a caller sets for the whole call holds for people too.

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


async def await_with_limit(work: Awaitable[Any], seconds: float, on_abandon: OnAbandon) -> Any:
    """
    Await *work*. After a cancellation it has *seconds* to clean up before it is abandoned.

    *on_abandon* is called if it continues for more than *seconds* after a cancellation.
    """
    values: list[Any] = []
    coroutine = _keep_value(work, values)
    # A step of *work* itself would return its value in a `StopIteration`, and raising one takes longer.
    waits_for = next(coroutine.__await__(), _FINISHED)
    try:
        if waits_for is not _FINISHED:
            await _finish_with_limit(coroutine, waits_for, seconds, on_abandon)
        return values.pop()
    finally:
        del waits_for  # it may hold the error, and the traceback of the error holds this frame


_FINISHED = object()
"""Stands for the future that a coroutine waits for, if the coroutine is finished and waits for none."""


async def _keep_value(work: Awaitable[Any], values: list[Any]) -> None:
    values.append(await work)


@types.coroutine
def _finish_with_limit(
    coroutine: Coroutine[Any, Any, Any], waits_for: Any, seconds: float, on_abandon: OnAbandon
) -> Generator[Any, Any, Any]:
    """Await the rest of *coroutine*, whose first step ran in the same task and yielded *waits_for*."""
    proxy: _WaitProxy | None = None
    error: BaseException | None
    try:
        while True:
            task_view = waits_for
            # A value that is not a future is a bare yield or an unknown object. The task decides what to do with it.
            if waits_for is not None and getattr(waits_for, "_asyncio_future_blocking", None) is True:
                task_view = proxy = proxy or _WaitProxy(seconds)
                proxy.show(waits_for)
            sent, error = None, None
            try:
                sent = yield task_view
            except GeneratorExit:  # the awaiting code is closed, so the coroutine is closed too
                coroutine.close()
                raise
            except BaseException as raised:  # noqa: BLE001 -- it is thrown into the coroutine
                error = raised
                if isinstance(raised, asyncio.CancelledError):
                    proxy = proxy or _WaitProxy(seconds)
                    if proxy.is_late:
                        break
                    proxy.start(asyncio.get_running_loop(), raised.args)
            if proxy is not None:
                proxy.future = None
            # The future may hold the error, and the traceback of the error holds this frame. Without this, only the
            # garbage collector would free them.
            waits_for = task_view = None
            waits_for = coroutine.send(sent) if error is None else coroutine.throw(error)
            if proxy is not None and proxy.is_late:
                break
    except StopIteration as end:
        return end.value
    finally:
        error = None
        if proxy is not None and proxy.timer is not None:
            proxy.timer.cancel()
    on_abandon(asyncio.get_running_loop().create_task(_continue_abandoned(coroutine, proxy.hide(waits_for))))
    raise asyncio.CancelledError(*proxy.message)


class _WaitProxy:
    """
    The future that a coroutine waits for, as its task sees it. The wait for it can be given up.

    Attributes:
        future: The future that the coroutine really waits for; None while the coroutine runs.
        timer: The timer, which runs from the first cancellation on.
        message: The message of that cancellation.
        is_late: Whether the time is up.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._cause: asyncio.CancelledError | None = None
        self._is_extended = False
        self.is_late = False
        self.future: Any = None
        self.message: tuple[Any, ...] = ()
        self.timer: asyncio.TimerHandle | None = None

    def show(self, future: Any) -> None:
        """Represent *future* from now on."""
        future._asyncio_future_blocking = False  # noqa: SLF001 -- part of the protocol between futures and tasks
        self._asyncio_future_blocking = True
        self.future = future

    def hide(self, waits_for: Any) -> Any:
        """Return *waits_for* in the state in which the coroutine yielded it."""
        if waits_for is not None and waits_for is self.future:
            waits_for._asyncio_future_blocking = True  # noqa: SLF001 -- restores the value that `show` changed
        return waits_for

    def start(self, loop: asyncio.AbstractEventLoop, message: tuple[Any, ...]) -> None:
        """Start the timer, unless it runs already. *message* is the message of the cancellation."""
        if self.timer is None:
            self.message = message
            self.timer = loop.call_later(self._seconds, self._expire, loop)

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        is_waiting = self.future is not None and not self.done()
        if self.future is not None and not is_waiting and not self._is_extended:
            # The coroutine is about to continue, perhaps because code inside it was just abandoned.
            self._is_extended = True
            self.timer = loop.call_later(self._seconds, self._expire, loop)
            return
        self.is_late = True
        if is_waiting:
            # Wake the task with a cancellation, although the future is not done.
            self._cause = asyncio.CancelledError(*self.message)
            self.future.remove_done_callback(self._wakeup)
            loop.call_soon(self._wakeup, self, context=self._context)

    # The methods of a future that a task calls.

    def get_loop(self) -> asyncio.AbstractEventLoop:
        loop: asyncio.AbstractEventLoop = self.future.get_loop()
        return loop

    def add_done_callback(self, wakeup: Callable[[Any], object], *, context: contextvars.Context | None = None) -> None:
        self._wakeup, self._context = wakeup, context
        self.future.add_done_callback(wakeup, context=context)

    def remove_done_callback(self, wakeup: Callable[[Any], object]) -> int:
        removed: int = self.future.remove_done_callback(wakeup)
        return removed

    def cancel(self, msg: Any = None) -> bool:
        # This comes first, so that inner code gives up before the code around it.
        accepted: bool = self.future.cancel(msg)
        self.start(self.get_loop(), () if msg is None else (msg,))
        return accepted

    def done(self) -> bool:
        return self._cause is not None or bool(self.future.done())

    def result(self) -> Any:
        if self._cause is not None:
            raise self._cause
        return self.future.result()


async def _continue_abandoned(coroutine: Coroutine[Any, Any, Any], waits_for: Any) -> None:
    """Continue *coroutine* where it was left. No code waits for its value."""
    try:
        await _await_rest(coroutine, waits_for)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 -- its call has ended, and an exit must not end the loop
        _log.info("code that had been abandoned ended with %r", error)


@types.coroutine
def _await_rest(coroutine: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    """Await the rest of *coroutine* in another task than before."""
    error: BaseException | None
    try:
        while True:
            sent, error = None, None
            try:
                sent = yield waits_for
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as raised:  # noqa: BLE001 -- it is thrown into the coroutine
                error = raised
            waits_for = coroutine.send(sent) if error is None else coroutine.throw(error)
    except StopIteration as end:
        return end.value
