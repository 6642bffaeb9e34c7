"""
Operations of a store, with a limit on how long a call waits for each.

A store that blocks works in a thread, and a thread cannot be stopped. A call that stops waiting leaves the operation
to its thread. The thread undoes an operation that ends too late: it closes a claim that no call uses, and withdraws a
request that no caller knows.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .._plumbing.wording import format_seconds
from ..concurrency.futures import retrieve_exception
from ..concurrency.thread_pool import ThreadPool
from .policy import Approvals
from .records import ApprovalError, Record
from .store import ApprovalStore

__all__ = ["StoreRunner", "StoreTimeoutError"]

T = TypeVar("T")

_log = logging.getLogger("toolkit")

# The limit of operations that no caller waits for any more and that are still to be done. Each one holds a record or a
# result.
_MAX_WAITING = 1_000


class StoreTimeoutError(ApprovalError, TimeoutError):
    """
    A store that did not answer in time; the attribute `why` is "store".

    Attributes:
        operation: The operation that the store was asked to do.
    """

    def __init__(self, store: ApprovalStore, operation: str, name: str, seconds: float, holders: str = "") -> None:
        late = f"did not answer within {format_seconds(seconds)}" if seconds > 0 else "no time was left for that"
        note = f" ({holders})" if holders else ""
        super().__init__(
            f"{type(store).__name__} was to {operation} {name}".rstrip() + f", and {late}{note}; find out what holds "
            "it up, or give it more time: the call's timeout_seconds and Approvals(store_seconds=...) limit it",
            why="store",
        )
        self.operation = operation


class StoreRunner:
    """
    A runner for the operations of a store, which uses a thread if the store blocks.

    Args:
        approvals: Has the store, and the seconds that an operation may take if its call sets no shorter limit.
        threads: The threads in which operations run.
        cleanup_seconds: How long a cancelled caller waits for the operation under way.
    """

    __slots__ = ("_approvals", "_cleanup_seconds", "_threads")

    def __init__(self, approvals: Approvals, threads: ThreadPool, cleanup_seconds: float) -> None:
        self._approvals = approvals
        self._threads = threads
        self._cleanup_seconds = cleanup_seconds

    async def find_record(self, request_id: str) -> Record | None:
        """Return the record of a request; None if there is none."""
        return await self.run("find request", request_id[:64], lambda store: store.get(request_id))

    async def run(
        self,
        operation: str,
        name: str,
        work: Callable[[ApprovalStore], T],
        *,
        seconds: float | None = None,
        on_late: Callable[[ApprovalStore, T], object] | None = None,
        must_happen: bool = False,
    ) -> T:
        """
        Return what *work* returns; raise `StoreTimeoutError` if that takes longer than *seconds*.

        Args:
            operation: What the store does, for the error: "claim request".
            name: The id of the request; empty if the operation is not about one request.
            work: The function that gets the store and does the operation.
            seconds: How long the call may wait. The limit of the approvals holds as well.
            on_late: Undoes what *work* has done after the caller has stopped waiting. It runs in the same thread.
            must_happen: Whether *work* still has to be done if the caller stopped waiting before it began.
        """
        store, limit = self._approvals.store, self._approvals.store_seconds
        if not store.blocking:
            return work(store)
        limit = limit if seconds is None else min(seconds, limit)
        if limit <= 0 and not must_happen:
            raise StoreTimeoutError(store, operation, name, limit)
        job = _StoreJob(store, operation, work, on_late)
        future = self._start(job, operation, must_happen=must_happen)
        try:
            await asyncio.wait({future}, timeout=max(limit, 0.0))
            if job.give_up():
                holders = "" if job.has_begun else self._threads.describe_holders()
                self._abandon(job, future, must_happen=must_happen)
                raise StoreTimeoutError(store, operation, name, limit, holders)
            return await asyncio.shield(future)  # The thread has done the work, and is about to report it.
        except asyncio.CancelledError:
            is_under_way = job.give_up()
            if not is_under_way and on_late is not None:
                future = self._start(job.undo, operation, must_happen=True)
            if must_happen or on_late is not None:  # The caller should find it complete; the thread ends it anyway.
                await _wait_despite_cancellation(future, self._cleanup_seconds)
            if is_under_way:
                self._abandon(job, future, must_happen=must_happen)
            raise
        except GeneratorExit:  # Nothing may be awaited any more.
            if job.give_up():
                self._abandon(job, future, must_happen=must_happen)
            elif on_late is not None:
                self.detach(operation, lambda _: job.undo())
            raise

    def detach(self, operation: str, work: Callable[[ApprovalStore], object]) -> None:
        """Start *work* and do not wait for it. Do it at once if there is no event loop or the store does not block."""
        store = self._approvals.store
        try:
            is_detached = store.blocking and asyncio.get_running_loop() is not None
        except RuntimeError:
            is_detached = False
        if not is_detached:
            work(store)
            return
        job = _StoreJob(store, operation, work, None)
        job.give_up()
        self._abandon(job, self._start(job, operation, must_happen=True), must_happen=True)

    def _start(self, work: Callable[[], Any], operation: str, *, must_happen: bool) -> asyncio.Future[Any]:
        try:
            future = self._threads.run(work, operation)
        except RuntimeError:
            if not must_happen:
                raise
            # The dispatcher was closed while the call was running.
            future = ThreadPool(1, name="toolkit-store", idle_seconds=0.0).run(work, operation)
        future.add_done_callback(retrieve_exception)
        return future

    def _abandon(self, job: _StoreJob[Any], future: asyncio.Future[Any], *, must_happen: bool) -> None:
        """
        Give up the thread of *job*. A job that has not begun leaves the queue.

        A job that *must_happen* stays in the queue, unless too many operations wait there.
        """
        if future.done():
            return
        if must_happen and not job.has_begun:
            if self._threads.queue_length <= _MAX_WAITING:
                return
            _log.error("a store hangs, and %s operations wait for it: it will not %s", _MAX_WAITING, job.operation)
        self._threads.give_up(future)


class _StoreJob(Generic[T]):
    """
    One operation of a store that runs in a thread.

    Attributes:
        operation: The operation that the store has to do.
        has_begun: Whether a thread has taken the job.
    """

    def __init__(
        self,
        store: ApprovalStore,
        operation: str,
        work: Callable[[ApprovalStore], T],
        on_late: Callable[[ApprovalStore, T], object] | None,
    ) -> None:
        self._store = store
        self.operation = operation
        self._work = work
        self._on_late = on_late
        self._lock = threading.Lock()
        self._is_given_up = False
        self._is_over = False
        self.has_begun = False

    def __call__(self) -> T:
        self.has_begun = True
        try:
            self._value = self._work(self._store)
        except BaseException as error:
            if self._end():
                _log.error("a store that was to %s failed after its caller had gone: %r", self.operation, error)
            raise
        if self._end():
            self.undo()
        return self._value

    def _end(self) -> bool:
        """Mark the work as done; return whether the caller had stopped waiting by then."""
        with self._lock:
            self._is_over = True
            return self._is_given_up

    def give_up(self) -> bool:
        """Stop waiting; return whether the work is not done yet, so that its thread has to undo it."""
        with self._lock:
            self._is_given_up = True
            return not self._is_over

    def undo(self) -> None:
        """Undo work that was done too late, if it can be undone."""
        if self._on_late is None or not hasattr(self, "_value"):
            return
        try:
            self._on_late(self._store, self._value)
        except Exception:  # noqa: BLE001 -- there is no caller left to get the error
            _log.exception("what a store did too late could not be undone: it was to %s", self.operation)


async def _wait_despite_cancellation(future: asyncio.Future[Any], seconds: float) -> None:
    """Wait for *future* for at most *seconds*, even if the waiting task is cancelled meanwhile."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not future.done() and (seconds_left := end - loop.time()) > 0:
        try:
            await asyncio.wait({future}, timeout=seconds_left)
        except asyncio.CancelledError:
            continue  # The caller raises the first cancellation after this.
