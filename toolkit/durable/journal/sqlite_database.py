"""
A SQLite file as the database of the journal.

The file is in WAL mode, and it holds the tables of DBOS as well. Only its owner may read it, because it holds the
arguments of calls with their secrets. A connection is used by one thread at a time, and is kept for the next one. A
forked child opens connections of its own.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ..._plumbing.forks import renew_in_children
from ...storage.private_files import check_private, make_private
from ...storage.sqlite_errors import FILE_ERRORS, explain_file_error
from ..errors import DurableError
from .database import Database, Execute
from .statements import Statements
from .tables import check_meta, create_tables

__all__ = ["SQLiteDatabase"]

T = TypeVar("T")

_MAX_IDLE = 8
_MAX_CHECKED_BYTES = 32 * 1024 * 1024
_IF_DAMAGED = "restore it from a copy, or move it away"
# A closed connection of the parent would end the locks of this child's own connections, and might delete the parent's
# log. So a child keeps what it inherits, and never uses it.
_inherited: list[sqlite3.Connection] = []


class SQLiteDatabase(Database):
    """
    The SQLite file at *path*, which is created with mode 0600 if it does not exist.

    Args:
        path: The path of the file. Its folder has to exist, and no other user may be able to write there.
        timeout_seconds: How long to wait while other processes write.
        connect: The function that opens a connection.

    Raises:
        DurableError: The file cannot be used, here or in any later call; `why` is "store".
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        statements: Statements,
        *,
        timeout_seconds: float = 30.0,
        connect: Callable[..., sqlite3.Connection] = sqlite3.connect,
    ) -> None:
        folder, name = os.path.split(os.path.abspath(path))
        self._path = os.path.join(os.path.realpath(folder), name)
        self._timeout = timeout_seconds
        self._connect = connect
        self._is_closed = False
        self._idle: list[sqlite3.Connection] = []
        self._busy: set[sqlite3.Connection] = set()
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        renew_in_children(self)
        with self._translate_errors():
            make_private(self._path)
            self._identity = _identify(self._path)
        try:
            self._prepare(statements)
        except BaseException:
            self.close()
            raise

    def renew_after_fork(self) -> None:
        """Forget the connections of the parent without closing them."""
        _inherited.extend([*self._idle, *self._busy])
        self._idle, self._busy = [], set()
        self._lock, self._write_lock = threading.Lock(), threading.Lock()

    def read(self, work: Callable[[Execute], T]) -> T:
        """Return what *work* returns, which changes nothing."""
        with self._use() as connection:
            return self._transact(connection, "BEGIN", work)

    def change(self, work: Callable[[Execute], T], *, durable: bool = True) -> T:
        """Return what *work* returns, in one transaction."""
        # The threads of this process wait here in turn. SQLite itself would let them sleep and try again.
        with self._use(durable=durable) as connection, self._write_lock:
            # The lock is taken before anything is read, so that no other process can write in between.
            return self._transact(connection, "BEGIN IMMEDIATE", work)

    def change_once(self, statement: str, parameters: Sequence[Any], *, durable: bool = True) -> int:
        """Run one statement as one transaction, and return how many rows it has changed."""
        with self._use(durable=durable) as connection, self._write_lock:
            return connection.execute(statement, parameters).rowcount

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk. Others that write meanwhile wait."""
        with self._use() as connection, self._write_lock:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def describe_error(self, problem: str) -> DurableError:
        """Return an error that names the file, and says what is wrong with it."""
        return DurableError(f"the runs in {self._path!r}: the file {problem}", why="store")

    def close(self) -> None:
        """Close all connections. Those in use are closed when their transaction ends."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        with self._translate_errors():
            for connection in idle:
                connection.close()

    def _transact(self, connection: sqlite3.Connection, begin: str, work: Callable[[Execute], T]) -> T:
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

    @contextmanager
    def _use(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        with self._translate_errors():
            self._check_identity()
            connection = self._take()
            try:
                connection.execute("PRAGMA synchronous = FULL" if durable else "PRAGMA synchronous = NORMAL")
                yield connection
            except (sqlite3.Error, UnicodeDecodeError):
                # A connection that has failed may hold a part of a damaged file.
                self._drop(connection)
                raise
            except BaseException:
                self._give_back(connection)
                raise
            self._give_back(connection)

    def _check_identity(self) -> None:
        """Raise `DurableError` if the file is gone: an open connection would go on to write what nobody finds again."""
        try:
            is_same = _identify(self._path) == self._identity
        except FileNotFoundError:
            raise self.describe_error("is gone since it was opened; move it back, or start the program again") from None
        if not is_same:
            raise self.describe_error("was replaced by another one since it was opened; start the program again")

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._is_closed:
                raise self.describe_error("was closed; open the journal again")
            if self._idle:
                connection = self._idle.pop()
                self._busy.add(connection)
                return connection
        return self._open()

    def _open(self) -> sqlite3.Connection:
        check_private(self._path)
        # The mode is `rw`, so that SQLite does not create the file: it would create one that all users can read.
        address = f"{Path(self._path).as_uri()}?mode=rw"
        connection = self._connect(
            address, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        self._busy.add(connection)
        try:
            # Deleted runs contained secrets.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA cell_size_check = ON")
        except BaseException:
            self._drop(connection)
            raise
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            self._busy.discard(connection)
            is_kept = not self._is_closed and len(self._idle) < _MAX_IDLE and not connection.in_transaction
            if is_kept:
                self._idle.append(connection)
        if not is_kept:
            connection.close()

    def _drop(self, connection: sqlite3.Connection) -> None:
        self._busy.discard(connection)
        connection.close()

    def _prepare(self, statements: Statements) -> None:
        """Create the tables if the file has none, and check that it is a file of runs in a format that is known."""

        def work(execute: Execute) -> None:
            if not self._has_tables(execute):
                create_tables(execute, statements)
            check_meta(execute, statements, self.describe_error)

        # The file of another program is left as it is. The mode of the log would be changed for good.
        self.read(self._has_tables)
        with self._use() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            # A checksum tells that a row has changed, but not that a row is missing. In a large file this takes long.
            if os.path.getsize(self._path) <= _MAX_CHECKED_BYTES:
                (problem,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
                if problem != "ok":
                    raise self.describe_error(f"is damaged ({' '.join(problem.split())}); {_IF_DAMAGED}")
        self.change(work)

    def _has_tables(self, execute: Execute) -> bool:
        """Return whether the file has the tables of runs; raise `DurableError` if it belongs to another program."""
        (application,) = execute("PRAGMA application_id", ()).fetchone()
        tables = {name for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'table'", ()).fetchall()}
        if "toolkit_meta" in tables:
            return True
        if application or (tables and "dbos_migrations" not in tables):
            raise self.describe_error("is a SQLite file, but not one of runs; give another path")
        return False

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except FILE_ERRORS as error:
            problem = explain_file_error(error, if_busy="try again", if_damaged=_IF_DAMAGED)
            raise self.describe_error(problem) from error


def _identify(path: str) -> tuple[int, int]:
    """Return what tells the file at *path* from any other that may come to stand there."""
    status = os.lstat(path)
    return status.st_dev, status.st_ino
