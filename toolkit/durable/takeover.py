"""
What a worker does at every beat for the runs of all workers: it finds work that has been left behind.

A worker that dies leaves jobs that were delivered to it, and runs that it worked on without a job. A process that dies
between a change of a run and its job leaves a run without a job. All of them get a job again. A job too many is
harmless, because the worker that gets it sees in the journal that there is nothing to do.

A run whose agent or flow this worker does not have, such as one of a newer program, is left to others: it gets a job
that is delivered a little later.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..decisions import ApprovalRequest
from .engine import Engine
from .errors import DurableError
from .journal.base import Journal
from .journal.records import RunRow, RunStatus
from .run_jobs import build_job, find_due_time, run_id_of
from .workers import Observer

__all__ = ["Takeover"]

_PAGE = 100
_PASS_ON_SECONDS = 10.0

_log = logging.getLogger("toolkit")


class Takeover:
    """
    Gives work that was left behind to living workers. The methods block.

    Args:
        find_requests: Returns the requests that a run waits for.
        clock: A function that returns seconds since 1970.
        settle_seconds: How long a run has to be unchanged before its job is missed.
    """

    def __init__(
        self,
        journal: Journal,
        engine: Engine,
        observer: Observer,
        *,
        find_requests: Callable[[RunRow], Sequence[ApprovalRequest]],
        clock: Callable[[], float],
        settle_seconds: float,
    ) -> None:
        self._journal = journal
        self._engine = engine
        self._observer = observer
        self._find_requests = find_requests
        self._clock = clock
        self._settle_seconds = settle_seconds
        self._due_times: Mapping[str, tuple[int, float | None]] = {}
        self._left_to_others: dict[str, RunRow] = {}
        self._kinds_told: set[str] = set()

    def take_over_dead(self) -> None:
        """Put all that dead workers have left behind into the queue, and remove their counters."""
        dead = self._observer.find_dead()
        if not dead:
            return
        covered: set[str] = set()
        for worker in dead:
            covered |= {run_id_of(job_id) for job_id in self._engine.take_back(worker)}
        for row in self._iterate("running"):
            if row.worker in dead and row.id not in covered:
                self._engine.enqueue(build_job(row))
                covered.add(row.id)
        for worker in dead:
            # Last, so that another worker does all this again if this one dies before.
            self._journal.remove_worker(worker)
            _log.warning("worker %s is dead; its runs go on elsewhere", worker)

    def leave_to_others(self, row: RunRow) -> None:
        """Note that this worker cannot work on *row*. Its job can be ended; the next beat makes another one."""
        if row.kind not in self._kinds_told:
            self._kinds_told.add(row.kind)
            _log.warning(
                "run %r is left to another worker, because this one has no %r; start a worker that has it",
                row.id,
                row.kind,
            )
        self._left_to_others[row.id] = row

    def pass_on(self) -> None:
        """Give a job to each run that was left to others. It comes later, so that this worker is not kept busy."""
        for run_id, row in list(self._left_to_others.items()):
            present = self._journal.get(run_id)
            if present is not None and (present.epoch, present.status) == (row.epoch, row.status):
                self._engine.enqueue(build_job(row, delay_seconds=_PASS_ON_SECONDS))
            self._left_to_others.pop(run_id, None)

    def find_lost_jobs(self, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """
        Give a job to each run that should have one and has none. This looks at all runs that are not over.

        Args:
            may_go_on: Asked before each page of runs. The search ends if it returns false.
        """
        latest = self._clock() - self._settle_seconds
        due_times: dict[str, tuple[int, float | None]] = {}
        statuses: tuple[RunStatus, ...] = ("queued", "waiting", "running")
        for rows in itertools.chain.from_iterable(map(self._iterate_pages, statuses)):
            if not may_go_on():
                return
            counters = self._journal.read_workers()
            due_rows = [row for row in rows if row.updated_at < latest and self._is_due(row, counters, due_times)]
            self._add_missing_jobs({build_job(row).id: row for row in due_rows})
        self._due_times = due_times

    def _add_missing_jobs(self, rows: Mapping[str, RunRow]) -> None:
        for job_id in self._engine.find_missing(list(rows)):
            row = rows[job_id]
            present = self._journal.get(row.id)
            # A worker may have done the job since the run was read.
            if present is not None and (present.epoch, present.status) == (row.epoch, row.status):
                _log.warning("run %r had no job; it gets one", row.id)
                self._engine.enqueue(build_job(row))

    def _is_due(self, row: RunRow, counters: Mapping[str, int], due_times: dict[str, tuple[int, float | None]]) -> bool:
        """Return whether *row* should have a job, and note in *due_times* when it will be due, if it waits."""
        if row.status == "running":
            return self._observer.is_dead(row.worker, counters)
        if row.status == "queued" or row.decisions:
            return True
        epoch, due = self._due_times.get(row.id, (None, None))
        if epoch != row.epoch:  # the requests of a run that waits stay the same
            try:
                due = find_due_time(row, self._find_requests(row))
            except DurableError as error:
                _log.warning("run %r is left as it is: %s", row.id, error)
                return False
        due_times[row.id] = (row.epoch, due)
        return due is not None and due <= self._clock()

    def _iterate(self, status: RunStatus) -> Iterator[RunRow]:
        return itertools.chain.from_iterable(self._iterate_pages(status))

    def _iterate_pages(self, status: RunStatus) -> Iterator[Sequence[RunRow]]:
        after: str | None = None
        while rows := self._journal.list(status=status, limit=_PAGE, after=after):
            yield rows
            after = rows[-1].id
