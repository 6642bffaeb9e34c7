"""
A store of approvals in a PostgreSQL database, which processes on several machines can share.

Each method does its work in one transaction, and a change is on the server's disk before the method returns. If the
server goes away in the middle of a change, it is not known whether the change was made. So each change carries a random
text, and the next attempt recognises its own change by it. The table holds arguments with their secrets.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from .._option_checks import OptionTypes, check_option_types
from ..questions import AnsweredQuestion
from ..storage.owner_locks import OwnerLock, watch_owner
from ..storage.postgres_connections import PostgresConnections
from ..storage.process_owner import is_owner, is_this_process, remove_mark
from ..storage.process_owner import owner as name_this_process
from .records import ApprovalError, Record, dump_record
from .repeated_calls import is_current
from .store import Change
from .stored_rows import StoredRows, build_row_key, check_is_new

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresApprovals"]

T = TypeVar("T")
Connection: TypeAlias = "psycopg.Connection[Any]"
Row: TypeAlias = tuple[Any, Any, Any, Any]

_SECONDS = ((int, float), "a number of seconds")
_OPTION_TYPES: OptionTypes = {"timeout_seconds": _SECONDS, "lost_seconds": _SECONDS}
_FORMAT = "toolkit approvals, format 1"
_CREATION_LOCK = 0x746B6170  # "tkap"
_SCHEMA = f"""
CREATE TABLE toolkit_approvals (
    id BYTEA PRIMARY KEY,
    number BIGINT GENERATED ALWAYS AS IDENTITY,
    state TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    over_since DOUBLE PRECISION,
    record TEXT NOT NULL,
    call BYTEA,
    change_id BYTEA NOT NULL
);
CREATE INDEX toolkit_approvals_by_state ON toolkit_approvals (state, created_at, number);
CREATE INDEX toolkit_approvals_by_call ON toolkit_approvals (call, number);
COMMENT ON TABLE toolkit_approvals IS '{_FORMAT}';
"""
_READ_FORMAT = "SELECT to_regclass('toolkit_approvals'), obj_description(to_regclass('toolkit_approvals'), 'pg_class')"
_SELECT = "SELECT id, state, record, change_id FROM toolkit_approvals"
_INSERT = (
    "INSERT INTO toolkit_approvals (id, state, created_at, over_since, record, call, change_id)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING"
)
_UPDATE = "UPDATE toolkit_approvals SET state = %s, over_since = %s, record = %s, change_id = %s WHERE id = %s"


class PostgresApprovals(StoredRows):
    """
    A store that keeps approvals in the table `toolkit_approvals`, which is created if it does not exist.

    A process that claims a request holds a lock in the database until it ends, on a connection of its own. So a process
    on any other machine can see whether it lives. A pooler has to pool sessions, not transactions.

    Args:
        url: The address of the database: `postgresql://user:password@host:port/name`.
        timeout_seconds: How long to wait for a server that is away, and for others that change the same request.
        lost_seconds: How long the process of a claim has to be out of sight before it counts as dead. A process that
            lives, but has lost its connection, has this time to come back.

    Raises:
        ApprovalError: The database cannot be used, here or in any later call; `why` is "store".
        ToolkitError: The extra `durable` is not installed.
    """

    blocking = True

    def __init__(self, url: str, *, timeout_seconds: float = 10.0, lost_seconds: float = 5.0) -> None:
        check_option_types({"timeout_seconds": timeout_seconds, "lost_seconds": lost_seconds}, _OPTION_TYPES)
        for name, seconds in (("timeout_seconds", timeout_seconds), ("lost_seconds", lost_seconds)):
            if not seconds >= 0:
                raise ValueError(f"{name} has to be 0 or more, got {seconds!r}")
        self._connections = PostgresConnections(
            url, timeout_seconds=timeout_seconds, subject="approvals", error_class=ApprovalError
        )
        self._lost_seconds = lost_seconds
        self._owner_lock = OwnerLock(self._connections)
        self._connections.run(self._create)

    @property
    def place(self) -> str:
        """The address of the database, without the password."""
        return self._connections.place

    def __repr__(self) -> str:
        return f"PostgresApprovals({self.place!r})"

    def close(self) -> None:
        """Close the connections. Claims of this process that have no outcome count as lost from now on."""
        self._owner_lock.close()
        self._connections.close()

    def add(self, record: Record) -> None:
        """Keep a pending record; raise `ValueError` if its id is already in the store."""
        change_id = secrets.token_bytes(16)
        self._run(lambda connection: self._add(connection, record, None, change_id))

    def add_call(self, record: Record, key: str | None, *, now: float, replaces: str | None = None) -> Record:
        """Keep *record* as the newest request of its call and return it, or return the record that counts for it."""
        change_id = secrets.token_bytes(16)

        def work(connection: Connection) -> Record:
            call = None if key is None else build_row_key(key)
            if replaces is not None:
                row = connection.execute(
                    "SELECT call FROM toolkit_approvals WHERE id = %s", (build_row_key(replaces),)
                ).fetchone()
                call = None if row is None else row[0]
            elif call is not None:
                # Of two callers that ask about the same call, the second waits until the first has its request.
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(encode(%s, 'hex'), 0))", (call,))
                newest = self._find_call_row(connection, call)
                known = None if newest is None or newest[3] == change_id else self._read_row(*newest[:3])
                if known is not None and is_current(known, now):
                    return known
            self._add(connection, record, call, change_id)
            return record

        return self._run(work)

    def find_call(self, key: str) -> Record | None:
        """Return the newest record that was added for the call with this *key*; return None if there is none."""
        row = self._run(lambda connection: self._find_call_row(connection, build_row_key(key)))
        return None if row is None else self._read_row(*row[:3])

    def get(self, request_id: str) -> Record | None:
        """Return the present record with exactly this id; return None if there is none."""
        row = self._run(lambda connection: _find_row(connection, request_id))
        return None if row is None else self._read_row(*row[:3])

    def settle(
        self,
        request_id: str,
        state: Literal["denied", "claimed"],
        *,
        by: str | None,
        owner: str | None,
        now: float,
        arguments: Any = None,
        answers: Sequence[AnsweredQuestion] | None = None,
        denial: str = "",
    ) -> bool:
        """Answer a request; return whether this was the answer that counts."""
        if state == "claimed":
            self._show_owner(owner)
        return super().settle(
            request_id, state, by=by, owner=owner, now=now, arguments=arguments, answers=answers, denial=denial
        )

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
        return watch_owner(remove_mark(owner), self._connections, seconds=self._lost_seconds)

    def purge(self, *, before: float, sessions: Collection[str] | None = None) -> int:
        """
        Delete the records that were denied, done or expired *before* that time, and return how many.

        With *sessions*, only records of these sessions are deleted. The server keeps the bytes of what is deleted on
        its disk until it vacuums the table.
        """
        is_old = "FROM toolkit_approvals WHERE over_since < %s"

        def work(connection: Connection) -> int:
            if sessions is None:
                return connection.execute(f"DELETE {is_old}", (before,)).rowcount
            rows = connection.execute(f"SELECT id, state, record {is_old}", (before,)).fetchall()
            keys = self._select_keys(rows, sessions)
            return connection.execute(f"DELETE {is_old} AND id = ANY(%s)", (before, keys)).rowcount

        return self._run(work)

    def _find_pending_rows(self) -> Iterable[tuple[Any, Any, Any]]:
        return self._run(
            lambda connection: connection.execute(
                "SELECT id, state, record FROM toolkit_approvals WHERE state = 'pending' ORDER BY created_at, number"
            ).fetchall()
        )

    def _change(self, request_id: str, change: Change) -> bool:
        change_id, changes = secrets.token_bytes(16), list[Record]()

        def work(connection: Connection) -> bool:
            row = _find_row(connection, request_id, "FOR UPDATE")
            if row is not None and row[3] == change_id:
                return True  # The attempt before has changed it, and the server went away before it could say so.
            changed = None if row is None else change(self._read_row(*row[:3]))
            if changed is None:
                return False
            changes[:] = [changed]
            text = dump_record(self._sign(changed))
            connection.execute(
                _UPDATE, (changed.state, changed.over_since(), text, change_id, build_row_key(request_id))
            )
            return True

        is_changed = self._run(work)
        if is_changed:
            self._remember(changes[0])
        return is_changed

    def _add(self, connection: Connection, record: Record, call: bytes | None, change_id: bytes) -> None:
        check_is_new(record, None)
        text = dump_record(self._sign(record))
        name, over_since = build_row_key(record.request.id), record.over_since()
        row = (name, record.state, record.request.created_at, over_since, text, call, change_id)
        if connection.execute(_INSERT, row).rowcount:
            return
        known = _find_row(connection, record.request.id)
        if known is not None and known[3] != change_id:
            check_is_new(record, self._read_row(*known[:3]))

    def _find_call_row(self, connection: Connection, call: bytes) -> Row | None:
        return connection.execute(f"{_SELECT} WHERE call = %s ORDER BY number DESC LIMIT 1", (call,)).fetchone()

    def _show_owner(self, owner: str | None) -> None:
        """Take the lock that shows that this process lives, before a claim is written."""
        if owner is not None and is_this_process(owner):
            self._owner_lock.hold(name_this_process())

    def _run(self, work: Callable[[Connection], T]) -> T:
        def check_and_work(connection: Connection) -> T:
            self._check_format(connection)
            return work(connection)

        return self._connections.run(check_and_work)

    def _create(self, connection: Connection) -> None:
        if _read_format(connection)[0] is None:
            # The second of two processes that come here at once waits, fails because there is a table now, and is
            # called once more.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_CREATION_LOCK,))
            connection.execute(_SCHEMA)
        self._check_format(connection)

    def _check_format(self, connection: Connection) -> None:
        table, described = _read_format(connection)
        if table is None:
            raise self._error("has lost the table toolkit_approvals; restore it from a copy, or make the store anew")
        if described == _FORMAT:
            return
        if str(described).startswith(_FORMAT.rpartition(" ")[0]):
            raise self._error(
                f"has {described}, and this version of toolkit reads format {_FORMAT.rpartition(' ')[2]}; update "
                "toolkit, or give another database"
            )
        raise self._error("has a table toolkit_approvals that is not one of approvals; give another database")

    def _error(self, problem: str) -> ApprovalError:
        return ApprovalError(f"the approvals in {self._connections.place}: the database {problem}", why="store")


def _find_row(connection: Connection, request_id: str, lock: str = "") -> Row | None:
    return connection.execute(f"{_SELECT} WHERE id = %s {lock}", (build_row_key(request_id),)).fetchone()


def _read_format(connection: Connection) -> tuple[Any, Any]:
    """Return the table, and what its comment says; each is None if there is none."""
    table, described = connection.execute(_READ_FORMAT).fetchall()[0]
    return table, described
