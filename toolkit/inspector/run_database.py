"""The database of durable runs, as the inspector reads it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from .._plumbing.forks import unlock_in_children
from ..concurrency.thread_pool import ThreadPool
from ..durable.errors import DurableError
from ..durable.journal.run_journal import Journal
from ..durable.run_reports import open_existing_journal

__all__ = ["RunDatabase"]

T = TypeVar("T")

_MAX_THREADS = 4


class RunDatabase:
    """
    The database at *address*. It is opened when it is first needed, and anew after it could not be used.

    So one that is locked, gone or of another version is a sentence on the page, and works again as soon as it can be
    used. It is never made here.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._journal: Journal | None = None
        # One that is locked is waited for, and nothing else may wait with it.
        self._threads = ThreadPool(_MAX_THREADS, name="toolkit-inspector")
        self._lock = unlock_in_children(threading.Lock())

    async def read(self, work: Callable[[Journal], T]) -> T:
        """Return what *work* returns, in a thread; raise `DurableError` if the database cannot be used."""
        result: T = await self._threads.run(lambda: self._read(work))
        return result

    def _read(self, work: Callable[[Journal], T]) -> T:
        with self._lock:
            if self._journal is None:
                self._journal = open_existing_journal(self.address)
            journal = self._journal
        try:
            return work(journal)
        except DurableError as error:
            if error.why == "store":
                self._close_journal()
            raise

    def close(self) -> None:
        """Close the database, and end the threads."""
        self._threads.close()
        self._close_journal()

    def _close_journal(self) -> None:
        with self._lock:
            journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()
