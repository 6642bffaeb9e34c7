"""The tables of DBOS are made whole or not at all, also by processes that begin at once or are killed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dbos import DBOS

from toolkit.durable.dbos_engine import DbosEngine
from toolkit.durable.dbos_tables import prepare_tables
from toolkit.durable.errors import DurableError

ROOT = Path(__file__).parents[2]
PREPARE = """
import os, signal, sqlite3, sys
path, count = sys.argv[1], int(sys.argv[2])
connect = sqlite3.connect

def kill_later(*arguments, **options):
    connection = connect(*arguments, **options)
    if arguments[0] == path:
        statements = []
        def watch(statement):
            statements.append(statement)
            if len(statements) == count:
                os.kill(os.getpid(), signal.SIGKILL)
        connection.set_trace_callback(watch)
    return connection

sqlite3.connect = kill_later
from toolkit.durable.dbos_tables import prepare_tables
prepare_tables(f"sqlite:///{path}")
"""


def run_process(path, count):
    """Make the tables in a process of its own, which is killed at the statement with this number."""
    command = [sys.executable, "-c", PREPARE, str(path), str(count)]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})


def read_schema(path):
    """Return all definitions and the version of the tables."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = sorted(connection.execute("SELECT type, name, sql FROM sqlite_master"))
        has_version = any(name == "dbos_migrations" for _, name, _ in names)
        return names, connection.execute("SELECT * FROM dbos_migrations").fetchall() if has_version else []


def test_the_tables_are_those_of_dbos(tmp_path):
    """Every definition and every row is the same as if DBOS had made them there, and the second time changes nothing."""
    DBOS.migrate(f"sqlite:///{tmp_path}/theirs.sqlite")
    for _ in range(2):
        prepare_tables(f"sqlite:///{tmp_path}/ours.sqlite")
        assert read_schema(tmp_path / "ours.sqlite") == read_schema(tmp_path / "theirs.sqlite")


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 12])
def test_a_process_that_is_killed_leaves_all_tables_or_none(tmp_path, count):
    """The next process creates them."""
    path = tmp_path / "runs.sqlite"
    path.touch(mode=0o600)
    assert run_process(path, count).returncode == -9
    assert read_schema(path) == ([], [])
    ran = run_process(path, 0)
    assert ran.returncode == 0, ran.stderr.decode()
    assert read_schema(path)[1] != []


@pytest.mark.long
def test_processes_that_begin_at_once_do_not_stop_each_other(tmp_path):
    """One of them makes the tables, and the others find them."""
    path = tmp_path / "runs.sqlite"
    with ThreadPoolExecutor(4) as threads:
        ended = list(threads.map(lambda _: run_process(path, 0), range(4)))
    assert [(ran.returncode, ran.stderr.decode()[-300:]) for ran in ended if ran.returncode] == []


def test_a_file_that_cannot_be_used_is_an_error_of_the_store(tmp_path):
    """It has the message of the database."""
    (tmp_path / "runs.sqlite").write_text("this is no database, and long enough to be read as a header of one" * 20)
    with pytest.raises(DurableError, match="the engine's database cannot be used") as caught:
        DbosEngine(f"sqlite:///{tmp_path}/runs.sqlite")
    assert caught.value.why == "store"
