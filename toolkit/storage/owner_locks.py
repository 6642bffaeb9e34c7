"""
A lock in a PostgreSQL database that tells other machines that a process which runs approved calls still lives.

The lock belongs to a connection of its own, and the server drops it when that connection ends. So it is gone a moment
after `kill -9`, and some seconds after a power cut. A process that is frozen keeps it. A process that lives may lose
the connection, because the server was restarted or a cable pulled. It takes the lock again as soon as it can. So a
process counts as dead only if its lock has been missing for some time without a break.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import selectors
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._plumbing.forks import renew_in_children
from .postgres_database import PostgresDatabase, drop_inherited, import_psycopg

if TYPE_CHECKING:
    import psycopg

__all__ = ["OwnerLock", "watch_owner"]

_log = logging.getLogger("toolkit")

_LOOK_SECONDS = 0.25
_RETRY_SECONDS = 0.5
_CLOSE_SECONDS = 5.0
# The server notices that the machine of an owner is gone after about 15 seconds.
_SETTINGS = "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3"
# Several stores of one process hold the same lock, so it is a shared one.
_TAKE = "SELECT pg_advisory_lock_shared(%s)"
_FIND = (
    "SELECT count(*), pg_postmaster_start_time() FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND classid::bigint = ? AND objid::bigint = ?"
)


def _build_lock_number(owner: str) -> int:
    """Return the number of the lock of *owner*, which PostgreSQL takes as a bigint."""
    digest = hashlib.blake2b(f"toolkit owner {owner}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def watch_owner(
    owner: str,
    database: PostgresDatabase,
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> bool:
    """
    Return whether a process has the lock of *owner*.

    If none has it, look again for *seconds*. The time begins anew if the server was away meanwhile, because then the
    owner may have lost its connection, too.
    """
    number = _build_lock_number(owner) % 2**64
    key = number >> 32, number & 0xFFFFFFFF
    first, started_at = clock(), None
    while True:
        held, server_start = database.read(lambda execute: execute(_FIND, key).fetchone())
        if held:
            return True
        if started_at != server_start:
            first, started_at = clock(), server_start
        if clock() - first >= seconds:
            return False
        sleep(min(_LOOK_SECONDS, seconds))


def _wait_for_input(descriptors: Sequence[int], seconds: float | None = None) -> list[int]:
    """Return those of *descriptors* that can be read, after at most so many *seconds*."""
    # A plain `select` refuses descriptors above 1023.
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        return [key.fd for key, _ in selector.select(seconds)]


class OwnerLock:
    """The lock of this process, which is taken at the first claim and held until the process ends or `close`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._keeper: _Keeper | None = None
        self._closing: weakref.finalize[Any, Any] | None = None
        renew_in_children(self)

    def hold(self, owner: str) -> None:
        """Take the lock of *owner*, unless it is held; raise `ToolkitError` if the server cannot give it."""
        with self._lock:
            if self._keeper is None or self._keeper.owner != owner:
                self.close()
                keeper = _Keeper(owner, self._database)
                keeper.start()
                self._closing = weakref.finalize(self, keeper.stop)
                self._keeper = keeper

    def close(self) -> None:
        """Give the lock up. Claims of this process that have no outcome count as lost from now on."""
        if self._closing is not None:
            self._closing()
        self._keeper = self._closing = None

    def renew_after_fork(self) -> None:
        """Leave the lock to the parent, in a child."""
        self._lock = threading.Lock()
        if self._closing is not None:
            self._closing.detach()
        if self._keeper is not None:
            self._keeper.drop_inherited()
        self._keeper = self._closing = None


class _Keeper:
    """The thread that keeps the lock of *owner*, and takes it again if the connection is lost."""

    def __init__(self, owner: str, database: PostgresDatabase) -> None:
        self.owner = owner
        self._database = database
        self._error: type[psycopg.Error] = import_psycopg().Error
        self._connection: psycopg.Connection[Any] | None = None
        self._thread = threading.Thread(target=self._keep, name="toolkit-owner-lock", daemon=True)
        self._is_stopped = False
        self._is_loss_logged = False
        self._wakeable, self._waker = os.pipe()

    def start(self) -> None:
        """Take the lock, and start the thread."""
        try:
            # The attempts and the errors are those of any other work.
            self._database.read(lambda _: self._take())
        except BaseException:
            self._close_pipe()
            raise
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which gives the lock up and closes the connection."""
        self._is_stopped = True
        os.write(self._waker, b"x")
        if self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_SECONDS)

    def drop_inherited(self) -> None:
        """Close what belongs to the parent, in a child."""
        if self._connection is not None:
            drop_inherited(self._connection)
        self._close_pipe()

    def _take(self) -> None:
        connection = self._database.connect()
        try:
            connection.execute(_SETTINGS)
            connection.execute(_TAKE, (_build_lock_number(self.owner),))
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._is_loss_logged = False

    def _keep(self) -> None:
        while not self._is_stopped:
            if self._connection is None:
                self._take_again()
            elif self._is_cut(self._connection):
                self._connection.close()
                self._connection = None
        if self._connection is not None:
            # The server drops a lock only some time after the connection has ended, and other processes look at once.
            with contextlib.suppress(self._error):
                self._connection.execute("SELECT pg_advisory_unlock_all()")
            self._connection.close()
        self._close_pipe()

    def _is_cut(self, connection: psycopg.Connection[Any]) -> bool:
        """Wait until the server has sent something or the thread is to end; return whether the connection is lost."""
        try:
            if self._wakeable not in _wait_for_input([connection.fileno(), self._wakeable]):
                connection.pgconn.consume_input()
        except self._error:
            return True
        return False

    def _take_again(self) -> None:
        try:
            self._take()
        except self._error as error:
            if not self._is_loss_logged:
                problem = self._database.translate(error)
                _log.warning("the lock that shows other machines that this process lives is lost: %s", problem)
            self._is_loss_logged = True
            _wait_for_input([self._wakeable], _RETRY_SECONDS)

    def _close_pipe(self) -> None:
        for number in (self._wakeable, self._waker):
            with contextlib.suppress(OSError):
                os.close(number)
