"""
A private PostgreSQL server on loopback, with a fresh database for each test that asks for `postgres_url`.

The server starts when the first test of a process asks for it, so parts that run beside each other have one each. It
is stopped and its folder removed when the tests of the process are over. If the process is killed, a guard does that.
Without PostgreSQL, or without psycopg, the tests that need them are skipped, and the reason says what to install.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from toolkit._plumbing.distribution import install_hint

__all__ = ["PostgresServer", "find_programs", "postgres_schema_url", "postgres_server", "postgres_url"]

USER = "toolkit"
_PORT_ATTEMPTS = 5
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = '16MB'
fsync = off
full_page_writes = off
autovacuum = off
max_wal_size = '256MB'
timezone = 'UTC'
log_timezone = 'UTC'
"""
_schema_numbers = itertools.count(1)
# The pipe is closed when the process of the tests ends in any way.
_GUARD = """
cat > /dev/null
file=$1/data/postmaster.pid
kill -QUIT "$(head -n 1 "$file")"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    if [ -e "$file" ]; then sleep 0.5; fi
done
rm -rf "$1"
"""


def find_programs() -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL server here; return None if there is none."""
    on_path = shutil.which("initdb")
    folders = [] if on_path is None else [Path(os.path.realpath(on_path)).parent]
    # Debian installs them outside PATH, one folder a version.
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(versions, key=lambda folder: float(folder.parent.name), reverse=True)
    needed = ("initdb", "pg_ctl", "postgres")
    return next((folder for folder in folders if all((folder / name).exists() for name in needed)), None)


class PostgresServer:
    """
    A private server with its files in *folder*.

    Attributes:
        port: The port on 127.0.0.1. It stays the same when the server is stopped and started again.
        password: The password of the user `toolkit`, who may do anything.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._numbers = itertools.count(1)
        self.port = 0
        self.password = secrets.token_hex(16)

    def create(self) -> None:
        """Write the files of the server, and start it."""
        password = self._folder / "password"
        password.write_text(self.password)
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root.
            for path in (self._folder, password):
                os.chown(path, _find_user().pw_uid, _find_user().pw_gid)
        options = ["--no-sync", "--locale=C", "--encoding=UTF8", "--auth=scram-sha-256", f"--username={USER}"]
        self._run("initdb", *options, f"--pwfile={password}")
        with (self._folder / "data/postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS)
        for attempt in range(_PORT_ATTEMPTS):
            self.port = _find_free_port()
            try:
                self.start()
            except RuntimeError:  # Another program may have taken the port.
                if attempt == _PORT_ATTEMPTS - 1:
                    raise
            else:
                return

    def start(self) -> None:
        """Start the server, and return when it answers."""
        log = self._folder / "log"
        self._run("pg_ctl", "start", "--wait", f"--log={log}", f"--options=-p {self.port}", log=log)

    def stop(self) -> None:
        """Stop the server at once, as a crash would; connections are cut."""
        self._run("pg_ctl", "stop", "--wait", "--mode=immediate")

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Stop the server for the block, and start it again on the same port."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def build_url(self, database: str, *, user: str = USER, password: str | None = None) -> str:
        """Return the address of *database*; without a *password*, with the one of the user `toolkit`."""
        password = self.password if password is None else password
        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Run *statements*, each on its own, as the user who may do anything."""
        import psycopg

        with psycopg.connect(self.build_url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Create an empty database for the block, and give its address. Connections that are left open are cut."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY file_copy")
        try:
            yield self.build_url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _run(self, program: str, *arguments: str, log: Path | None = None) -> None:
        as_user = {}
        if os.geteuid() == 0:
            user = _find_user()
            as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        output = self._folder / f"{program}.output"
        # A pipe would stay open as long as the server, which inherits it, runs.
        with output.open("wb") as written:
            ended = subprocess.run(
                [self._programs / program, f"--pgdata={self._folder / 'data'}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                cwd="/",
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
                check=False,
                **as_user,
            )
        if ended.returncode:
            text = output.read_text() + (log.read_text() if log is not None and log.exists() else "")
            raise RuntimeError(f"`{program} {' '.join(arguments)}` failed: {text[-3000:]}")


def _find_user() -> pwd.struct_passwd:
    """Return the user to run PostgreSQL as, where the tests run as root."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _find_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def _guard(folder: Path) -> Iterator[None]:
    """Have the server in *folder* stopped and the folder removed, also if this process is killed during the block."""
    guard = subprocess.Popen(
        ["sh", "-c", _GUARD, "sh", folder],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        # A child of this process may hold the pipe, so closing it would not be enough.
        guard.kill()
        guard.communicate()


@contextlib.contextmanager
def run_server(programs: Path) -> Iterator[PostgresServer]:
    """Run a server during the block."""
    folder = Path(tempfile.mkdtemp(prefix="toolkit-postgres-"))
    server = PostgresServer(programs, folder)
    try:
        with _guard(folder):
            server.create()
            try:
                yield server
            finally:
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A private PostgreSQL server."""
    programs = find_programs()
    if programs is None:
        pytest.skip("NOT TESTED HERE: PostgreSQL is not installed; `apt install postgresql` has its server")
    pytest.importorskip("psycopg", reason=f"NOT TESTED HERE: psycopg is not installed; {install_hint('durable')}")
    with run_server(programs) as server:
        yield server


@pytest.fixture(scope="session")
def shared_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a database that the tests of this process share."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture
def postgres_schema_url(postgres_server: PostgresServer, shared_postgres_url: str) -> str:
    """The address of an empty schema. It takes a tenth of the time of a database, and is enough for most tests."""
    name = f"schema_{next(_schema_numbers)}"
    postgres_server.execute(f"CREATE SCHEMA {name}", database=shared_postgres_url.rpartition("/")[2])
    return f"{shared_postgres_url}?options=-csearch_path%3D{name}"


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of an empty database on a private PostgreSQL server."""
    with postgres_server.database() as url:
        yield url
