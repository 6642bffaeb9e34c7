"""
A store of approvals in a PostgreSQL database, which processes on several machines can share.
"""

from __future__ import annotations

from .._option_checks import OptionTypes, check_option_types
from ..storage.owner_locks import OwnerLock, watch_owner
from ..storage.postgres_database import PostgresDatabase
from ..storage.process_owner import is_owner, is_this_process, remove_mark
from ..storage.process_owner import owner as name_this_process
from .sql_store import APPROVALS, SQLApprovals
from .store import Settlement

__all__ = ["PostgresApprovals"]

_SECONDS = ((int, float), "a number of seconds")
_OPTION_TYPES: OptionTypes = {"timeout_seconds": _SECONDS, "lost_seconds": _SECONDS}


class PostgresApprovals(SQLApprovals):
    """
    A store that keeps approvals in the table `toolkit_approvals`, which is created if it does not exist.

    A process that claims a request holds a lock in the database until it ends, on a connection of its own. So a process
    on any other machine can see whether it lives. A pooler has to pool sessions, not transactions.

    Args:
        url: The address of the database: `postgresql://user:password@host:port/name`.
        timeout_seconds: How long to wait for a server that is away, and for others that change the same request.
        lost_seconds: How long the process of a claim has to be out of sight before it counts as dead. A process that
            lives, but has lost its connection, has this time to come back.

    Attributes:
        place: The address of the database, without the password.

    Raises:
        ApprovalError: The database cannot be used, here or in any later call; `why` is "store".
        ToolkitError: The extra `durable` is not installed.
    """

    def __init__(self, url: str, *, timeout_seconds: float = 10.0, lost_seconds: float = 5.0) -> None:
        check_option_types({"timeout_seconds": timeout_seconds, "lost_seconds": lost_seconds}, _OPTION_TYPES)
        for name, seconds in (("timeout_seconds", timeout_seconds), ("lost_seconds", lost_seconds)):
            if not seconds >= 0:
                raise ValueError(f"{name} has to be 0 or more, got {seconds!r}")
        self._server = PostgresDatabase(url, APPROVALS, timeout_seconds=timeout_seconds)
        super().__init__(self._server)
        self.place = self._server.place
        self._lost_seconds = lost_seconds
        self._owner_lock = OwnerLock(self._server)

    def __repr__(self) -> str:
        return f"PostgresApprovals({self.place!r})"

    def close(self) -> None:
        """Close the connections. Claims of this process that have no outcome count as lost from now on."""
        self._owner_lock.close()
        self._server.close()

    def settle(self, request_id: str, settlement: Settlement) -> bool:
        """Answer a request; return whether this was the answer that counts."""
        self._show_owner(settlement.owner)
        return super().settle(request_id, settlement)

    def reclaim(self, request_id: str, *, from_owner: str, owner: str, now: float) -> bool:
        """Take over the claim of an owner that is dead; return whether that owner still had the claim."""
        self._show_owner(owner)
        return super().reclaim(request_id, from_owner=from_owner, owner=owner, now=now)

    def is_owner_alive(self, owner: str) -> bool | None:
        """
        Return whether the process that *owner* stands for still runs, on whatever machine.

        If it does not seem to run, this takes `lost_seconds`. Return None if *owner* is not the name of a process.
        """
        if not is_owner(owner):
            return None
        return watch_owner(remove_mark(owner), self._server, seconds=self._lost_seconds)

    def _show_owner(self, owner: str | None) -> None:
        """Take the lock that shows that this process lives, before a claim is written."""
        if owner is not None and is_this_process(owner):
            self._owner_lock.hold(name_this_process())
