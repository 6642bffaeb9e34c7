"""
Threads for sync tools: few, daemons, and never waited for at exit.

The event loop's own executor makes `asyncio.run` wait for a thread that hangs.
Here a job can be abandoned: it keeps its slot until it ends, and nobody waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["Threads"]

_Job: TypeAlias = tuple["asyncio.Future[Any]", asyncio.AbstractEventLoop, contextvars.Context, Callable[[], Any]]


class Threads:
    """At most *cap* threads, made when needed and kept for the next job."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self._closed = False

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run *function* in a thread, context variables carried over; the future is the running loop's."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the dispatcher is closed")
            self._jobs.put((future, loop, contextvars.copy_context(), function))
            # One thread for each job that no idle one will take.
            if self._jobs.qsize() > self._idle and self._threads < self._cap:
                self._threads += 1
                threading.Thread(target=self._work, name="toolkit", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                if job is None:
                    self._threads -= 1
                    return
            _do(*job)
            del job  # a waiting thread must not keep the last call's values alive

    @property
    def alive(self) -> int:
        """How many threads there are."""
        return self._threads

    def close(self) -> None:
        """End the threads: idle ones now, busy ones when they are done."""
        with self._lock:
            self._closed = True
            for _ in range(self._threads):
                self._jobs.put(None)


def _do(
    future: asyncio.Future[Any],
    loop: asyncio.AbstractEventLoop,
    context: contextvars.Context,
    function: Callable[[], Any],
) -> None:
    if future.cancelled():
        return
    try:
        result, error = context.run(function), None
    except BaseException as raised:  # noqa: BLE001 -- it belongs to the call, whatever it is
        result, error = None, raised
    if isinstance(error, StopIteration):
        # A future cannot hold this one: a coroutine would take it for its own end.
        error = RuntimeError(f"the tool raised {error!r}")
    # The loop may be gone, and with it everyone who waited.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, future, result, error)


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if not future.done():
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
