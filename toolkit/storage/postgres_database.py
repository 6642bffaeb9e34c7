"""
A database on a PostgreSQL server, which may be away for a while.

Each thread that works with the database has a connection to itself meanwhile; afterwards it is kept for the next one.
A forked child drops the connections of its parent without a word to the server, and opens its own. If the server goes
away, the work is done again on a new connection until the server is back or the time is over.
"""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .._plumbing.distribution import install_hint
from .._plumbing.forks import renew_in_children
from .._plumbing.wording import format_seconds
from ..errors import ToolkitError
from .database import Database, Execute, Layout, SQLDialect

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresDatabase", "describe_place", "drop_inherited", "import_psycopg", "parse_address"]

T = TypeVar("T")
Connection: TypeAlias = "psycopg.Connection[Any]"

_MAX_IDLE = 8
_SHORTEST_MASKED = 4
_LONGEST_PAUSE_SECONDS = 0.5
_IDLE_TRANSACTION_SECONDS = 30
# A network that swallows everything is noticed after about 15 seconds.
_DEFAULTS: dict[str, str | int] = {
    "client_encoding": "UTF8",
    "keepalives_idle": 5,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_SCHEME = re.compile(r"postgres(ql)?(\+[a-z0-9_]+)?://", re.IGNORECASE)

# At the start of a connection the server gives no code, only a text.
_REFUSED_STARTS: tuple[tuple[str, str], ...] = (
    ("password authentication failed", "check the user and the password in the address"),
    ("no password supplied", "give the password in the address, or in ~/.pgpass"),
    ("is not permitted to log in", "give another user, or let the user log in with ALTER ROLE ... LOGIN"),
    ("no pg_hba.conf entry", "let the user in from this machine, in pg_hba.conf of the server"),
    ("permission denied for database", "let the user in with GRANT CONNECT ON DATABASE"),
    ("does not exist", "create it, or give another address"),
    ("does not support SSL", "give sslmode=prefer in the address, or turn on SSL on the server"),
    ("certificate verify failed", "give sslrootcert in the address"),
)
_RETRIED_STATES = frozenset(
    # The server shuts down, has crashed or starts; two transactions were in each other's way; a process that was
    # frozen in a transaction has lost it; the server has no connection left.
    ("57P01", "57P02", "57P03", "57P05", "40001", "40P01", "25P03", "53300")
)
_PROBLEMS: dict[str, str] = {
    "42501": "does not let the user do this ({}); have its owner GRANT SELECT, INSERT, UPDATE, DELETE on the table, "
    "or CREATE on the schema if the table is to be made",
    "25006": "is read-only: it is a standby, or default_transaction_read_only is set; give the address of the primary",
    "42P01": "has lost the table ({}); restore it from a copy, or start the program again",
    "42P07": "has a table of another application, or of an earlier version ({}); give another database",
    "42703": "has another table of the same name ({}); give another database",
    "53100": "cannot write: its disk is full; make room",
    "55P03": "is busy: others have held the same rows for too long; {if_busy}",
}


def import_psycopg() -> Any:
    """Return the module psycopg; raise `ToolkitError`, which says what to install, if it is missing."""
    try:
        import psycopg
    except ImportError:
        hint = install_hint("durable")
        raise ToolkitError(f"PostgreSQL cannot be used without the extra `durable`; {hint}") from None
    return psycopg


class PostgresDatabase(Database):
    """
    The PostgreSQL database at *url*, `postgresql://user:password@host:port/name`.

    The *timeout_seconds* are how long a server that is away is waited for, and a row that others have locked. An
    address that cannot be read is a `ValueError`.
    """

    dialect = SQLDialect(
        serial="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        integer="BIGINT",
        real="DOUBLE PRECISION",
        binary="BYTEA",
        lock_row=" FOR UPDATE",
        # Not FOR KEY SHARE: an activation changes no key, and would not wait for it.
        share_row=" FOR SHARE",
        lock_text="SELECT pg_advisory_xact_lock(hashtextextended(?, 0))",
    )
    _noun = "database"

    def __init__(self, url: str, layout: Layout, *, timeout_seconds: float = 10.0) -> None:
        self._psycopg = import_psycopg()
        self._parameters = {"application_name": f"toolkit {layout.subject}", **_DEFAULTS, **parse_address(url)}
        super().__init__(layout, describe_place(self._parameters))
        password = str(self._parameters.get("password") or "")
        # A shorter one occurs in any text, and masking it there would tell what it is.
        self._password = password if len(password) >= _SHORTEST_MASKED else ""
        self._timeout = timeout_seconds
        self._idle: list[Connection] = []
        self._in_use: set[Connection] = set()
        self._lock = threading.Lock()
        self._closing = weakref.finalize(self, _close_all, self._idle)
        renew_in_children(self)
        try:
            self.change(self._prepare)
        except BaseException:
            self.close()
            raise

    def read(self, work: Callable[[Execute], T]) -> T:
        """Return what *work* returns, which changes nothing. Each statement is a transaction of its own."""
        return self._run(work)

    def change(self, work: Callable[[Execute], T], *, durable: bool = True) -> T:
        return self._run(work, has_transaction=True)

    def change_once(self, statement: str, parameters: Sequence[Any], *, durable: bool = True) -> int:
        return self._run(lambda execute: execute(statement, parameters).rowcount)

    def compact(self) -> None:
        """Do nothing: the server itself gives the space of deleted rows to later ones."""

    def _run(self, work: Callable[[Execute], T], *, has_transaction: bool = False) -> T:
        """Return what *work* returns; call it again if the server goes away. No transaction saves two messages."""
        if self.layout.stays_open and not self._closing.alive:
            raise self.describe_error("was closed; open it again")
        end, pause = time.monotonic() + self._timeout, 0.0
        while True:
            try:
                with self._borrow() as connection, connection.transaction() if has_transaction else nullcontext():
                    return work(
                        lambda statement, parameters: connection.execute(statement.replace("?", "%s"), parameters)
                    )
            except self._psycopg.Error as error:
                if not self.is_worth_retrying(error) or time.monotonic() + pause > end:
                    shows_password = self._password and self._password in str(error)
                    raise self.translate(error) from (None if shows_password else error)
            time.sleep(pause)
            pause = min(pause * 2 or 0.02, _LONGEST_PAUSE_SECONDS)

    def connect(self) -> Connection:
        """Return a new connection, which the caller closes."""
        connection: Connection = self._psycopg.connect(
            **{"connect_timeout": max(2, int(self._timeout)), **self._parameters},
            autocommit=True,
            prepare_threshold=2 if self.layout.stays_open else None,
        )
        try:
            connection.execute(
                f"SET lock_timeout = {max(1, int(self._timeout * 1000))};"
                f"SET idle_in_transaction_session_timeout = '{_IDLE_TRANSACTION_SECONDS}s';"
                # What is said to be written has to be on the disk.
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def translate(self, error: psycopg.Error) -> ToolkitError:
        """Return an error that says what is wrong and what to do, without the password."""
        text = " ".join(str(error).split())
        shown = text.replace(self._password, "***") if self._password else text
        for words, remedy in _REFUSED_STARTS if error.sqlstate is None else ():
            if words in text:
                return self.describe_error(f"cannot be used: {shown}; {remedy}")
        if self.is_worth_retrying(error):
            return self.describe_error(
                f"has been away for {format_seconds(self._timeout)}: {shown}; check that the server runs and can be "
                f"reached from here, and {self.layout.if_busy}"
            )
        problem = _PROBLEMS.get(error.sqlstate or "", "cannot be used: {}")
        return self.describe_error(problem.format(shown, if_busy=self.layout.if_busy))

    def is_worth_retrying(self, error: psycopg.Error) -> bool:
        """Return whether the same work may succeed a moment later, on a new connection."""
        if error.sqlstate is not None:
            return error.sqlstate in _RETRIED_STATES or error.sqlstate.startswith("08")
        refused = any(words in str(error) for words, _ in _REFUSED_STARTS)
        return isinstance(error, self._psycopg.OperationalError) and not refused

    @contextmanager
    def _borrow(self) -> Iterator[Connection]:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = self.connect() if connection is None else connection
        self._in_use.add(connection)
        try:
            yield connection
        finally:
            # A child that was forked meanwhile has dropped it.
            if connection in self._in_use:
                self._in_use.discard(connection)
                self._give_back(connection)

    def _give_back(self, connection: Connection) -> None:
        unused = [connection]
        with self._lock:
            if connection.closed:
                # The others were opened before the server went away, too.
                unused += self._idle
                self._idle.clear()
            elif self._closing.alive and len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
                unused = []
        _close_all(unused)

    def _has_tables(self, execute: Execute) -> bool:
        """Return whether the database has the tables."""
        (table,) = execute("SELECT to_regclass(?)", (self.layout.meta,)).fetchone()
        return table is not None

    def close(self) -> None:
        """Close the connections that are not in use, and each other one after its use."""
        self._closing()

    def renew_after_fork(self) -> None:
        """Drop the connections of the parent, in a child."""
        self._lock = threading.Lock()
        for connection in (*self._idle, *self._in_use):
            drop_inherited(connection)
        self._idle.clear()
        self._in_use.clear()


def drop_inherited(connection: Connection) -> None:
    """Close a connection of the parent process in a forked child, so that the server does not hear of it."""
    with suppress(Exception):  # it may have been closed before
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(nowhere, connection.fileno(), inheritable=False)
        os.close(nowhere)
        connection.close()


def _close_all(connections: list[Connection]) -> None:
    while connections:
        connections.pop().close()


def parse_address(url: str) -> dict[str, Any]:
    """Return the parts of an address by their names in libpq; raise `ValueError` if it cannot be read."""
    psycopg = import_psycopg()
    match = _SCHEME.match(url) if isinstance(url, str) else None
    if match is None:
        raise ValueError("the address of a PostgreSQL database begins with postgresql://")
    rest = url[match.end() :]  # the part after a plus is for SQLAlchemy
    try:
        parameters: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(f"postgresql://{rest}")
        _check_parts(rest, parameters)
    except (psycopg.Error, ValueError):
        # Its text quotes parts of the address, and any of them may be the password.
        raise ValueError(
            "the address of the PostgreSQL database cannot be read; write postgresql://user:password@host:port/name,"
            " with %25 for a percent sign, %40 for @ and %2F for a slash in the password"
        ) from None
    return parameters


def _check_parts(rest: str, parameters: dict[str, Any]) -> None:
    """
    Raise `ValueError` if *rest*, an address after its scheme, was read as *parameters* that cannot be meant.

    A password with a slash or an @ is read as the host, the port or the name of the database, and would be shown.
    """
    hosts, ports = (str(parameters.get(name) or "").split(",") for name in ("host", "port"))
    path = rest.partition("?")[0].partition("/")[2]
    # A host that begins with @ is a socket.
    if "@" in path or any("@" in host[1:] for host in hosts) or any(port and not port.isdecimal() for port in ports):
        raise ValueError("a part of the address is in another place than it seems")


def describe_place(parameters: dict[str, Any]) -> str:
    """Return the address with these parts, without its password."""
    user, port = parameters.get("user"), parameters.get("port")
    host = parameters.get("host") or parameters.get("hostaddr") or "localhost"
    name = parameters.get("dbname") or user or ""
    return f"postgresql://{f'{user}@' if user else ''}{host}{f':{port}' if port else ''}/{name}"
