"""
The tables of DBOS, made in one transaction, and its clock in an old SQLite.

DBOS makes its tables in a SQLite file one by one. A process that is killed in between would leave a file that no
process can use any more, and two processes that begin at once would stop each other. So the tables are made in a file
of their own first. Then one transaction copies them to the database, unless another process has done so. In PostgreSQL,
DBOS has a lock for this.

From Python 3.12 on, DBOS asks SQLite for `unixepoch('subsec')`, which SQLite has since version 3.42. An older one, such
as that of Debian 12, returns NULL, and DBOS can keep nothing. There, its connections get a function of this name.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from dbos import DBOS
from sqlalchemy import event
from sqlalchemy.engine import Engine

from .database_address import find_sqlite_path

__all__ = ["add_clock", "mend_clock", "prepare_tables"]

_TIMEOUT_SECONDS = 30.0
_SUBSECONDS = "subsec"
_HAS_TABLES = "SELECT 1 FROM sqlite_master WHERE name = 'dbos_migrations'"
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid"
_OTHERS = "SELECT sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL ORDER BY rowid"


def prepare_tables(url: str) -> None:
    """Make the tables of DBOS in the database at *url*, or bring those of an older version up to date."""
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


def mend_clock() -> None:
    """Give every connection to SQLite that SQLAlchemy opens from now on the clock that DBOS needs, if it has none."""
    if sys.version_info >= (3, 12) and not _has_subseconds() and not event.contains(Engine, "connect", add_clock):
        event.listen(Engine, "connect", add_clock)


def add_clock(connection: Any, record: object) -> None:
    """Give *connection* a function `unixepoch` that knows the word 'subsec'."""
    if isinstance(connection, sqlite3.Connection):
        connection.create_function("unixepoch", -1, _read_clock)


def _has_subseconds() -> bool:
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute(f"SELECT unixepoch('{_SUBSECONDS}')").fetchone()[0] is not None


def _read_clock(*words: Any) -> float | None:
    """Return what `unixepoch` returns, with the fraction of a second for 'subsec'."""
    if words == (_SUBSECONDS,):
        return time.time()
    with closing(sqlite3.connect(":memory:")) as connection:  # the function of SQLite itself
        marks = ", ".join("?" * len(words))
        seconds: float | None = connection.execute(f"SELECT unixepoch({marks})", words).fetchone()[0]
    return seconds
