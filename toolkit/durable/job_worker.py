"""
The work of a host on runs: here and now for a caller, and on the jobs of its queue.

At every beat, it looks at the runs of all workers.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..concurrency.futures import run_to_end
from .activations import Activations
from .engine import Delivery, Engine, RunLimits
from .errors import DurableError
from .journal.records import RunRow
from .journal.run_changes import OVER
from .journal.run_journal import Journal
from .run_kinds import RunKinds
from .takeover import Takeover
from .workers import BEATS_PER_TAKEOVER, Heart, Observer

__all__ = ["JobWorker"]

_POLL_SECONDS = 0.5
_FIRST_POLL_SECONDS = 0.05
_STORE_POLL_SECONDS = 0.1
_SEARCH_PART = 0.1
"""The search for runs without a job takes at most this part of the time, however many runs there are."""

_CLEANUP_SECONDS = 60.0

_log = logging.getLogger("toolkit")


@dataclass(eq=False)
class JobWorker:
    """The worker of one host. *withdraw_requests* withdraws the open requests of a run that is over."""

    journal: Journal
    activations: Activations
    kinds: RunKinds
    _: KW_ONLY
    name: str
    queue: str
    takeover_seconds: float
    withdraw_requests: Callable[[RunRow], Awaitable[object]]
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        beat_seconds = self.takeover_seconds / BEATS_PER_TAKEOVER
        self._observer = Observer(self.takeover_seconds, 2 * beat_seconds)
        self._heart = Heart(
            self.journal,
            self.name,
            self._observer,
            beat_seconds=beat_seconds,
            describe=self._describe,
            on_beat=self._handle_beat,
        )
        self._versions: Mapping[str, str] | None = None  # of the runs that it takes from the queue
        self._data = {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "started_at": self.clock(),
            "queue": self.queue,
        }
        self._takeover: Takeover | None = None
        self._next_search_at = float("-inf")
        self._search: threading.Thread | None = None
        self._is_ending = False
        self._has_ended: asyncio.Future[None] | None = None
        self._until_end: asyncio.Future[None] | None = None

    def _describe(self) -> Mapping[str, Any]:
        """Return what people want to know about this worker. Its clock may be another one than theirs."""
        return {**self._data, "beat_at": self.clock(), "versions": self._versions}

    async def may_activate(self, row: RunRow) -> bool:
        """Return whether no living process works on the run *row*. From now on this host shows that it lives."""
        await self.activations.in_thread(self._heart.start)
        if self.activations.has(row.id):
            return False
        if row.status != "running" or row.worker == self.name:
            return True
        counters = await self.activations.in_thread(self.journal.read_workers)
        return self._observer.is_dead(row.worker, counters)

    async def bring_to_rest(
        self, get: Callable[[], Awaitable[RunRow]], resources: Mapping[Any, Any] | None, is_closed: Callable[[], bool]
    ) -> RunRow:
        """
        Work on a run here and now until it is over or waits, and return its row.

        If another process works on the run, its end is awaited. *get* returns the row as it is now.
        """
        wait_seconds = _FIRST_POLL_SECONDS
        while True:
            row = await get()
            # A run that waits can go on if it has decisions, or if the time for them is over.
            is_due = bool(row.decisions) or (row.due_at is not None and row.due_at <= self.clock())
            if row.status in OVER or (row.status == "waiting" and not is_due):
                return row
            if await self.may_activate(row):
                performed = await self.activations.perform(row, resources=resources)
                if performed.error is not None:
                    raise performed.error
                if performed.delivery == "done":
                    continue
            if is_closed():
                raise DurableError(f"the host was closed, and a worker goes on with the run {row.id!r}", why="busy")
            await asyncio.sleep(wait_seconds)
            wait_seconds = min(_POLL_SECONDS, wait_seconds * 1.5)

    async def work(self, engine: Engine, limits: RunLimits, grace_seconds: float) -> None:
        """Work on jobs until this call is cancelled, or `end` is called."""
        loop = asyncio.get_running_loop()
        if self._has_ended is not None:
            raise DurableError("this host works already", why="busy")
        has_ended = self._has_ended = loop.create_future()
        try:
            await self._work(engine, limits, grace_seconds, loop)
        finally:
            self._has_ended = self._until_end = None
            has_ended.set_result(None)

    async def end(self) -> None:
        """Let `work` return, and wait until it has given its runs back."""
        if self._until_end is not None and not self._until_end.done():
            self._until_end.set_result(None)
        if self._has_ended is not None:
            await asyncio.shield(self._has_ended)

    async def _work(
        self, engine: Engine, limits: RunLimits, grace_seconds: float, loop: asyncio.AbstractEventLoop
    ) -> None:
        in_thread = self.activations.in_thread
        self._versions = self.kinds.list_versions()
        await in_thread(self._heart.start)
        self._is_ending = False

        def start() -> None:
            engine.start_worker(self.name, lambda run: self._do_job(run, loop), limits)

        # A cancellation waits until the worker has started, because only then it can be stopped.
        starting, cancelled = await run_to_end(in_thread(start), _CLEANUP_SECONDS)
        if cancelled is None:
            starting.result()
        elif starting.cancelled() or starting.exception() is not None:
            raise cancelled
        try:
            if cancelled is not None:
                raise cancelled
            self._takeover = Takeover(
                self.journal,
                engine,
                self._observer,
                queue=self.queue,
                kinds=self.kinds,
                clock=self.clock,
                settle_seconds=self.takeover_seconds,
            )
            self._until_end = loop.create_future()
            await self._until_end
        finally:
            self._is_ending, self._takeover, self._versions = True, None, None
            task, _ = await run_to_end(self._end_work(engine, grace_seconds), _CLEANUP_SECONDS)
            if task.cancelled() or task.exception() is not None:
                error = None if task.cancelled() else task.exception()
                _log.error("a worker could not give all its runs back; others will take them over", exc_info=error)

    async def _end_work(self, engine: Engine, grace_seconds: float) -> None:
        in_thread = self.activations.in_thread
        await asyncio.gather(
            in_thread(engine.stop_worker), self.activations.give_back_all(grace_seconds, only_jobs=True)
        )
        await in_thread(lambda: engine.take_back(self.name))

    def stop(self) -> None:
        """Show no more that this host lives. It has to have ended its activations. This method blocks."""
        self._heart.stop()
        if self._search is not None:
            self._search.join()

    def _do_job(self, run_id: str, loop: asyncio.AbstractEventLoop) -> Delivery:
        """Work on a run in *loop*, and return what becomes of its job. The engine calls this method in a thread."""
        if self._is_ending or loop.is_closed():
            return "return"
        future = asyncio.run_coroutine_threadsafe(self._activate_job(run_id), loop)
        while True:
            try:
                return future.result(timeout=1.0)
            except concurrent.futures.CancelledError:
                return "return"
            except TimeoutError:
                if future.done():
                    raise
                if loop.is_closed():  # it was stopped with its tasks, and nothing will come of them
                    return "return"

    async def _activate_job(self, run_id: str) -> Delivery:
        # A worker that puts the jobs of a dead one back removes it from the list only afterwards. So a run that seems
        # to have a living worker is watched for a while before its job is given up.
        latest = time.monotonic() + 2 * self.takeover_seconds
        while not self._is_ending:
            try:
                delivery = await self._try_job(run_id)
            except DurableError as error:
                # An engine may drop a job that raises, and then the run waits until its job is missed.
                if error.why != "store" or time.monotonic() >= latest:
                    raise
                _log.warning("run %r could not be taken, which is tried again: %s", run_id, error)
                await asyncio.sleep(_STORE_POLL_SECONDS)
                continue
            if delivery is not None:
                return delivery
            if time.monotonic() >= latest:
                return "done"
            await asyncio.sleep(_POLL_SECONDS)
        return "return"

    async def _try_job(self, run_id: str) -> Delivery | None:
        """Work on a run, and return what becomes of its job; None if another worker seems to work on the run."""
        row = await self._read_row(run_id)
        if row is not None and row.status in OVER:
            # A run that was cancelled by a process without its kind leaves this to a worker.
            await self.withdraw_requests(row)
            row = await self._read_row(run_id)  # it may have been retried meanwhile
        if row is None or row.status in OVER:
            return "done"
        if not self.kinds.may_work_on(row):
            if self._takeover is None:
                return "return"
            self._takeover.leave_to_others(row)
            return "done"
        if not await self.may_activate(row):
            return None
        return (await self.activations.perform(row, is_job=True)).delivery

    async def _read_row(self, run_id: str) -> RunRow | None:
        return await self.activations.in_thread(lambda: self.journal.get(run_id))

    def _handle_beat(self) -> None:
        """Stop activations that were taken over, and take over those of dead workers. The heart calls this method."""
        self.activations.give_back_stopped()
        for run_id, epoch in self.activations.list_epochs().items():
            row = self.journal.get(run_id)
            if row is None or row.epoch != epoch:
                self.activations.fence(run_id, epoch)
        takeover = self._takeover
        if takeover is None:
            return
        takeover.take_over_dead()
        takeover.pass_on()
        if time.monotonic() >= self._next_search_at:
            self._search_lost_jobs(takeover)

    def _search_lost_jobs(self, takeover: Takeover) -> None:
        """Search in a thread, because a worker whose heart does not beat meanwhile would be taken for dead."""

        def search() -> None:
            started = time.monotonic()
            try:
                if self._takeover is takeover:  # the worker has not ended meanwhile
                    self._versions = self.kinds.list_versions()
                takeover.find_lost_jobs(lambda: self._takeover is takeover)
            except DurableError as error:
                _log.warning("the search for runs without a job ended early: %s", error)
            except Exception:  # noqa: BLE001 -- it is done again
                _log.exception("the search for runs without a job failed")
            finally:
                ended = time.monotonic()
                self._next_search_at = ended + max(self.takeover_seconds, (ended - started) / _SEARCH_PART)

        if self._search is None or not self._search.is_alive():
            self._search = threading.Thread(target=search, name="toolkit-lost-jobs", daemon=True)
            self._search.start()
