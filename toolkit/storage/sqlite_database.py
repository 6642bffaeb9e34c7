"""
A SQLite file as a database.

Only its owner may read the file, because it holds the arguments of calls with their secrets. A connection is used by
one thread at a time, and is kept for the next one if the layout stays open. A forked child opens its own.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from .._plumbing.forks import renew_in_children
from .database import Database, Execute, Layout, SQLDialect
from .private_files import UnsafeFileError, check_private, make_private

__all__ = ["SQLiteDatabase"]

T = TypeVar("T")

_MAX_IDLE = 8
_MAX_CHECKED_BYTES = 32 * 1024 * 1024
_BUSY = "is busy: other processes have been writing for too long; {if_busy}"
_IF_DAMAGED = "restore it from a copy, or move it away"
_PROBLEMS = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full; make room",
    sqlite3.SQLITE_READONLY: "cannot be written; check it, its folder, and files beside it that have its name",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check its folder and the file system",
    sqlite3.SQLITE_IOERR: "cannot be read or written ({error}); check the disk",
    sqlite3.SQLITE_NOTADB: f"is not a SQLite file, or damaged; {_IF_DAMAGED}",
    sqlite3.SQLITE_CORRUPT: f"is damaged ({{error}}); {_IF_DAMAGED}",
    # Our statements are right, so the tables are not.
    sqlite3.SQLITE_ERROR: f"cannot be used: {{error}}; {_IF_DAMAGED}",
}
# A closed connection of the parent would end the locks of this child's own connections, and might delete the parent's
# log. So a child keeps what it inherits, and never uses it.
_inherited: list[sqlite3.Connection] = []


class SQLiteDatabase(Database):
    """
    The SQLite file at *path*, which is created with mode 0600 if it does not exist.

    Its folder has to exist, and no other user may be able to write there. The *timeout_seconds* are how long to wait
    while other processes write.
    """

    # A change has locked the whole file before it reads.
    dialect = SQLDialect(
        serial="INTEGER PRIMARY KEY AUTOINCREMENT",
        integer="INTEGER",
        real="REAL",
        binary="BLOB",
        lock_row="",
        share_row="",
        lock_text="SELECT ?",
    )
    _noun = "file"

    def __init__(
        self,
        path: str | os.PathLike[str],
        layout: Layout,
        *,
        timeout_seconds: float = 30.0,
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect,
    ) -> None:
        folder, name = os.path.split(os.path.abspath(path))
        self.path = os.path.join(os.path.realpath(folder), name)
        super().__init__(layout, repr(self.path))
        self._timeout = timeout_seconds
        self._connect = connect
        self._is_closed = False
        self._idle: list[sqlite3.Connection] = []
        self._busy: set[sqlite3.Connection] = set()
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        renew_in_children(self)
        with self._translate_errors():
            make_private(self.path)
            self._identity = _identify(self.path)
        try:
            self._open_tables()
        except BaseException:
            self.close()
            raise

    def renew_after_fork(self) -> None:
        """Forget the connections of the parent without closing them."""
        _inherited.extend([*self._idle, *self._busy])
        self._idle, self._busy = [], set()
        self._lock, self._write_lock = threading.Lock(), threading.Lock()

    def read(self, work: Callable[[Execute], T]) -> T:
        with self._use() as connection:
            return _transact(connection, "BEGIN", work)

    def change(self, work: Callable[[Execute], T], *, durable: bool = True) -> T:
        with self._use(durable=durable) as connection, self._write_in_turn():
            # The lock is taken before anything is read, so that no other process can write in between.
            return _transact(connection, "BEGIN IMMEDIATE", work)

    def change_once(self, statement: str, parameters: Sequence[Any], *, durable: bool = True) -> int:
        with self._use(durable=durable) as connection, self._write_in_turn():
            return connection.execute(statement, parameters).rowcount

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk. Others that write meanwhile wait."""
        with self._use() as connection, self._write_in_turn():
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close all connections. All that is done here afterwards raises."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        with self._translate_errors():
            for connection in idle:
                connection.close()

    @contextmanager
    def _write_in_turn(self) -> Iterator[None]:
        """Let the threads of this process wait in turn. SQLite itself would let them sleep and try again."""
        if not self._write_lock.acquire(timeout=min(max(self._timeout, 0), threading.TIMEOUT_MAX)):
            raise self.describe_error(_BUSY.format(if_busy=self.layout.if_busy))
        try:
            yield
        finally:
            self._write_lock.release()

    @contextmanager
    def _use(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        with self._translate_errors():
            connection = self._take()
            try:
                # If the journal is a file that is deleted, EXTRA makes sure that the deletion is on the disk, too.
                connection.execute("PRAGMA synchronous = EXTRA" if durable else "PRAGMA synchronous = NORMAL")
                yield connection
            except (sqlite3.Error, UnicodeDecodeError):
                # A connection that has failed may hold a part of a damaged file.
                self._drop(connection)
                raise
            except BaseException:
                self._give_back(connection)
                raise
            self._give_back(connection)

    def _take(self) -> sqlite3.Connection:
        if self.layout.stays_open:
            self._check_identity()
        with self._lock:
            if self._is_closed:
                raise self.describe_error("was closed; open it again")
            if self._idle:
                connection = self._idle.pop()
                self._busy.add(connection)
                return connection
        return self._open()

    def _check_identity(self) -> None:
        """Raise an error if the file is gone: an open connection would go on to write what no process finds again."""
        try:
            is_same = _identify(self.path) == self._identity
        except FileNotFoundError:
            raise self.describe_error("is gone since it was opened; move it back, or start the program again") from None
        if not is_same:
            raise self.describe_error("was replaced by another one since it was opened; start the program again")

    def _open(self) -> sqlite3.Connection:
        check_private(self.path)
        # The mode is `rw`, so that SQLite does not create the file: it would create one that all users can read.
        address = f"{Path(self.path).as_uri()}?mode=rw"
        connection = self._connect(
            address, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        self._busy.add(connection)
        try:
            # Deleted rows contained secrets.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA cell_size_check = ON")
        except BaseException:
            self._drop(connection)
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            self._busy.discard(connection)
            has_room = self.layout.stays_open and not self._is_closed and len(self._idle) < _MAX_IDLE
            is_kept = has_room and not connection.in_transaction
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()

    def _drop(self, connection: sqlite3.Connection) -> None:
        self._busy.discard(connection)
        connection.close()

    def _open_tables(self) -> None:
        """Create the tables if the file has none, and check that it is sound, and in a format that is known."""
        # The file of another program is left as it is. The mode of the log would be changed for good.
        self.read(self._has_tables)
        with self._use() as connection:
            # A journal that is deleted needs no shared memory.
            connection.execute(f"PRAGMA journal_mode = {'WAL' if self.layout.stays_open else 'DELETE'}")
            # A checksum tells that a row has changed, but not that a row is missing. In a large file this takes long.
            if os.path.getsize(self.path) <= _MAX_CHECKED_BYTES:
                (problem,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
                if problem != "ok":
                    raise self.describe_error(f"is damaged ({' '.join(problem.split())}); {_IF_DAMAGED}")
        self.change(self._prepare)

    def _has_tables(self, execute: Execute) -> bool:
        """Return whether the file has the tables; raise an error if it belongs to another program."""
        (application,) = execute("PRAGMA application_id", ()).fetchone()
        tables = {name for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'table'", ()).fetchall()}
        if self.layout.meta in tables:
            return True
        if application or (tables and self.layout.neighbour not in tables):
            raise self.describe_error(
                f"is a SQLite file, but not one of {self.layout.subject}, or one of an earlier version; "
                "give another path"
            )
        return False

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # The last byte of an extended error code is the plain code.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            problem = _PROBLEMS.get(code, "cannot be used: {error}").format(error=error, if_busy=self.layout.if_busy)
            raise self.describe_error(problem) from error
        except OSError as error:
            problem = f"cannot be used: {error.strerror or error}; check the path and its folder"
            raise self.describe_error(problem) from error
        except UnicodeDecodeError as error:
            # SQLite quotes the file in its messages, and damaged content need not be text.
            raise self.describe_error(f"is damaged; {_IF_DAMAGED}") from error
        except UnsafeFileError as error:
            raise self.describe_error(str(error)) from error


def _transact(connection: sqlite3.Connection, begin: str, work: Callable[[Execute], T]) -> T:
    connection.execute(begin)
    try:
        result = work(connection.execute)
        connection.execute("COMMIT")
    except BaseException:
        # After some errors SQLite has ended the transaction itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _identify(path: str) -> tuple[int, int]:
    """Return what tells the file at *path* from any other that may come to stand there."""
    status = os.lstat(path)
    return status.st_dev, status.st_ino
