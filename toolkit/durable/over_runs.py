"""
What is done about runs that are over: their requests for approval are withdrawn, and their records deleted.

A request that stays open could be approved, and the call would run although its run is over. A run that is retried
makes the calls again whose requests were withdrawn, and asks again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..approvals.records import ApprovalError
from .journal.records import RunRow
from .journal.run_changes import OVER
from .journal.run_journal import Journal
from .run_jobs import job_ids
from .run_kinds import RunKinds
from .run_queue import InThread, RunQueue

__all__ = ["OverRuns"]

_PAGE = 100

_log = logging.getLogger("toolkit")


class OverRuns:
    """The runs of one host that are over."""

    def __init__(self, journal: Journal, kinds: RunKinds, queue: RunQueue, in_thread: InThread) -> None:
        self._journal = journal
        self._kinds = kinds
        self._queue = queue
        self._in_thread = in_thread

    async def follow_up(self, row: RunRow) -> None:
        """Do what follows from the end of an activation: enqueue the next one, or close the requests of the run."""
        if row.status not in OVER:
            await self._queue.continue_later(row)
        elif not await self.withdraw_requests(row):
            await self._queue.enqueue(row)

    async def withdraw_requests(self, row: RunRow) -> bool:
        """
        Withdraw the requests of the run *row* that are open though it is over, and return whether that is settled.

        A run that has failed keeps the requests that people have answered: a retry goes on with the answers.
        """
        if not row.is_open:
            return True
        if row.kind not in self._kinds:
            return False
        requests = self._kinds.find_run_requests(row.kind)
        try:
            if requests is not None:
                kept_ids = row.decisions if row.status == "failed" else ()
                await requests.withdraw(row, kept_ids, f"the run was {row.status} before a person answered")
        except ApprovalError as error:
            _log.warning("run %r is %s, and its requests could not be withdrawn: %s", row.id, row.status, error)
            return False
        await self._in_thread(lambda: self._journal.close_requests(row.id, row.epoch))
        return True

    async def purge(self, before: float) -> int:
        """Delete the runs that were over before that time, with their jobs and requests, and return how many."""
        engine = await self._queue.open_engine()

        def work() -> tuple[int, Sequence[RunRow]]:
            # What the runs did is not needed for this, and may be large.
            rows = [replace(row, input={}, outcome=None) for row in self._iterate_over(before)]
            count = self._journal.purge(before=before)
            engine.forget([job_id for row in rows for job_id in job_ids(row)])
            if count:
                self._journal.compact()
            # A run that was retried meanwhile is still there.
            return count, [row for row in rows if self._journal.get(row.id) is None]

        count, rows = await self._in_thread(work)
        for kind in {row.kind for row in rows}:
            own_rows = [row for row in rows if row.kind == kind]
            try:
                if (requests := self._kinds.find_run_requests(kind)) is not None:
                    await requests.delete(own_rows)
            except ApprovalError as error:
                _log.warning("%d runs of kind %r were deleted, but not their requests: %s", len(own_rows), kind, error)
        return int(count)

    def _iterate_over(self, before: float) -> Iterator[RunRow]:
        for status in sorted(OVER):
            after: str | None = None
            while rows := self._journal.list(status=status, limit=_PAGE, after=after):
                yield from (row for row in rows if row.updated_at < before)
                after = rows[-1].id
