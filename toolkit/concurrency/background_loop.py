"""
An event loop in its own thread, for code that has no event loop, and for connections that callers in any loop use.

The loop lives as long as the dispatchers that share it, so a client or a lock that one call creates in it still works
in the next call. `close` ends the loop, waits for its end, and frees every caller. A loop that is never closed ends
when the last of its dispatchers is freed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .._plumbing.forks import renew_in_children
from ..errors import ToolkitError
from .futures import set_outcome

__all__ = ["BackgroundLoop"]

T = TypeVar("T")

_log = logging.getLogger("toolkit")

# A forked child must not touch the loop of its parent, and must not let it be collected. Closing the loop would
# unregister the file descriptors that parent and child share, and the parent's loop would never wake again.
_inherited_loops: list[object] = []


class BackgroundLoop:
    """Runs coroutines for threads that wait for their results, in a thread called *name*. The first starts the loop."""

    def __init__(self, *, cleanup_seconds: float, name: str = "toolkit-loop") -> None:
        self._cleanup_seconds = cleanup_seconds
        self._name = name
        self._is_closed = False
        self._forget_loop()
        renew_in_children(self)

    def _forget_loop(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._finalizer: weakref.finalize[Any, Any] | None = None

    def renew_after_fork(self) -> None:
        """Leave the loop to the parent without touching it. The next caller in the child starts another one."""
        if self._finalizer is not None:
            self._finalizer.detach()
            _inherited_loops.append((self._loop, self._thread))
        self._forget_loop()

    def _start_loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop, and start it if it does not run yet. The caller holds the lock."""
        if self._is_closed:
            raise RuntimeError("the dispatcher is closed")
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run_loop, args=(self._loop,), name=self._name, daemon=True)
            self._thread.start()
            self._finalizer = weakref.finalize(self, _schedule_end, self._loop, self._cleanup_seconds)
            self._finalizer.atexit = False
        return self._loop

    def submit(self, start: Callable[[], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Run the coroutine that *start* makes, and return its future. Cancelling the future cancels the coroutine."""
        with self._lock:
            loop = self._start_loop()
            future = asyncio.run_coroutine_threadsafe(start(), loop)
            self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    def wait_for(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """
        Run the coroutine that *start* makes, and return what it returns or raise what it raises.

        Meanwhile the current thread runs the tools that have to run in the thread of their caller.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError(
                "a sync method would wait for itself here, in the event loop that it waits for; "
                "await the method without `_sync`, as in `await dispatcher.call(...)`"
            )
        from .caller_thread import CallerThread  # loaded with the first sync call

        caller: CallerThread | None = None
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        tasks: list[asyncio.Task[None]] = []

        def begin() -> None:
            tasks.append(asyncio.get_running_loop().create_task(_run_and_report(start, outcome)))
            tasks[0].add_done_callback(lambda _: _fail_as_closed(outcome))

        def cancel() -> None:
            # If the task was to begin, it began before this, because callbacks keep their order.
            for task in tasks:
                task.cancel()
            if not tasks:
                _fail_as_closed(outcome)

        try:
            with self._lock:
                loop = self._start_loop()
                caller = CallerThread(loop)
                self._waiting.add(outcome)
                loop.call_soon_threadsafe(begin, context=caller.new_context())
            caller.work_until(outcome)
            return outcome.result()
        except BaseException:
            if caller is not None and not outcome.done():
                # The waiting thread was interrupted, not the call. So the call is cancelled, and may clean up.
                caller.close()
                caller.loop.call_soon_threadsafe(cancel)
                concurrent.futures.wait([outcome], timeout=self._cleanup_seconds)
            raise
        finally:
            if caller is not None:
                caller.close()
            with self._lock:
                self._waiting.discard(outcome)

    def close(self) -> None:
        """
        Cancel the calls, give them a limited time to clean up, and end the loop and its thread.

        If a call ignores the cancellation, its caller is freed: `call_sync` raises. A tool that blocks the loop itself
        cannot be ended. Its thread is a daemon and is left running.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("a dispatcher cannot be closed by a call that runs in its own loop")
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        if self._thread is None or self._finalizer is None:
            return  # no caller has started the loop
        self._finalizer()
        # In the loop, tasks have cleanup_seconds, and then generators have the same time. It takes longer only if a
        # tool blocks the loop.
        self._thread.join(2 * self._cleanup_seconds + 1)
        if self._thread.is_alive():
            _log.warning("a tool or a connection blocks a background loop, which was closed without it")
        with self._lock:
            waiting = list(self._waiting)
        for outcome in waiting:
            _fail_as_closed(outcome)


async def _run_and_report(start: Callable[[], Coroutine[Any, Any, T]], outcome: concurrent.futures.Future[T]) -> None:
    """Run the coroutine that *start* makes, and set what it returns or raises as the *outcome*."""
    from .._plumbing.tracebacks import drop_library_frames, drop_own_traceback  # loaded with the first sync call

    try:
        value = await start()
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 -- the waiting thread raises it; here it would end the loop
        drop_library_frames(error)
        if isinstance(error, ToolkitError):
            drop_own_traceback(error)
        set_outcome(outcome, None, error)
    else:
        set_outcome(outcome, value)


def _fail_as_closed(outcome: concurrent.futures.Future[Any]) -> None:
    if not outcome.done():
        set_outcome(outcome, None, RuntimeError("the dispatcher is closed"))


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _schedule_end(loop: asyncio.AbstractEventLoop, cleanup_seconds: float) -> None:
    """Schedule the end of *loop* without waiting, because the garbage collector may call this and must not wait."""

    async def finish() -> None:
        try:
            await _clean_up(cleanup_seconds)
        finally:
            loop.stop()

    # The coroutine is made in the loop's own thread, because Python warns about a coroutine that is never started.
    loop.call_soon_threadsafe(lambda: loop.create_task(finish()))


async def _clean_up(cleanup_seconds: float) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=cleanup_seconds)
    closing = asyncio.ensure_future(asyncio.get_running_loop().shutdown_asyncgens())
    await asyncio.wait({closing}, timeout=cleanup_seconds)
