"""
The private PostgreSQL server that other tests use.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import find_programs

HOLD_A_SERVER = """
import sys
from tests.postgres import find_programs, run_server

with run_server(find_programs()) as server:
    print(server._folder, server.port, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=[1, 2])
def table_of_one_test(request, postgres_url):
    """A table that each test makes under the same name."""
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE things (id int)")
        return postgres_url


def test_each_test_has_an_empty_database(table_of_one_test):
    """Two tests can create the same table, since neither sees the other's."""
    import psycopg

    with psycopg.connect(table_of_one_test) as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (0,)


def test_a_wrong_password_is_refused(postgres_server):
    """Other users of the machine cannot use the server."""
    import psycopg

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(postgres_server.build_url("postgres", password="wrong"))


@pytest.mark.long
def test_a_stopped_server_comes_back_at_the_same_address(postgres_server, postgres_url):
    """Its committed rows are there afterwards."""
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE things (id int)")
    with postgres_server.away(), pytest.raises(psycopg.OperationalError, match="refused"):
        psycopg.connect(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (0,)


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGKILL, None])
def test_no_server_outlives_its_tests(ending):
    """The server is gone and its folder removed, also if the process of the tests was killed."""
    if find_programs() is None:
        pytest.skip("NOT TESTED HERE: PostgreSQL is not installed; `apt install postgresql` has its server")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_A_SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    folder, port = holder.stdout.readline().split()
    assert Path(folder).exists()
    socket.create_connection(("127.0.0.1", int(port))).close()

    if ending is not None:
        holder.send_signal(ending)
    holder.communicate()  # The guard holds the output open until it has ended.

    assert not Path(folder).exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)))
