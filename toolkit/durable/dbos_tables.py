"""
The tables of DBOS, made in one transaction.

DBOS makes its tables in a SQLite file one by one. A process that is killed in between would leave a file that no
process can use any more, and two processes that begin at once would stop each other. So the tables are made in a file
of their own first. Then one transaction copies them to the database, unless another process has done so. In PostgreSQL,
DBOS has a lock for this.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from dbos import DBOS

from .database_address import find_sqlite_path
from .dbos_clock import mend_clock

__all__ = ["prepare_tables"]

_TIMEOUT_SECONDS = 30.0
_HAS_TABLES = "SELECT 1 FROM sqlite_master WHERE name = 'dbos_migrations'"
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid"
_OTHERS = "SELECT sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL ORDER BY rowid"


def prepare_tables(url: str) -> None:
    """
    Make the tables of DBOS in the database at *url*, or bring those of an older version up to date.

    Raises:
        sqlite3.Error: The file cannot be used.
        SQLAlchemyError: The database cannot be used.
    """
    path = find_sqlite_path(url)
    if path is not None:
        mend_clock()
        with closing(sqlite3.connect(path, timeout=_TIMEOUT_SECONDS, isolation_level=None)) as connection:
            if connection.execute(_HAS_TABLES).fetchone() is None:
                _copy_tables(connection)
    DBOS.migrate(url)


def _copy_tables(connection: sqlite3.Connection) -> None:
    """Make the tables in a file of their own, and copy them in one transaction."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tables.sqlite")
        DBOS.migrate(f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as source:
            tables = dict(source.execute(_TABLES))
            others = [definition for (definition,) in source.execute(_OTHERS)]
            rows = {name: source.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}  # noqa: S608 -- names of DBOS
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute(_HAS_TABLES).fetchone() is None:
            for definition in tables.values():
                connection.execute(definition)
            for name, values in rows.items():
                for row in values:
                    marks = ", ".join("?" * len(row))
                    connection.execute(f'INSERT INTO "{name}" VALUES ({marks})', row)  # noqa: S608 -- as above
            for definition in others:
                connection.execute(definition)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
