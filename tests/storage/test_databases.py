"""What holds for every database of the library."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolkit.approvals.sql_store import APPROVALS
from toolkit.durable.journal.statements import RUNS
from toolkit.errors import ToolkitError
from toolkit.storage.postgres_database import PostgresDatabase
from toolkit.storage.sqlite_database import SQLiteDatabase

LAYOUTS = pytest.mark.parametrize("layout", [APPROVALS, RUNS], ids=["approvals", "runs"])


@pytest.fixture
def path(tmp_path):
    """Return the path of a file that does not exist."""
    return tmp_path / "a.sqlite"


@LAYOUTS
@pytest.mark.parametrize("version", ["1", "99", "", "x"])
def test_another_format_is_refused_with_both_versions(path, layout, version):
    database = SQLiteDatabase(path, layout)
    database.change_once(f"UPDATE {layout.meta} SET value = ? WHERE name = 'format'", (version,))
    database.close()
    problem = f"has format {version}, and this version of toolkit reads format {layout.version}; update toolkit"
    with pytest.raises(layout.error, match=f"the {layout.subject} in '{path}': the file {problem}") as caught:
        SQLiteDatabase(path, layout)
    assert caught.value.why == "store"


@pytest.mark.parametrize(("first", "second"), [(APPROVALS, RUNS), (RUNS, APPROVALS)], ids=["runs", "approvals"])
def test_a_file_of_another_subject_is_refused(path, first, second):
    SQLiteDatabase(path, first).close()
    with pytest.raises(second.error, match=f"not one of {second.subject}"):
        SQLiteDatabase(path, second)


def test_one_server_keeps_approvals_and_runs(postgres_schema_url):
    for layout in (APPROVALS, RUNS, APPROVALS):
        database = PostgresDatabase(postgres_schema_url, layout)
        database.read(database.check_format)
        database.close()


@LAYOUTS
def test_many_can_create_the_tables_of_a_server_at_once(postgres_schema_url, layout):
    together = threading.Barrier(8)

    def create(_):
        together.wait()
        PostgresDatabase(postgres_schema_url, layout).close()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(create, range(8))) == [None] * 8


@LAYOUTS
def test_a_failed_change_changes_nothing(path, layout):
    """The next change does not wait for it."""
    database = SQLiteDatabase(path, layout, timeout_seconds=0)

    def work(execute):
        execute(f"DELETE FROM {layout.meta}", ())
        raise LookupError

    with pytest.raises(LookupError):
        database.change(work)
    database.change(database.check_format)
    database.close()


@LAYOUTS
def test_a_thread_waits_for_another_no_longer_than_the_timeout(path, layout):
    """The threads of a process write in turn, so a lock in the file is not what they wait for."""
    database = SQLiteDatabase(path, layout, timeout_seconds=0.05)
    begun, end = threading.Event(), threading.Event()

    def hold(execute):
        begun.set()
        end.wait(10)

    thread = threading.Thread(target=database.change, args=(hold,))
    thread.start()
    begun.wait(10)
    with pytest.raises(ToolkitError, match=f"is busy.*; {layout.if_busy}"):
        database.change_once(f"DELETE FROM {layout.meta}", ())
    end.set()
    thread.join()
    database.change(database.check_format)
    database.close()


@LAYOUTS
def test_only_a_layout_that_stays_open_leaves_files_beside_the_database(path, layout):
    database = SQLiteDatabase(path, layout)
    database.change_once(f"UPDATE {layout.meta} SET value = value", ())
    beside = {"a.sqlite-wal", "a.sqlite-shm"} if layout.stays_open else set()
    assert {file.name for file in path.parent.iterdir()} == {"a.sqlite"} | beside
    database.close()
