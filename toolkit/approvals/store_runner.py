"""
Operations of a store, and how long a call waits for each.

A store that blocks works in a thread, and a thread cannot be stopped. A call that stops waiting leaves the operation
to its thread, which undoes what comes too late: a claim that no call uses is closed, a request that no caller knows
is withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from ..concurrency.thread_pool import Threads
from .policy import Approvals
from .records import ApprovalError
from .store import ApprovalStore

__all__ = ["CallStore", "StoreRunner", "StoreTimeoutError"]

T = TypeVar("T")

_log = logging.getLogger("toolkit")

# Operations that no caller waits for any more, and that are still to be done; each holds a record or a result.
_MOST_WAITING = 1_000


class StoreTimeoutError(ApprovalError, TimeoutError):
    """
    Say that a store did not answer in time; its `why` is "store".

    Attributes:
        operation: What the store was asked to do.
    """

    def __init__(self, store: ApprovalStore, operation: str, name: str, seconds: float, holders: str = "") -> None:
        late = f"did not answer within {seconds:.3g} s" if seconds > 0 else "no time was left for that"
        held = f" ({holders})" if holders else ""
        super().__init__(
            f"{type(store).__name__} was to {operation} {name}".rstrip() + f", and {late}{held}; find out what holds "
            "it up, or give it more time: the call's timeout_seconds and Approvals(store_seconds=...) limit it",
            why="store",
        )
        self.operation = operation


class StoreRunner:
    """
    Run operations of a store for calls, in a thread if the store blocks.

    Args:
        approvals: Has the store, and the seconds that an operation may take where its call sets no closer limit.
        threads: Where operations run.
        cleanup_seconds: How long a caller that is cancelled waits for the operation under way.
    """

    __slots__ = ("_approvals", "_cleanup_seconds", "_threads")

    def __init__(self, approvals: Approvals, threads: Threads, cleanup_seconds: float) -> None:
        self._approvals = approvals
        self._threads = threads
        self._cleanup_seconds = cleanup_seconds

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
            name: The id of the request; empty if it is about none.
            work: Is given the store.
            seconds: How long the call may wait; the limit of the approvals holds as well.
            on_late: Undoes what *work* has done once the caller has stopped waiting; runs in the same thread.
            must_happen: Whether *work* is still to be done if the caller has stopped waiting before it began.
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
                self._leave(job, future, must_happen=must_happen)
                raise StoreTimeoutError(store, operation, name, limit, holders)
            return await asyncio.shield(future)  # its thread has done the work, and is about to say so
        except asyncio.CancelledError:
            is_under_way = job.give_up()
            if not is_under_way and on_late is not None:
                future = self._start(job.undo, operation, must_happen=True)
            if must_happen or on_late is not None:  # better whole when the caller goes on; its thread ends it anyway
                await _attend(future, self._cleanup_seconds)
            if is_under_way:
                self._leave(job, future, must_happen=must_happen)
            raise
        except GeneratorExit:  # nothing may be awaited any more
            if job.give_up():
                self._leave(job, future, must_happen=must_happen)
            elif on_late is not None:
                self.detach(operation, lambda _: job.undo())
            raise

    def detach(self, operation: str, work: Callable[[ApprovalStore], object]) -> None:
        """Let *work* be done, and do not wait; without an event loop it is done here and now."""
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
        self._leave(job, self._start(job, operation, must_happen=True), must_happen=True)

    def _start(self, work: Callable[[], Any], operation: str, *, must_happen: bool) -> asyncio.Future[Any]:
        try:
            future = self._threads.run(work, operation)
        except RuntimeError:
            if not must_happen:
                raise
            # The dispatcher was closed while the call was under way.
            future = Threads(1, name="toolkit-store", idle_seconds=0.0).run(work, operation)
        future.add_done_callback(_look_at)
        return future

    def _leave(self, job: _StoreJob[Any], future: asyncio.Future[Any], *, must_happen: bool) -> None:
        """Give up the thread of *job*; one that has not begun leaves the queue, unless it *must_happen*."""
        if future.done():
            return
        if must_happen and not job.has_begun:
            if self._threads.waiting <= _MOST_WAITING:
                return
            _log.error("a store hangs, and %s operations wait for it: it will not %s", _MOST_WAITING, job.operation)
        self._threads.give_up(future)


class CallStore(Protocol):
    """The store of approvals, as long as one call may wait for it."""

    async def run(
        self,
        operation: str,
        name: str,
        work: Callable[[ApprovalStore], T],
        *,
        on_late: Callable[[ApprovalStore, T], object] | None = None,
    ) -> T:
        """Return what *work* returns; raise `StoreTimeoutError` once the call has no time left."""

    async def run_at_end(
        self, operation: str, name: str, work: Callable[[ApprovalStore], T], *, is_cancelled: bool = False
    ) -> T:
        """Do the same for what has to be written down, also if the call's own time is over, or it is cancelled."""

    def detach(self, operation: str, work: Callable[[ApprovalStore], object]) -> None:
        """Let *work* be done, and do not wait."""

    async def within(self, work: Awaitable[T]) -> T:
        """Await *work*, which is not the store's, as long as the call has time."""


class _StoreJob(Generic[T]):
    """
    One operation, as its thread runs it.

    Attributes:
        operation: What the store is to do.
        has_begun: Whether a thread has taken it.
    """

    __slots__ = (
        "_is_given_up",
        "_is_over",
        "_lock",
        "_on_late",
        "_store",
        "_value",
        "_work",
        "has_begun",
        "operation",
    )

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
        """Take note that the work is done; return whether the caller had given it up by then."""
        with self._lock:
            self._is_over = True
            return self._is_given_up

    def give_up(self) -> bool:
        """Stop waiting; return whether the work is still to be done, so that its thread undoes it."""
        with self._lock:
            self._is_given_up = True
            return not self._is_over

    def undo(self) -> None:
        """Undo what came too late, if it can be undone."""
        if self._on_late is None or not hasattr(self, "_value"):
            return
        try:
            self._on_late(self._store, self._value)
        except Exception:  # noqa: BLE001 -- no caller is left to hear of it
            _log.exception("what a store did too late could not be undone: it was to %s", self.operation)


async def _attend(future: asyncio.Future[Any], seconds: float) -> None:
    """Wait for *future*, whatever else is cancelled meanwhile, and no longer than *seconds*."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not future.done() and (left := end - loop.time()) > 0:
        try:
            await asyncio.wait({future}, timeout=left)
        except asyncio.CancelledError:
            continue  # the first cancellation is raised once this is over


def _look_at(ended: asyncio.Future[Any]) -> None:
    """Read the exception, so that asyncio does not warn that no code did."""
    if not ended.cancelled():
        ended.exception()
