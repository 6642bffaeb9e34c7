"""
The queue of a host: the engine, which is opened when it is first needed, and the jobs of runs in it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from .engine import Engine
from .errors import DurableError
from .journal.records import RunRow
from .run_jobs import build_job

__all__ = ["InThread", "RunQueue", "open_dbos"]

InThread: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Returns what a function returns that blocks."""

_log = logging.getLogger("toolkit")
_engines_of_parents: list[Engine | None] = []


class RunQueue:
    """
    Gives the runs of a host to workers. *build_engine* is called in a thread, when the engine is first needed.

    *find_queue* returns the queue that was noted for the run with an id.
    """

    def __init__(
        self,
        build_engine: Callable[[], Engine],
        in_thread: InThread,
        *,
        find_queue: Callable[[str], str | None],
        clock: Callable[[], float],
    ) -> None:
        self._build_engine = build_engine
        self._in_thread = in_thread
        self._find_queue = find_queue
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

        def enqueue(engine: Engine) -> None:
            queue = self._find_queue(row.id)
            engine.enqueue(build_job(row, queue=queue, priority=priority, delay_seconds=delay_seconds))

        await self._tell_engine(row, enqueue)

    async def continue_later(self, row: RunRow) -> None:
        """Enqueue the next activation of *row*, whose activation has ended or was given back, if there will be one."""
        if row.status == "queued":
            await self.enqueue(row)
        elif row.status == "waiting":
            if row.decisions:
                await self.enqueue(row)
            elif row.due_at is not None:
                await self.enqueue(row, delay_seconds=row.due_at - self._clock())

    async def withdraw(self, row: RunRow) -> None:
        """Remove the job of the next activation of the run *row*, unless a worker has begun it."""
        await self._tell_engine(row, lambda engine: engine.withdraw([build_job(row).id]))

    async def _tell_engine(self, row: RunRow, tell: Callable[[Engine], None]) -> None:
        """
        Let *tell* change what the engine knows about the run *row*.

        The journal says what the run needs. So if the engine cannot be reached, workers find the run by their search.
        """
        try:
            engine = await self.open_engine()
            await self._in_thread(lambda: tell(engine))
        except DurableError as error:
            if error.why != "store":
                raise
            _log.warning("run %r: its job could not be changed; a worker finds the run soon: %s", row.id, error)

    async def close(self) -> None:
        """Close the engine, if it was opened."""
        if self._engine is not None:
            await self._in_thread(self._engine.close)


def open_dbos(database: str, name: str, poll_seconds: float) -> Engine:
    """Return an engine that is DBOS, which is loaded now."""
    from .dbos_engine import DbosEngine

    return DbosEngine(database, name=name, poll_seconds=poll_seconds)
