"""
What a worker does at every beat for the runs of all workers: it finds work that has been left behind.

A worker that dies leaves jobs that were delivered to it, and runs that it worked on without a job. A process that dies
between a change of a run and its job, or that loses the engine in between, leaves a run without a job. The journal
knows all of them: what is written about a run says whether it needs a worker. They get a job again. A job too many is
harmless, because the worker that gets it sees in the journal that there is nothing to do.

A run whose agent or flow this worker does not have, or has in another version, is left to others: it gets a job that is
delivered a little later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field

from .engine import Engine
from .journal.records import RunRow
from .journal.run_journal import Journal
from .run_jobs import build_job, run_id_of
from .run_kinds import RunKinds
from .workers import Observer

__all__ = ["Takeover"]

_PAGE = 500
_PASS_ON_SECONDS = 10.0
_TAKER_SECONDS = 1.0
"""After how many seconds a run that was left to others gets its next job: longer, if no worker can take it."""

_log = logging.getLogger("toolkit")


@dataclass(eq=False)
class Takeover:
    """
    Gives work that was left behind to living workers. The methods block.

    *settle_seconds* is how long a run has to be unchanged before its job is missed.
    """

    journal: Journal
    engine: Engine
    observer: Observer
    _: KW_ONLY
    queue: str
    kinds: RunKinds
    clock: Callable[[], float]
    settle_seconds: float
    _left_to_others: dict[str, RunRow] = field(init=False, default_factory=dict)
    _left_told: set[tuple[str, str]] = field(init=False, default_factory=set)

    def take_over_dead(self) -> None:
        """Put all that dead workers have left behind into the queue, and remove their counters."""
        dead = self.observer.find_dead()
        if not dead:
            return
        covered: set[str] = set()
        for worker in dead:
            covered |= {run_id_of(job_id) for job_id in self.engine.take_back(worker)}
        for row in self.journal.list_due(now=self.clock(), settle_seconds=-1.0):  # those of this moment, too
            if row.status == "running" and row.worker in dead and row.id not in covered:
                self.engine.enqueue(build_job(row, queue=self.journal.find_queue(row.id)))
        for worker in dead:
            # Last, so that another worker does all this again if this one dies before.
            self.journal.remove_worker(worker)
            _log.warning("worker %s is dead; its runs go on elsewhere", worker)

    def leave_to_others(self, row: RunRow) -> None:
        """Note that this worker cannot work on *row*. Its job can be ended; the next beat makes another one."""
        if (row.kind, row.version) not in self._left_told:
            self._left_told.add((row.kind, row.version))
            _log.warning(
                "run %r is left to another worker, because this one has no %r%s; start a worker that has it",
                row.id,
                row.kind,
                f" of version {row.version}" if row.version else "",
            )
        self._left_to_others[row.id] = row

    def pass_on(self) -> None:
        """Give a job to each run that was left to others. It comes later, so that this worker is not kept busy."""
        workers = self.journal.list_workers() if self._left_to_others else ()
        for run_id, row in list(self._left_to_others.items()):
            if self._is_unchanged(row):
                queue = self.journal.find_queue(run_id) or self.queue
                has_taker = any(worker.may_work_on(row) for worker in workers if worker.queue == queue)
                delay_seconds = _TAKER_SECONDS if has_taker else _PASS_ON_SECONDS
                self.engine.enqueue(build_job(row, queue=queue, delay_seconds=delay_seconds))
            self._left_to_others.pop(run_id, None)

    def find_lost_jobs(self, may_go_on: Callable[[], bool] = lambda: True) -> None:
        """
        Give a job to each run of the queue that needs a worker and has only a timer or none.

        Stop when *may_go_on* says no.
        """
        busy_workers = self.engine.list_busy_workers()
        counters = self.journal.read_workers()
        for worker in busy_workers:
            if worker not in counters:  # it was taken for dead, took a job when it woke up, and died
                self.engine.take_back(worker)
        rows = self.journal.list_due(now=self.clock(), settle_seconds=self.settle_seconds)
        versions = self.kinds.list_versions()
        due_rows = [
            row
            for row in rows
            if self.kinds.may_work_on(row, versions)
            and (row.status != "running" or self.observer.is_dead(row.worker, counters))
        ]
        for start in range(0, len(due_rows), _PAGE):
            if not may_go_on():
                return
            self._add_missing_jobs(due_rows[start : start + _PAGE])

    def _add_missing_jobs(self, rows: Sequence[RunRow]) -> None:
        rows_by_job = {build_job(row).id: row for row in rows}
        for job_id in self.engine.find_missing(list(rows_by_job)):
            row = rows_by_job[job_id]
            queue = self.journal.find_queue(row.id)
            # A worker may have done the job since the run was read.
            if queue in (None, self.queue) and self._is_unchanged(row):
                _log.warning("run %r had no job; it gets one", row.id)
                self.engine.enqueue(build_job(row, queue=queue))

    def _is_unchanged(self, row: RunRow) -> bool:
        present = self.journal.get(row.id)
        return present is not None and (present.epoch, present.status) == (row.epoch, row.status)
