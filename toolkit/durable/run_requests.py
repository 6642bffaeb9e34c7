"""
The requests for approval of durable runs, in a store of approvals that outlives the process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..approvals.memory_store import MemoryApprovals
from ..approvals.policy import Approvals
from ..approvals.repeated_calls import WITHDRAWN
from ..approvals.sql_store import SQLiteApprovals
from ..approvals.store import ApprovalStore
from ..dispatcher import Dispatcher
from ..steps.requests import delete_session_requests, withdraw_session_requests
from .database_address import find_sqlite_path
from .journal.records import RunRow

__all__ = ["RunRequests", "keeps_approvals", "open_approvals_beside"]


def keeps_approvals(approvals: Approvals) -> bool:
    """Return whether the requests of *approvals* are still there after the process has ended."""
    return not isinstance(approvals.store, MemoryApprovals)


def open_approvals_beside(database: str) -> ApprovalStore:
    """Return a store in the file `PATH.approvals.sqlite`, or in the PostgreSQL database *database*."""
    path = find_sqlite_path(database)
    if path is not None:
        return SQLiteApprovals(f"{path}.approvals.sqlite")
    from ..approvals.postgres_store import PostgresApprovals  # it needs a package of the extra

    return PostgresApprovals(database)


class RunRequests:
    """The requests of the runs of one kind. The methods raise `ApprovalError` if the store cannot be used."""

    def __init__(self, find_dispatcher: Callable[[], Dispatcher], name_session: Callable[[RunRow], str]) -> None:
        self._find_dispatcher = find_dispatcher
        self._name_session = name_session

    async def withdraw(self, row: RunRow, kept_ids: Collection[str], reason: str) -> None:
        """Withdraw the requests of a run that is over, but for those with *kept_ids*. A retry makes the calls again."""
        await withdraw_session_requests(
            self._find_dispatcher(), self._name_session(row), kept_ids=kept_ids, reason=reason, by=WITHDRAWN
        )

    async def delete(self, rows: Sequence[RunRow]) -> None:
        """Delete what the store has about requests of runs that were deleted."""
        await delete_session_requests(self._find_dispatcher(), {self._name_session(row) for row in rows})
