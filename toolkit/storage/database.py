"""
A database as its users see it: transactions, tables in one format, and one kind of error.

    database = SQLiteDatabase(path, RUNS)
    database.change(lambda execute: execute("DELETE FROM toolkit_runs WHERE number = ?", (3,)))

What uses a database consists of a `Layout`, statements and rows. A parameter is written `?`. The few words in which the
databases differ are in `SQLDialect`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from ..errors import ToolkitError

__all__ = ["Database", "Execute", "Layout", "Rows", "SQLDialect"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SQLDialect:
    """
    The words in which a database differs.

    Attributes:
        serial: The type of a column with the numbers of the rows, in the order in which they were added.
        integer, real, binary: The types of columns of 64-bit integers, 64-bit floats and bytes.
        lock_row: What makes a statement wait until no other process changes the row, and keeps them from it.
        share_row: What does the same, and lets other processes do it too.
        lock_text: The statement that keeps other transactions from doing what they too have locked by the same text.
    """

    serial: str
    integer: str
    real: str
    binary: str
    lock_row: str
    share_row: str
    lock_text: str

    def adapt(self, statement: str, **parts: str) -> str:
        """Return *statement* with the words of this dialect, and with *parts*, in its braces."""
        return statement.format_map({**asdict(self), **parts})


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """
    The tables of one subject, and how programs use them.

    Attributes:
        subject: What the tables hold, for messages: "runs".
        tables: The statements that create the tables, with a semicolon between them.
        meta: The name of the table that says which application has made the tables, and in which format.
        application: The name of the application in that table.
        version: The format of the tables. It goes up when an earlier version of toolkit could not read them any more.
        error: The class of the errors, which takes a message and `why="store"`.
        stays_open: Whether programs use the database all the time, and close it. Then the connections to a file and
            the plans of statements are kept. Otherwise a file is opened for each transaction, and has no other file
            beside it in between. A pooler in front of a server need not know plans.
        if_busy: What a caller can do if others hold the database for too long.
        neighbour: A table of another program that may be in the same file.
    """

    subject: str
    tables: str
    meta: str
    application: str
    version: int
    error: Callable[..., ToolkitError]
    stays_open: bool = False
    if_busy: str = "try again"
    neighbour: str = ""


class Database(ABC):
    """
    A database with the tables of a layout. Every method raises the error of the layout if it cannot be used.

    A database that is away for a moment is tried again. Then a transaction may be done a second time although the first
    one was committed, and only its confirmation was lost. So what is done here tells its own rows from others'. The
    *place* says where the database is, for people.
    """

    dialect: ClassVar[SQLDialect]
    _noun: ClassVar[str]

    def __init__(self, layout: Layout, place: str) -> None:
        self.layout = layout
        self.place = place

    @abstractmethod
    def read(self, work: Callable[[Execute], T]) -> T:
        """
        Return what *work* returns, which changes nothing.

        Its statements may see different states of the database. So what must not change in between is read by one.
        """

    @abstractmethod
    def change(self, work: Callable[[Execute], T], *, durable: bool = True) -> T:
        """
        Return what *work* returns, in one transaction. If it raises, nothing is changed.

        Args:
            durable: Whether the change has to survive a power cut once this returns. Otherwise a power cut may undo it
                together with every later change, and never without them. A server makes every change durable: if it
                crashes, the processes that use it go on, and must not be ahead of it.
        """

    @abstractmethod
    def change_once(self, statement: str, parameters: Sequence[Any], *, durable: bool = True) -> int:
        """Run one statement as one transaction, and return how many rows it has changed."""

    @abstractmethod
    def compact(self) -> None:
        """Give the space of deleted rows back to the disk, if the database does not do so by itself."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections; those in use are closed when their transaction ends."""

    @abstractmethod
    def _has_tables(self, execute: Execute) -> bool:
        """Return whether the database has the tables; raise an error if they must not be made there."""

    def describe_error(self, problem: str) -> ToolkitError:
        """Return an error that names the database, and says what is wrong with it: "is damaged; ..."."""
        return self.layout.error(f"the {self.layout.subject} in {self.place}: the {self._noun} {problem}", why="store")

    def check_format(self, execute: Execute) -> None:
        """Raise an error unless the tables are those of the layout, in the format that this version reads."""
        layout = self.layout
        meta = dict(execute(f"SELECT name, value FROM {layout.meta}", ()).fetchall())  # noqa: S608 -- a name of ours
        if meta.get("application") != layout.application:
            raise self.describe_error(
                "has tables of another application under the names of this one; give another database"
            )
        if meta.get("format") != str(layout.version):
            raise self.describe_error(
                f"has format {meta.get('format')}, and this version of toolkit reads format {layout.version}; "
                "update toolkit, or give another database"
            )

    def _prepare(self, execute: Execute) -> None:
        """Create the tables if there are none, and check their format."""
        meta = self.layout.meta
        # Of two processes that create the tables at once, the second waits here until they are there. It must not look
        # for them before: PostgreSQL would remember that they are missing.
        execute(self.dialect.lock_text, (meta,))
        if not self._has_tables(execute):
            execute(f"CREATE TABLE {meta} (name TEXT PRIMARY KEY, value TEXT NOT NULL)", ())
            for statement in self.dialect.adapt(self.layout.tables).split(";"):
                execute(statement, ())
            for row in (("application", self.layout.application), ("format", str(self.layout.version))):
                execute(f"INSERT INTO {meta} (name, value) VALUES (?, ?)", row)  # noqa: S608 -- as above
        self.check_format(execute)
