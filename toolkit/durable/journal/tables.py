"""
The tables of the journal: their creation, and the check of their format.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import DurableError
from .database import Execute
from .statements import FORMAT_VERSION, Statements

__all__ = ["check_meta", "create_tables"]

_APPLICATION = "toolkit journal"


def create_tables(execute: Execute, statements: Statements) -> None:
    """Create all tables, in the transaction of *execute*."""
    for statement in statements.schema:
        execute(statement, ())
    execute(statements.add_meta, ("application", _APPLICATION))
    execute(statements.add_meta, ("format", str(FORMAT_VERSION)))


def check_meta(execute: Execute, statements: Statements, describe_error: Callable[[str], DurableError]) -> None:
    """Raise `DurableError` unless the tables are those of a journal, in a format that this version reads."""
    meta = dict(execute(statements.read_meta, ()).fetchall())
    if meta.get("application") != _APPLICATION:
        raise describe_error("has tables of another application under the names of this one; give another database")
    if meta.get("format") != str(FORMAT_VERSION):
        raise describe_error(
            f"has format {meta.get('format')}, and this version of toolkit reads format {FORMAT_VERSION}; "
            "update toolkit, or give another database"
        )
