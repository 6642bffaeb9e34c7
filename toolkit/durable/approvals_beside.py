"""
The store of approvals beside the runs of a database, for dispatchers that keep approvals in memory.
"""

from __future__ import annotations

from ..approvals.sql_store import SQLiteApprovals
from ..approvals.store import ApprovalStore
from .database_address import find_sqlite_path

__all__ = ["open_approvals_beside"]


def open_approvals_beside(database: str) -> ApprovalStore:
    """Return a store in the file `PATH.approvals.sqlite`, or in the PostgreSQL database *database*."""
    path = find_sqlite_path(database)
    if path is not None:
        return SQLiteApprovals(f"{path}.approvals.sqlite")
    from ..approvals.postgres_store import PostgresApprovals  # it needs a package of the extra

    return PostgresApprovals(database)
