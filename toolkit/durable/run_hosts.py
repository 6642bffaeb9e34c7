"""A host for programs that change durable runs, such as commands that answer or retry one, and work on none."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from .errors import DurableError
from .journal.records import DEFAULT_QUEUE
from .run_reports import open_existing_journal, read_requests

if TYPE_CHECKING:  # they load the engine and drivers of databases, which most commands do not need
    from .host import DurableHost
    from .run_kinds import Activation, ActivationEnd

__all__ = ["open_host"]


@contextlib.asynccontextmanager
async def open_host(
    database: str, *, queue: str | None = None, run_id: str | None = None, kind: str | None = None
) -> AsyncIterator[DurableHost]:
    """
    Yield a host of the runs in *database* until the end of the block. The host works on no run itself.

    Args:
        queue: The queue of the workers; that of the run *run_id* unless given. The run is moved to it.
        kind: The kind of the runs. If it is None, the host need not know it, and leaves all that follows to a worker.
    """
    from .host import DurableHost

    if queue is not None and run_id is not None:
        await asyncio.to_thread(_move, database, run_id, queue)
    # It is made in a thread, because a database that others have locked is waited for.
    async with await asyncio.to_thread(DurableHost, database, name=queue or DEFAULT_QUEUE) as host:
        if kind is not None:
            host.register(kind, _refuse_activation, find_requests=read_requests)
        yield host


def _move(database: str, run_id: str, queue: str) -> None:
    with contextlib.closing(open_existing_journal(database)) as journal:
        row = journal.get(run_id)
        if row is not None and queue != journal.find_queue(run_id):
            journal.note(run_id, row.epoch, "moved", {"queue": queue}, now=time.time())


async def _refuse_activation(activation: Activation) -> ActivationEnd:
    raise DurableError(
        f"the run {activation.row.id!r} cannot be worked on here; 'toolkit worker' does that", why="busy"
    )
