"""
Threads for sync tools: few, daemons, and never waited for at exit.

The event loop's own executor makes `asyncio.run` wait for a thread that hangs.
Here a job can be abandoned: it keeps its slot until it ends, and nobody waits.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Threads"]


@dataclass(slots=True, eq=False)
class _Job:
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    context: contextvars.Context
    function: Callable[[], Any]


class Threads:
    """
    At most *cap* threads, made when needed and kept for the next job.

    Args:
        cap: How many there may be.
        idle_seconds: How long a thread without work is kept; a pool that nobody closed leaves none behind.
        make: What threads are made with.
    """

    def __init__(
        self, cap: int, *, idle_seconds: float = 30.0, make: Callable[..., threading.Thread] = threading.Thread
    ) -> None:
        self._cap = cap
        self._make = make
        self._idle_seconds = idle_seconds
        self._jobs: collections.deque[_Job] = collections.deque()
        # All counts change under its lock, together with the queue: a thread that was promised a job will take it.
        self._changed = threading.Condition()
        self._threads: set[threading.Thread] = set()
        self._idle: set[threading.Thread] = set()
        self._closed = False

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run *function* in a thread, context variables carried over; the future is the running loop's."""
        loop = asyncio.get_running_loop()
        job = _Job(loop.create_future(), loop, contextvars.copy_context(), function)
        with self._changed:
            if self._closed:
                raise RuntimeError("the dispatcher is closed, and its threads with it")
            self._jobs.append(job)
            # One thread for each job that no idle one will take.
            if len(self._jobs) > len(self._idle) and len(self._threads) < self._cap:
                self._start(job)
            self._changed.notify()
        return job.future

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """While a thread of ours only waits for another job, that job may have its slot: nobody waits in a circle."""
        is_ours = threading.current_thread() in self._threads
        if is_ours:
            self._resize(1)
        try:
            yield
        finally:
            if is_ours:
                self._resize(-1)

    def _resize(self, by: int) -> None:
        with self._changed:
            self._cap += by
            if len(self._jobs) > len(self._idle) and len(self._threads) < self._cap:
                self._start(self._jobs[-1])
            self._changed.notify_all()

    @property
    def alive(self) -> int:
        """How many threads there are."""
        return len(self._threads)

    def close(self) -> None:
        """End the threads: idle ones now, busy ones when they are done. Jobs that wait are still done."""
        with self._changed:
            self._closed = True
            ending = [] if self._jobs else list(self._idle)
            self._changed.notify_all()
        for thread in ending:
            thread.join()

    def _start(self, job: _Job) -> None:
        thread = self._make(target=self._work, name="toolkit", daemon=True)
        self._threads.add(thread)
        self._idle.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads; those we have will come to it
            self._forget(thread)
            if not self._threads:
                self._jobs.remove(job)
                raise

    def _work(self) -> None:
        thread = threading.current_thread()
        while True:
            job = self._next(thread)
            if job is None:
                return
            _do(job)
            del job  # a waiting thread must not keep the last call's values alive

    def _next(self, thread: threading.Thread) -> _Job | None:
        """The next job; None if *thread* has to end."""
        with self._changed:
            self._idle.add(thread)
            self._changed.wait_for(self._is_called, self._idle_seconds)
            if not self._jobs or len(self._threads) > self._cap:
                self._forget(thread)
                return None
            self._idle.discard(thread)
            return self._jobs.popleft()

    def _is_called(self) -> bool:
        return bool(self._jobs) or self._closed or len(self._threads) > self._cap

    def _forget(self, thread: threading.Thread) -> None:
        self._threads.discard(thread)
        self._idle.discard(thread)


def _do(job: _Job) -> None:
    if job.future.cancelled():
        return
    result: Any = None
    error: BaseException | None = None
    try:
        result = job.context.run(job.function)
    except (StopIteration, KeyboardInterrupt, GeneratorExit) as raised:
        # A future cannot hold the first: a coroutine would take it for its own end. The others mean something only
        # where they come from Python itself, which interrupts the main thread and closes generators of ours; raised
        # in here they are the job's own doing, and must not end the program.
        error = RuntimeError(f"the tool raised {raised!r}")
        error.__cause__ = raised
    except BaseException as raised:  # noqa: BLE001 -- it belongs to the call, whatever it is
        error = raised
    # The loop may be gone, and with it everyone who waited.
    with contextlib.suppress(RuntimeError):
        job.loop.call_soon_threadsafe(_settle, job.future, result, error)
    # The traceback of an error holds this frame, and would hold the values of the call through it.
    del job, result, error


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if not future.done():
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
