"""
The door to a journal: a URL that names its database.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from ..errors import DurableError
from .base import Journal
from .postgres_database import PostgresDatabase
from .sql_journal import SQLJournal
from .sqlite_database import SQLiteDatabase
from .statements import POSTGRES, SQLITE, Statements

__all__ = ["open_journal"]

_REMEDY = 'give "sqlite:///runs.sqlite", "sqlite:////absolute/path.sqlite" or "postgresql://user@host/database"'


def open_journal(database_url: str) -> Journal:
    """
    Open the journal in a database, and create its tables if there are none.

    Args:
        database_url: "sqlite:///runs.sqlite" for a file in the current folder, "sqlite:////srv/runs.sqlite" for a file
            with an absolute path, or "postgresql://user@host/database".

    Raises:
        DurableError: The URL names no such database, or the database cannot be used; `why` is "store".
    """
    scheme = database_url.partition(":")[0]
    if scheme == "sqlite":
        return _open_sqlite(database_url)
    if scheme.partition("+")[0].lower() in ("postgresql", "postgres"):
        statements = Statements(POSTGRES)
        return SQLJournal(PostgresDatabase(database_url, statements), statements)
    raise DurableError(f"{scheme!r} is no database for runs; {_REMEDY}", why="store")


def _open_sqlite(database_url: str) -> Journal:
    parts = urlsplit(database_url)
    path = database_url.removeprefix("sqlite:///")
    if not database_url.startswith("sqlite:///") or parts.query or parts.fragment or path in ("", ":memory:"):
        raise DurableError(f"{database_url!r} names no file for runs; {_REMEDY}", why="store")
    statements = Statements(SQLITE)
    return SQLJournal(SQLiteDatabase(path, statements), statements)
