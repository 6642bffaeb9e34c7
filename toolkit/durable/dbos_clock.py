"""
The clock of DBOS in an old SQLite.

From Python 3.12 on, DBOS asks SQLite for `unixepoch('subsec')`, which SQLite has since version 3.42. An older one, such
as that of Debian 12, returns NULL, and DBOS can keep nothing. There, its connections get a function of this name.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import closing
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

__all__ = ["add_clock", "mend_clock"]

_SUBSECONDS = "subsec"


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
