"""
A limit on the time that cancelled code takes to clean up.

A task of its own for each tool and hook would cost more than a whole call, so the code is awaited where it is. The
first step is taken directly: most tools and hooks never wait for anything. Code that does wait is driven from here,
and what it waits for is shown to the task in a wrapper. The wrapper hears of a cancellation, lets it through, and
starts a timer. When the time is up, the awaiting code gets its `CancelledError`, and the rest of the coroutine goes
on in a task of its own.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeAlias

__all__ = ["LimitedCleanup", "OnAbandon", "await_with_limit"]

OnAbandon: TypeAlias = Callable[["asyncio.Task[None]"], object]
"""Gets the task in which abandoned code goes on; has to hold it, because an event loop does not."""

_log = logging.getLogger("toolkit")


async def await_with_limit(work: Awaitable[Any], seconds: float, on_abandon: OnAbandon) -> Any:
    """Await *work*; once it is cancelled, it has *seconds* to clean up before it is abandoned."""
    coroutine = work if inspect.iscoroutine(work) else _await(work)
    try:
        waits_for = coroutine.send(None)
    except StopIteration as end:
        return end.value
    return await LimitedCleanup(coroutine, waits_for, seconds, on_abandon)


async def _await(work: Awaitable[Any]) -> Any:
    return await work


class LimitedCleanup:
    """
    The rest of a coroutine whose first step was taken, to be awaited in the same task.

    Args:
        waits_for: What the first step yielded.
        seconds: How long the coroutine may go on after a cancellation.
        on_abandon: Told if it goes on for longer.
    """

    __slots__ = ("_coroutine", "_is_extended", "_is_late", "_message", "_on_abandon", "_seconds", "_timer", "_wait")

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], waits_for: Any, seconds: float, on_abandon: OnAbandon
    ) -> None:
        self._coroutine = coroutine
        self._seconds = seconds
        self._on_abandon = on_abandon
        self._message: tuple[Any, ...] = ()
        self._timer: asyncio.TimerHandle | None = None
        self._is_late = False
        self._is_extended = False
        self._wait: Any = self._wrap(waits_for)

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine = self._coroutine
        try:
            while True:
                error: BaseException | None = None
                try:
                    yield self._wait
                except GeneratorExit:  # the awaiting code is closed, so this is too
                    coroutine.close()
                    raise
                except BaseException as raised:  # noqa: BLE001 -- it is for the coroutine
                    error = raised
                if isinstance(error, asyncio.CancelledError):
                    if self._is_late:
                        break
                    self.start(asyncio.get_running_loop(), error.args)
                waits_for = coroutine.send(None) if error is None else coroutine.throw(error)
                self._wait = self._wrap(waits_for)
                if self._is_late:
                    break
        except StopIteration as end:
            return end.value
        finally:
            error = None
            if self._timer is not None:
                self._timer.cancel()
        self._abandon()
        raise asyncio.CancelledError(*self._message)

    def start(self, loop: asyncio.AbstractEventLoop, message: tuple[Any, ...]) -> None:
        """Let the time run, unless it does already; *message* is what the cancellation says."""
        if self._timer is None:
            self._message = message
            self._timer = loop.call_later(self._seconds, self._expire)

    def _wrap(self, waits_for: Any) -> Any:
        # Anything else is a bare yield, or not ours to understand: the task judges it.
        is_future = getattr(waits_for, "_asyncio_future_blocking", None) is True
        return _Wait(self, waits_for) if is_future else waits_for

    def _expire(self) -> None:
        wait = self._wait
        if isinstance(wait, _Wait):
            if wait.done() and not self._is_extended:
                # The coroutine is about to go on, perhaps because something inside it was just abandoned.
                self._is_extended = True
                self._timer = wait.get_loop().call_later(self._seconds, self._expire)
                return
            if not wait.done():
                wait.give_up(self._message)
        self._is_late = True

    def _abandon(self) -> None:
        wait = self._wait
        if isinstance(wait, _Wait):
            wait = wait.future
            wait._asyncio_future_blocking = True  # noqa: SLF001 -- as it was when we got it
        task = asyncio.get_running_loop().create_task(_run_on(self._coroutine, wait))
        self._on_abandon(task)


class _Wait:
    """What a coroutine waits for, as its task sees it: a future that can be given up."""

    __slots__ = ("_asyncio_future_blocking", "_cause", "_context", "_limit", "_wakeup", "future")

    def __init__(self, limit: LimitedCleanup, future: Any) -> None:
        future._asyncio_future_blocking = False  # noqa: SLF001 -- the protocol of futures and tasks
        self._asyncio_future_blocking = True
        self._limit = limit
        self._cause: asyncio.CancelledError | None = None
        self._wakeup: Callable[[Any], object] | None = None
        self._context: contextvars.Context | None = None
        self.future = future

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
        accepted: bool = self.future.cancel(msg)  # first: what is inside gives up before what is around it
        self._limit.start(self.get_loop(), () if msg is None else (msg,))
        return accepted

    def done(self) -> bool:
        return self._cause is not None or bool(self.future.done())

    def result(self) -> Any:
        if self._cause is not None:
            raise self._cause
        return self.future.result()

    def give_up(self, message: tuple[Any, ...]) -> None:
        """Wake the task with a cancellation, although the future is not done."""
        self._cause = asyncio.CancelledError(*message)
        if self._wakeup is not None:
            self.future.remove_done_callback(self._wakeup)
            self.get_loop().call_soon(self._wakeup, self, context=self._context)


async def _run_on(coroutine: Coroutine[Any, Any, Any], waits_for: Any) -> None:
    """Go on with *coroutine* where it was left; no code waits for its value."""
    try:
        await _Rest(coroutine, waits_for)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 -- its call has ended; an exit must not end the loop
        _log.info("code that had been abandoned ended with %r", error)


class _Rest:
    """The rest of a coroutine, awaited in another task than before."""

    __slots__ = ("_coroutine", "_waits_for")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], waits_for: Any) -> None:
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, Any]:
        waits_for = self._waits_for
        try:
            while True:
                error: BaseException | None = None
                try:
                    yield waits_for
                except GeneratorExit:
                    self._coroutine.close()
                    raise
                except BaseException as raised:  # noqa: BLE001 -- it is for the coroutine
                    error = raised
                waits_for = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
        except StopIteration as end:
            return end.value
