"""
A store of approvals in one SQLite file, which several processes can share and which outlives them.

Each method opens the file, does its work in one transaction and closes the file again. So no thread holds a
connection, no fork inherits one, and the caller has nothing to close. A change is on the disk before the method
returns, so that neither `kill -9` nor a power cut can undo it. The file holds arguments with their secrets. So only
its owner may read it, and its folder has to be one where only its owner can write.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..storage.private_files import check_private, make_private
from ..storage.sqlite_errors import FILE_ERRORS, explain_file_error
from .records import ApprovalError, Record, dump_record
from .repeated_calls import is_current
from .store import Change
from .stored_rows import StoredRows, build_row_key, check_is_new

__all__ = ["SQLiteApprovals"]

_FORMAT_VERSION = 1
_APPLICATION_ID = 0x746B6170  # "tkap": tells a file of this store from any other SQLite file
_SCHEMA = f"""
CREATE TABLE approvals (
    id BLOB PRIMARY KEY,
    state TEXT NOT NULL,
    created_at REAL NOT NULL,
    over_since REAL,
    record TEXT NOT NULL,
    call TEXT
);
CREATE INDEX approvals_by_state ON approvals (state, created_at);
CREATE INDEX approvals_by_call ON approvals (call);
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_FORMAT_VERSION};
"""
# A file from an earlier version has no column for the call. That version can still use the file afterwards.
_ADD_CALLS = "ALTER TABLE approvals ADD COLUMN call TEXT; CREATE INDEX approvals_by_call ON approvals (call)"
_SETTINGS = (
    # A journal that is deleted needs no shared memory. EXTRA makes sure that the deletion is on the disk, too.
    "PRAGMA journal_mode = DELETE",
    "PRAGMA synchronous = EXTRA",
    # Deleted records contained secrets.
    "PRAGMA secure_delete = ON",
)


class SQLiteApprovals(StoredRows):
    """
    A store that keeps approvals in the file at *path*, which is created with mode 0600 if it does not exist.

    Args:
        path: The path of the file. Safety checks keep tools away from a file that is named `*.approvals.sqlite`.
            Its folder has to exist, and no other user may be able to write there.
        timeout_seconds: How long to wait while other processes write.

    Raises:
        ApprovalError: The file cannot be used, here or in any later call; `why` is "store".
    """

    blocking = True

    def __init__(self, path: str | os.PathLike[str], *, timeout_seconds: float = 10.0) -> None:
        folder, name = os.path.split(os.path.abspath(path))
        self._path = os.path.join(os.path.realpath(folder), name)
        self._timeout = timeout_seconds
        with self._translate_errors():
            make_private(self._path)
        with self._open(change=True, create=True):
            pass

    @property
    def path(self) -> str:
        """The path of the file in which the approvals are kept."""
        return self._path

    def add(self, record: Record) -> None:
        """Keep a pending record; raise `ValueError` if its id is already in the store."""
        with self._open(change=True) as connection:
            self._add(connection, record)

    def add_call(self, record: Record, key: str | None, *, now: float, replaces: str | None = None) -> Record:
        """Keep *record* as the newest request of its call and return it, or return the record that counts for it."""
        with self._open(change=True) as connection:
            if replaces is not None:
                row = connection.execute(
                    "SELECT call FROM approvals WHERE id = ?", (build_row_key(replaces),)
                ).fetchone()
                key = None if row is None else row[0]
            else:
                known = self._read_call(connection, key)
                if known is not None and is_current(known, now):
                    return known
            self._add(connection, record)
            connection.execute("UPDATE approvals SET call = ? WHERE id = ?", (key, build_row_key(record.request.id)))
        return record

    def find_call(self, key: str) -> Record | None:
        """Return the newest record that was added for the call with this *key*; return None if there is none."""
        with self._open() as connection:
            has_calls = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'approvals_by_call'").fetchone()
            return self._read_call(connection, key) if has_calls else None

    def _add(self, connection: sqlite3.Connection, record: Record) -> None:
        check_is_new(record, self._read(connection, record.request.id))
        _write(connection, self._sign(record))

    def _read_call(self, connection: sqlite3.Connection, key: str | None) -> Record | None:
        row = connection.execute(
            "SELECT id, state, record FROM approvals WHERE call = ? ORDER BY rowid DESC LIMIT 1", (key,)
        ).fetchone()
        return None if row is None else self._read_row(*row)

    def get(self, request_id: str) -> Record | None:
        """Return the present record with exactly this id; return None if there is none."""
        with self._open() as connection:
            return self._read(connection, request_id)

    def _find_pending_rows(self) -> Iterable[tuple[Any, Any, Any]]:
        with self._open() as connection:
            return connection.execute(
                "SELECT id, state, record FROM approvals WHERE state = 'pending' ORDER BY created_at, rowid"
            ).fetchall()

    def purge(self, *, before: float, sessions: Collection[str] | None = None) -> int:
        """
        Delete the records that were denied, done or expired *before* that time, and return how many.

        With *sessions*, only records of these sessions are deleted.
        """
        with self._open(change=True) as connection:
            if sessions is None:
                return connection.execute("DELETE FROM approvals WHERE over_since < ?", (before,)).rowcount
            rows = connection.execute("SELECT id, state, record FROM approvals WHERE over_since < ?", (before,))
            keys = self._select_keys(rows.fetchall(), sessions)
            connection.executemany("DELETE FROM approvals WHERE id = ?", [(key,) for key in keys])
            return len(keys)

    def _change(self, request_id: str, change: Change) -> bool:
        with self._open(change=True) as connection:
            record = self._read(connection, request_id)
            changed = None if record is None else change(record)
            if changed is not None:
                _write(connection, self._sign(changed))
        if changed is not None:
            self._remember(changed)
        return changed is not None

    @contextmanager
    def _open(self, *, change: bool = False, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction. The transaction has no effect if the block is left by an exception."""
        with self._translate_errors():
            check_private(self._path)
            # The mode is `rw`, so that SQLite does not create the file: it would create one that all users can read.
            address = f"{Path(self._path).as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, uri=True, timeout=self._timeout, isolation_level=None)) as connection:
                for setting in _SETTINGS:
                    connection.execute(setting)
                # A change takes the lock before it reads, so that no other process can write in between.
                connection.execute("BEGIN IMMEDIATE" if change else "BEGIN")
                self._check_format(connection, change=change, create=create)
                yield connection
                connection.execute("COMMIT")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except FILE_ERRORS as error:
            raise self._error(explain_file_error(error, if_busy=_IF_BUSY, if_damaged=_IF_DAMAGED)) from error

    def _check_format(self, connection: sqlite3.Connection, *, change: bool, create: bool) -> None:
        application, version, object_count, has_calls = connection.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master),"
            " (SELECT count(*) FROM sqlite_master WHERE name = 'approvals_by_call')"
            " FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if create and (application, version, object_count) == (0, 0, 0):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
        elif application != _APPLICATION_ID:
            raise self._error("is a SQLite file, but not one of approvals; give another path")
        elif version != _FORMAT_VERSION:
            raise self._error(
                f"has format {version}, and this version of toolkit reads format {_FORMAT_VERSION}; "
                "update toolkit, or give another path"
            )
        elif change and not has_calls:
            for statement in _ADD_CALLS.split(";"):
                connection.execute(statement)

    def _read(self, connection: sqlite3.Connection, request_id: str) -> Record | None:
        name = (build_row_key(request_id),)
        row = connection.execute("SELECT id, state, record FROM approvals WHERE id = ?", name).fetchone()
        return None if row is None else self._read_row(*row)

    def _error(self, problem: str) -> ApprovalError:
        return ApprovalError(f"the approvals in {self._path!r}: the file {problem}", why="store")


_IF_BUSY = "try again, or raise timeout_seconds"
_IF_DAMAGED = "restore it from a copy, or move it away and ask again"


def _write(connection: sqlite3.Connection, record: Record) -> None:
    connection.execute(
        "INSERT INTO approvals (id, state, created_at, over_since, record) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET state = excluded.state, over_since = excluded.over_since,"
        " record = excluded.record",
        (
            build_row_key(record.request.id),
            record.state,
            record.request.created_at,
            record.over_since(),
            dump_record(record),
        ),
    )
