"""
Work on a run in the process of the caller, until the run is over or waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .activations import Activations
from .errors import DurableError
from .job_worker import JobWorker
from .journal.records import RunRow
from .run_jobs import AT_REST

__all__ = ["LocalRuns"]

_MAX_POLL_SECONDS = 0.5


class LocalRuns:
    """
    The work of one host on runs whose caller waits for them.

    Args:
        get: Returns the row of a run.
        is_closed: Returns whether the host was closed.
        clock: A function that returns seconds since 1970.
    """

    def __init__(
        self,
        activations: Activations,
        job_worker: JobWorker,
        get: Callable[[str], Awaitable[RunRow]],
        *,
        is_closed: Callable[[], bool],
        clock: Callable[[], float],
    ) -> None:
        self._activations = activations
        self._job_worker = job_worker
        self._get = get
        self._is_closed = is_closed
        self._clock = clock

    async def bring_to_rest(self, run_id: str, resources: Mapping[Any, Any] | None) -> RunRow:
        """
        Return the row of a run that is over or waits, and work on the run until then.

        If another process works on the run, its end is awaited.
        """
        wait_seconds = 0.05
        while True:
            row = await self._get(run_id)
            if row.status in AT_REST or (row.status == "waiting" and not self._is_due(row)):
                return row
            if await self._job_worker.may_activate(row):
                performed = await self._activations.perform(row, resources=resources)
                if performed.error is not None:
                    raise performed.error
                if performed.delivery == "done":
                    continue
            if self._is_closed():
                raise DurableError(f"the host was closed, and a worker goes on with the run {run_id!r}", why="busy")
            await asyncio.sleep(wait_seconds)
            wait_seconds = min(_MAX_POLL_SECONDS, wait_seconds * 1.5)

    def _is_due(self, row: RunRow) -> bool:
        """Return whether a run that waits can go on: it has decisions, or the time for them is over."""
        return bool(row.decisions) or (row.due_at is not None and row.due_at <= self._clock())
