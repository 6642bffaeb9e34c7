"""
An event loop in a thread of its own, for code that has none.

It lives as long as its dispatcher, so what one call creates in it, a client or
a lock, still works in the next. Closing ends it and waits for that; where nobody
closes, it ends when its dispatcher is gone.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["BackgroundLoop"]

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for threads that wait for them."""

    def __init__(self, *, cleanup_seconds: float) -> None:
        self._cleanup_seconds = cleanup_seconds
        self._lock = threading.Lock()
        self._is_closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name="toolkit-loop", daemon=True)
        self._thread.start()
        self._ending = weakref.finalize(self, _end_soon, self._loop, cleanup_seconds)
        self._ending.atexit = False

    def wait_for(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine that *start* makes returns, or raises."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("call_sync would wait for itself here; use `await dispatcher.call(...)`")
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()
        tasks: list[asyncio.Task[None]] = []

        async def held() -> None:
            try:
                outcome.set_result(await start())
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 -- raised where it is waited for; here it would end the loop
                outcome.set_exception(error)

        def begin() -> None:
            tasks.append(self._loop.create_task(held()))
            tasks[0].add_done_callback(give_up)

        def give_up(_: object = None) -> None:
            if not outcome.done():
                outcome.set_exception(RuntimeError("the dispatcher is closed"))

        def cancel() -> None:
            # Begun before this, if at all: callbacks keep their order.
            for task in tasks:
                task.cancel()
            if not tasks:
                give_up()

        try:
            with self._lock:
                if self._is_closed:
                    give_up()
                else:
                    self._loop.call_soon_threadsafe(begin)
            return outcome.result()
        except BaseException:
            if not outcome.done():
                # We are interrupted, not the call: it is cancelled, and may clean up.
                self._loop.call_soon_threadsafe(cancel)
                concurrent.futures.wait([outcome], timeout=self._cleanup_seconds)
            raise

    def close(self) -> None:
        """Cancel what runs, let it clean up for a while, and end the loop and its thread."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a dispatcher cannot be closed by a call that runs in its own loop")
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._ending()
        self._thread.join()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _end_soon(loop: asyncio.AbstractEventLoop, cleanup_seconds: float) -> None:
    """Have *loop* end by itself: whoever asks may be the garbage collector, which must not wait."""

    async def finish() -> None:
        try:
            await _cleaned_up(cleanup_seconds)
        finally:
            loop.stop()

    # Made in the loop's own thread: a coroutine that nobody starts would complain.
    loop.call_soon_threadsafe(lambda: loop.create_task(finish()))


async def _cleaned_up(cleanup_seconds: float) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=cleanup_seconds)
    await asyncio.get_running_loop().shutdown_asyncgens()
