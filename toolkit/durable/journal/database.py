"""
A database as the journal uses it: transactions, and one kind of error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from ..errors import DurableError

__all__ = ["Database", "Execute", "Rows"]

T = TypeVar("T")


class Rows(Protocol):
    """What a statement has returned."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement has added, changed or deleted."""

    def fetchone(self) -> Any:
        """Return the next row; None if there is none."""

    def fetchall(self) -> list[Any]:
        """Return the rows that are left."""


Execute: TypeAlias = Callable[[str, Sequence[Any]], Rows]
"""Runs a statement with its parameters, within a transaction."""


class Database(Protocol):
    """
    A database. Every method raises `DurableError` with `why="store"` if the database cannot be used.

    A database that is away for a moment is tried again. Then a transaction may be done a second time although the first
    one was committed, and only its confirmation was lost. So all that is done here tells its own rows from others'.
    """

    def read(self, work: Callable[[Execute], T]) -> T:
        """
        Return what *work* returns, which changes nothing.

        Its statements may see different states of the database. So what must not change in between is read by one.
        """

    def change(self, work: Callable[[Execute], T], *, durable: bool = True) -> T:
        """
        Return what *work* returns, in one transaction. If it raises, nothing is changed.

        Args:
            durable: Whether the change has to survive a power cut once this returns. Otherwise a power cut may undo it
                together with every later change, and never without them.
        """

    def change_once(self, statement: str, parameters: Sequence[Any], *, durable: bool = True) -> int:
        """Run one statement as one transaction, and return how many rows it has changed."""

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk, if the database does not do so by itself."""

    def describe_error(self, problem: str) -> DurableError:
        """Return an error that names the database, and says what is wrong with it."""

    def close(self) -> None:
        """Close all connections. All that is done here afterwards raises."""
