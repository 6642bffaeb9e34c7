"""
The queue of a host: the engine, which is opened when it is first needed, and the jobs of runs in it.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ..decisions import ApprovalRequest
from .engine import Engine
from .journal.records import RunRow
from .run_jobs import build_job, find_due_time

__all__ = ["RunQueue", "open_dbos"]

_engines_of_parents: list[Engine | None] = []


class RunQueue:
    """
    Gives the runs of a host to workers.

    Args:
        build_engine: Returns the engine. It is called in a thread, when the engine is first needed.
        in_thread: Returns what a function returns that blocks.
        find_requests: Returns the requests that a run waits for.
        clock: A function that returns seconds since 1970.
    """

    def __init__(
        self,
        build_engine: Callable[[], Engine],
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
        *,
        find_requests: Callable[[RunRow], Sequence[ApprovalRequest]],
        clock: Callable[[], float],
    ) -> None:
        self._build_engine = build_engine
        self._in_thread = in_thread
        self._find_requests = find_requests
        self._clock = clock
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def renew_after_fork(self) -> None:
        """Open an engine of this process when it is next needed, and leave that of the parent process alone."""
        # A connection that is freed in the child would be closed for the parent too.
        _engines_of_parents.append(self._engine)
        self._engine = None
        self._lock = threading.Lock()

    async def open_engine(self) -> Engine:
        """Return the engine."""
        engine: Engine = await self._in_thread(self._open_engine)
        return engine

    def _open_engine(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self._build_engine()
            return self._engine

    async def enqueue(self, row: RunRow, *, priority: int | None = None, delay_seconds: float = 0.0) -> None:
        """Let a worker do the next activation of the run *row*."""
        engine = await self.open_engine()
        job = build_job(row, priority=priority, delay_seconds=delay_seconds)
        await self._in_thread(lambda: engine.enqueue(job))

    async def continue_later(self, row: RunRow) -> None:
        """Enqueue the next activation of *row*, whose activation has ended or was given back, if there will be one."""
        if row.status == "queued":
            await self.enqueue(row)
        elif row.status == "waiting":
            due = find_due_time(row, self._find_requests(row))
            if row.decisions:
                await self.enqueue(row)
            elif due is not None:
                await self.enqueue(row, delay_seconds=due - self._clock())

    async def withdraw(self, row: RunRow) -> None:
        """Remove the job of the next activation of the run *row*, unless a worker has begun it."""
        engine = await self.open_engine()
        await self._in_thread(lambda: engine.withdraw([build_job(row).id]))

    async def close(self) -> None:
        """Close the engine, if it was opened."""
        if self._engine is not None:
            await self._in_thread(self._engine.close)


def open_dbos(database: str, name: str, poll_seconds: float) -> Engine:
    """Return an engine that is DBOS, which is loaded now."""
    from .dbos_engine import DbosEngine

    return DbosEngine(database, name=name, poll_seconds=poll_seconds)
