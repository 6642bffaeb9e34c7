"""
A PostgreSQL database as the database of the journal.

Its tables are beside those of DBOS. Every change is on the disk of the server before it counts, unlike in a SQLite
file: a server that crashes does not end the processes that work on runs, so they must not be ahead of it. If the server
is away for a moment, the change is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ...storage.postgres_connections import PostgresConnections
from ..errors import DurableError
from .database import Database, Execute
from .statements import Statements
from .tables import check_meta, create_tables

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresDatabase"]

T = TypeVar("T")
Connection: TypeAlias = "psycopg.Connection[Any]"

_CREATION_LOCK = 0x746B726E  # "tkrn": processes that create the tables at the same time wait for each other


class PostgresDatabase(Database):
    """
    The PostgreSQL database at *url*.

    Args:
        url: The address of the database, `postgresql://user:password@host:port/name`.
        timeout_seconds: How long a server that is away is waited for, and a row that others have locked.

    Raises:
        DurableError: The database cannot be used, here or in any later call; `why` is "store".
    """

    def __init__(self, url: str, statements: Statements, *, timeout_seconds: float = 10.0) -> None:
        self._is_closed = False
        try:
            self._connections = PostgresConnections(
                url,
                timeout_seconds=timeout_seconds,
                subject="runs",
                error_class=DurableError,
                has_timeout_option=False,
                prepare_after=2,
            )
        except ValueError as error:
            raise DurableError(str(error), why="store") from None
        try:
            self.change(lambda execute: self._prepare(execute, statements))
        except BaseException:
            self.close()
            raise

    def read(self, work: Callable[[Execute], T]) -> T:
        """Return what *work* returns, which changes nothing."""
        return self._run(lambda connection: work(connection.execute), transaction=False)

    def change(self, work: Callable[[Execute], T], *, durable: bool = True) -> T:
        """Return what *work* returns, in one transaction."""
        return self._run(lambda connection: work(connection.execute), transaction=True)

    def change_once(
        self,
        statement: str,
        parameters: Sequence[Any],
        *,
        durable: bool = True,
    ) -> int:
        """Run one statement as one transaction, and return how many rows it has changed."""
        return self._run(lambda connection: connection.execute(statement, parameters).rowcount, transaction=False)

    def _run(self, work: Callable[[Connection], T], *, transaction: bool) -> T:
        if self._is_closed:
            raise self.describe_error("was closed; open the journal again")
        return self._connections.run(work, transaction=transaction)

    def compact(self) -> None:
        """Do nothing: the server itself gives the space of deleted rows to later ones."""

    def describe_error(self, problem: str) -> DurableError:
        """Return an error that names the database, and says what is wrong with it."""
        return DurableError(f"the runs in {self._connections.place}: the database {problem}", why="store")

    def close(self) -> None:
        """Close all connections. Those in use are closed when their transaction ends."""
        self._is_closed = True
        self._connections.close()

    def _prepare(self, execute: Execute, statements: Statements) -> None:
        """Create the tables if there are none, and check that they are in a format that is known."""
        if not _has_tables(execute):
            execute("SELECT pg_advisory_xact_lock(%s)", (_CREATION_LOCK,))
            if not _has_tables(execute):
                create_tables(execute, statements)
        check_meta(execute, statements, self.describe_error)


def _has_tables(execute: Execute) -> bool:
    (table,) = execute("SELECT to_regclass('toolkit_meta')", ()).fetchone()
    return table is not None
