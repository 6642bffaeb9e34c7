"""
The opening of a journal by the URL of its database.
"""

from __future__ import annotations

from ...storage.postgres_database import PostgresDatabase
from ...storage.sqlite_database import SQLiteDatabase
from ..database_address import find_sqlite_path
from ..errors import DurableError
from .run_journal import Journal
from .statements import RUNS

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
        path = find_sqlite_path(database_url)
        if path is None or "?" in path or "#" in path:
            raise DurableError(f"{database_url!r} names no file for runs; {_REMEDY}", why="store")
        return Journal(SQLiteDatabase(path, RUNS))
    if scheme.partition("+")[0].lower() in ("postgresql", "postgres"):
        try:
            return Journal(PostgresDatabase(database_url, RUNS))
        except ValueError as error:
            raise DurableError(str(error), why="store") from None
    raise DurableError(f"{scheme!r} is no database for runs; {_REMEDY}", why="store")
