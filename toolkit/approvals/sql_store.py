"""
Stores of approvals in a database, and the one in a SQLite file, which the processes of one machine can share.

A change is on the disk before a method returns, so that neither `kill -9` nor a power cut can undo it. The table holds
arguments with their secrets.

If a server goes away in the middle of a change, it is not known whether the change was made. So each change carries a
random text, and the next attempt recognises its own change by it.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable
from types import EllipsisType
from typing import Any, TypeAlias, TypeVar

from ..decisions import ApprovalRequest
from ..storage.database import Database, Execute, Layout
from ..storage.sqlite_database import SQLiteDatabase
from .records import ApprovalError, Record, dump_record, load_record
from .repeated_calls import is_current
from .store import ApprovalStoreBase, Change, is_pending

__all__ = ["APPROVALS", "SQLApprovals", "SQLiteApprovals"]

T = TypeVar("T")
Row: TypeAlias = tuple[Any, Any, Any, Any]

_log = logging.getLogger("toolkit")

APPROVALS = Layout(
    subject="approvals",
    tables="""
CREATE TABLE toolkit_approvals (
    number {serial}, id {binary} NOT NULL UNIQUE, state TEXT NOT NULL, created_at {real} NOT NULL, over_since {real},
    record TEXT NOT NULL, call {binary}, change_id {binary} NOT NULL
);
CREATE INDEX toolkit_approvals_by_state ON toolkit_approvals (state, created_at, number);
CREATE INDEX toolkit_approvals_by_call ON toolkit_approvals (call, number)
""",
    meta="toolkit_approvals_meta",
    application="toolkit approvals",
    version=2,
    error=ApprovalError,
    if_busy="try again, or raise timeout_seconds",
)
"""The tables of a store."""

_SELECT = "SELECT id, state, record, change_id FROM toolkit_approvals"
_INSERT = (
    "INSERT INTO toolkit_approvals (id, state, created_at, over_since, record, call, change_id)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
_UPDATE = "UPDATE toolkit_approvals SET state = ?, over_since = ?, record = ?, change_id = ? WHERE id = ?"
_ROW_REMEDY = "restore it from a copy, or move it away and ask again"


class SQLApprovals(ApprovalStoreBase):
    """A store whose rows are checked as they are read: others may have changed or damaged them."""

    blocking = True

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, record: Record) -> None:
        """Keep a pending record; raise `ValueError` if its id is already in the store."""
        change_id = secrets.token_bytes(16)
        self._write(lambda execute: self._add(execute, record, None, change_id))

    def add_call(self, record: Record, key: str | None, *, now: float, replaces: str | None = None) -> Record:
        """Keep *record* as the newest request of its call and return it, or return the record that counts for it."""
        change_id = secrets.token_bytes(16)

        def work(execute: Execute) -> Record:
            call = None if key is None else _build_row_key(key)
            if replaces is not None:
                row = execute("SELECT call FROM toolkit_approvals WHERE id = ?", (_build_row_key(replaces),)).fetchone()
                call = None if row is None else row[0]
            elif call is not None:
                # Of two callers that ask about the same call, the second waits until the first has its request.
                execute(self._database.dialect.lock_text, (call.hex(),))
                newest = _find_call_row(execute, call)
                known = None if newest is None or newest[3] == change_id else self._read_row(newest)
                if known is not None and is_current(known, now):
                    return known
            self._add(execute, record, call, change_id)
            return record

        return self._write(work)

    def find_call(self, key: str) -> Record | None:
        """Return the newest record that was added for the call with this *key*; return None if there is none."""
        row = self._read(lambda execute: _find_call_row(execute, _build_row_key(key)))
        return None if row is None else self._read_row(row)

    def get(self, request_id: str) -> Record | None:
        """Return the present record with exactly this id; return None if there is none."""
        row = self._read(lambda execute: _find_row(execute, request_id))
        return None if row is None else self._read_row(row)

    def pending(
        self,
        *,
        session: str | EllipsisType | None = ...,
        principal: str | EllipsisType | None = ...,
        now: float | None = None,
    ) -> list[ApprovalRequest]:
        """
        Return the requests that can still be answered *now*, the oldest first.

        A record with a wrong signature is logged and left out.
        """
        now = time.time() if now is None else now
        statement = f"{_SELECT} WHERE state = 'pending' ORDER BY created_at, number"
        records = self._read_list(self._read(lambda execute: execute(statement, ()).fetchall()))
        return [record.request for record in records if is_pending(record, session, principal, now)]

    def purge(self, *, before: float, sessions: Collection[str] | None = None) -> int:
        """
        Delete the records that were denied, done or expired *before* that time, and return how many.

        With *sessions*, only records of these sessions are deleted. A server keeps the bytes of what is deleted on
        its disk until it vacuums the table.
        """
        delete = "DELETE FROM toolkit_approvals WHERE over_since < ?"

        def work(execute: Execute) -> int:
            if sessions is None:
                return execute(delete, (before,)).rowcount
            records = self._read_list(execute(f"{_SELECT} WHERE over_since < ?", (before,)).fetchall())
            ids = [record.request.id for record in records if record.request.session in sessions]
            return sum(execute(f"{delete} AND id = ?", (before, _build_row_key(name))).rowcount for name in ids)

        return self._write(work)

    def _change(self, request_id: str, change: Change) -> bool:
        change_id, changes = secrets.token_bytes(16), list[Record]()

        def work(execute: Execute) -> bool:
            row = _find_row(execute, request_id, self._database.dialect.lock_row)
            if row is not None and row[3] == change_id:
                return True  # The attempt before has changed it, and the server went away before it could say so.
            changed = None if row is None else change(self._read_row(row))
            if changed is None:
                return False
            changes[:] = [changed]
            text = dump_record(self._sign(changed))
            execute(_UPDATE, (changed.state, changed.over_since(), text, change_id, _build_row_key(request_id)))
            return True

        is_changed = self._write(work)
        if is_changed and self._seal is not None:
            self._seal.remember(changes[0])
        return is_changed

    def _add(self, execute: Execute, record: Record, call: bytes | None, change_id: bytes) -> None:
        name = record.request.id
        if record.state != "pending":
            raise ValueError(f"only a pending request can be added; this one is {record.state}")
        text, over_since = dump_record(self._sign(record)), record.over_since()
        row = (_build_row_key(name), record.state, record.request.created_at, over_since, text, call, change_id)
        if execute(_INSERT, row).rowcount:
            return
        known = _find_row(execute, name)
        if known is not None and known[3] != change_id:
            self._read_row(known)
            raise ValueError(f"there is a request {name!r} already")

    def _read(self, work: Callable[[Execute], T]) -> T:
        return self._database.read(lambda execute: self._check_and_do(execute, work))

    def _write(self, work: Callable[[Execute], T]) -> T:
        return self._database.change(lambda execute: self._check_and_do(execute, work))

    def _check_and_do(self, execute: Execute, work: Callable[[Execute], T]) -> T:
        # A store is open for as long as its program runs, and another version may come meanwhile.
        self._database.check_format(execute)
        return work(execute)

    def _read_row(self, row: Row) -> Record:
        key, state, text, _ = row
        try:
            record = load_record(text)
        except ValueError as error:
            problem = f"holds a record that cannot be read ({error}); {_ROW_REMEDY}"
            raise self._database.describe_error(problem) from error
        if _build_row_key(record.request.id) != key:
            raise self._database.describe_error(f"holds a record under another's id; {_ROW_REMEDY}")
        if record.state != state:
            raise self._database.describe_error(f"holds a record in another state than its own; {_ROW_REMEDY}")
        return self._verify(record)

    def _read_list(self, rows: Iterable[Row]) -> Iterable[Record]:
        """Yield the records of *rows*. One that others wrote is left out, so that it does not hide the others."""
        for row in rows:
            try:
                yield self._read_row(row)
            except ApprovalError as error:
                if error.why != "forged":
                    raise
                _log.warning("a record is left out: %s", error)


class SQLiteApprovals(SQLApprovals):
    """
    A store that keeps approvals in the file at *path*, which is created with mode 0600 if it does not exist.

    The file is opened for each operation, so the caller has nothing to close.

    Args:
        path: The path of the file. Safety checks keep tools away from a file that is named `*.approvals.sqlite`.
            Its folder has to exist, and no other user may be able to write there.
        timeout_seconds: How long to wait while other processes write.

    Raises:
        ApprovalError: The file cannot be used, here or in any later call; `why` is "store".
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout_seconds: float = 10.0) -> None:
        database = SQLiteDatabase(path, APPROVALS, timeout_seconds=timeout_seconds)
        super().__init__(database)
        self._path = database.path

    @property
    def path(self) -> str:
        """The path of the file in which the approvals are kept."""
        return self._path


def _build_row_key(text: str) -> bytes:
    """Return the key of a row: bytes, so that ids are compared exactly and any text can be looked up."""
    return text.encode(errors="surrogatepass")


def _find_row(execute: Execute, request_id: str, lock: str = "") -> Row | None:
    row: Row | None = execute(f"{_SELECT} WHERE id = ?{lock}", (_build_row_key(request_id),)).fetchone()
    return row


def _find_call_row(execute: Execute, call: bytes) -> Row | None:
    row: Row | None = execute(f"{_SELECT} WHERE call = ? ORDER BY number DESC LIMIT 1", (call,)).fetchone()
    return row
