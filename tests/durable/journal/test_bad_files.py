"""A SQLite file that is damaged, of another kind, full, read-only or locked is refused by name."""

from __future__ import annotations

import random
import sqlite3
import threading
from contextlib import closing

import pytest

from toolkit.durable.errors import DurableError
from toolkit.durable.journal.row_texts import DamagedRowError, load_json
from toolkit.durable.journal.run_journal import Journal
from toolkit.durable.journal.statements import RUNS
from toolkit.storage.sqlite_database import SQLiteDatabase


@pytest.fixture
def path(folder):
    """Return the path of a file that does not exist."""
    return folder / "runs.sqlite"


def open_file(path, **options):
    """Open the journal in a file."""
    return Journal(SQLiteDatabase(path, RUNS, **options))


def fill(journal):
    """Write some runs with some steps."""
    for run in ("r1", "r2", "r3"):
        journal.create(run, "agent", {"prompt": run * 50}, now=1.0)
        journal.activate(run, worker="w", now=2.0, max_lives=3)
        for number in range(6):
            key = f"{run}/call/{number}"
            journal.begin(run, 1, key, {"tool": "edit"}, now=3.0)
            journal.finish(run, 1, key, {"text": f"{key} " * 40}, seconds=1, now=4.0)
        journal.end(run, 1, "waiting", {"saved": run * 50}, used_decisions=(), now=5.0)
    journal.beat("w", {})


def read_all(journal):
    """Return everything that can be read from a journal, as plain values."""
    content = {"workers": dict(journal.read_workers())}
    for row in journal.list():
        content[row.id] = (row, journal.read_steps(row.id), journal.read_events(row.id))
    return content


def expect_refusal(path, problem):
    """Expect that a file is refused with a message that has *problem*."""
    with pytest.raises(DurableError, match=problem) as raised:
        open_file(path)
    assert raised.value.why == "store"
    assert str(path) in str(raised.value)


def write_damaged(source, target, seed):
    """Write a copy of a file with a few bytes changed, cut, or overwritten."""
    choose = random.Random(seed)
    content = bytearray(source)
    kind = seed % 4
    if kind == 0:
        del content[choose.randrange(len(content)) :]
    elif kind == 1:
        for _ in range(choose.choice((1, 5, 50))):
            content[choose.randrange(len(content))] ^= 1 << choose.randrange(8)
    elif kind == 2:
        start = choose.randrange(len(content))
        content[start : start + 512] = choose.randbytes(len(content[start : start + 512]))
    else:
        start = choose.randrange(0, len(content), 512)
        content[start : start + 4096] = bytes(len(content[start : start + 4096]))
    target.write_bytes(content)
    target.chmod(0o600)


@pytest.mark.parametrize(
    "seeds", [range(24), pytest.param(range(24, 150), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_a_damaged_file_is_refused_or_read_right(folder, path, seeds):
    """A damaged file raises a `DurableError`, or the runs are as they were. It raises no other error."""
    journal = open_file(path)
    fill(journal)
    whole = read_all(journal)
    journal.close()
    source = path.read_bytes()
    reasons = []
    for seed in seeds:
        damaged = folder / f"damaged-{seed}.sqlite"
        write_damaged(source, damaged, seed)
        try:
            journal = open_file(damaged)
            try:
                content = read_all(journal)
                journal.activate("r1", worker="w", now=9.0, max_lives=3)
                journal.begin("r1", 2, "r1/call/new", {}, now=9.0)
                journal.finish("r1", 2, "r1/call/new", {}, seconds=0, now=9.0)
                journal.purge(before=1e9)
            finally:
                journal.close()
        except DurableError as error:
            reasons.append(error.why)
            continue
        for run in whole.keys() & content.keys() - {"workers"}:
            row, steps, events = content[run]
            assert row in (whole[run][0], row.__class__(**{**fields(row), "seconds": whole[run][0].seconds}))
            assert steps.items() <= whole[run][1].items()
            assert len(events) <= len(whole[run][2])
    assert set(reasons) == {"store"}
    assert len(reasons) > len(seeds) / 4


def fields(row):
    """Return the fields of a run by their names."""
    return {name: getattr(row, name) for name in row.__dataclass_fields__}


def test_a_file_of_another_application_is_refused(path):
    """A SQLite file with other tables is left alone."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title)")
    path.chmod(0o600)
    expect_refusal(path, "is a SQLite file, but not one of runs, or one of an earlier version; give another path")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("songs",)]


def test_a_file_of_approvals_is_refused(path):
    """A file that states another application is left alone, also if it has no tables."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 0x746B6170")
    path.chmod(0o600)
    expect_refusal(path, "not one of runs")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (0x746B6170,)


def test_a_file_that_is_refused_is_closed(path):
    """The caller gets no journal that could be closed, so no connection stays open."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title)")
    path.chmod(0o600)
    connections = []

    def connect(*arguments, **options):
        connections.append(sqlite3.connect(*arguments, **options))
        return connections[-1]

    with pytest.raises(DurableError, match="not one of runs"):
        open_file(path, connect=connect)
    assert connections
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_file_with_the_tables_of_dbos_is_used(path):
    """The tables of the engine are in the same file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE dbos_migrations (version INTEGER)")
    path.chmod(0o600)
    journal = open_file(path)
    fill(journal)
    assert journal.list()
    journal.close()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "UPDATE toolkit_meta SET value = '99' WHERE name = 'format'",
            "has format 99, and this version of toolkit reads",
        ),
        ("UPDATE toolkit_meta SET value = 'x' WHERE name = 'application'", "tables of another application"),
        ("DROP TABLE toolkit_meta", "not one of runs"),
        ("DELETE FROM toolkit_meta", "tables of another application"),
    ],
)
def test_another_format_is_refused(path, statement, problem):
    """A file of a later version names both versions."""
    open_file(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
    content = path.read_bytes()
    expect_refusal(path, problem)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"no database at all, and long enough to be read as one" * 100, "not a SQLite file"),
        (b"SQLite format 3\0", "damaged"),
    ],
)
def test_a_file_that_is_not_a_database_is_refused(path, content, problem):
    """A text, and a file that was cut after its first bytes, are not overwritten."""
    path.write_bytes(content)
    path.chmod(0o600)
    expect_refusal(path, problem)
    assert path.read_bytes() == content


def test_a_file_that_others_can_read_is_refused(path):
    """The file holds secrets, so it has to be its owner's alone."""
    open_file(path).close()
    path.chmod(0o644)
    expect_refusal(path, "can be opened by others")
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_place_that_is_not_a_file_is_refused(folder):
    """A folder, a link and a folder that does not exist are named."""
    (folder / "inner").mkdir()
    expect_refusal(folder / "inner", "is not a file")
    (folder / "link").symlink_to(folder / "elsewhere")
    expect_refusal(folder / "link", "is a symbolic link")
    assert not (folder / "elsewhere").exists()
    expect_refusal(folder / "missing" / "runs.sqlite", "No such file or directory; check the path and its folder")


def test_a_full_disk_is_named(path):
    """A change that does not fit is not made, and the next one is, once there is room."""

    def connect(*arguments, **options):
        connection = sqlite3.connect(*arguments, **options)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    pages = 100
    journal = open_file(path, connect=connect)
    fill(journal)
    with pytest.raises(DurableError, match="cannot grow: the disk is full; make room") as raised:
        journal.create("large", "agent", {"prompt": "x" * 1_000_000}, now=1.0)
    assert raised.value.why == "store"
    assert journal.get("large") is None
    journal.close()
    pages = 10_000
    journal = open_file(path, connect=connect)
    journal.create("large", "agent", {"prompt": "x" * 1_000_000}, now=1.0)
    assert len(journal.list()) == 4
    journal.close()


def test_a_file_that_is_read_only_can_be_read(path):
    """Changes are refused by name; what is there can be read."""

    def connect(address, **options):
        return sqlite3.connect(address.replace("mode=rw", mode), **options)

    mode = "mode=rw"
    journal = open_file(path, connect=connect)
    fill(journal)
    whole = read_all(journal)
    journal.close()
    mode = "mode=ro"
    journal = open_file(path, connect=connect)
    assert read_all(journal) == whole
    with pytest.raises(DurableError, match="cannot be written; check it, its folder, and files beside it") as raised:
        journal.create("r", "agent", {}, now=1.0)
    assert raised.value.why == "store"
    journal.close()


def test_a_file_that_is_locked_is_waited_for(path):
    """A lock that is held for too long is an error; one that is given up in time is not noticed."""
    journal = open_file(path, timeout_seconds=0.05)
    patient = open_file(path)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DurableError, match="is busy: other processes have been writing for too long") as raised:
            journal.create("r", "agent", {}, now=1.0)
        assert raised.value.why == "store"
        assert journal.get("r") is None
        release = threading.Timer(0.05, other.rollback)
        release.start()
        assert patient.create("r", "agent", {}, now=1.0)[1]
        release.join()
    journal.close()
    patient.close()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("UPDATE toolkit_steps SET record = '{}' WHERE key = 'r1/call/1'", "the step 'r1/call/1' differs"),
        ("UPDATE toolkit_steps SET began_at = NULL", "the step 'r3/call/0' differs"),
        ("UPDATE toolkit_steps SET record = NULL", "the step 'r3/call/0' differs"),
        ("UPDATE toolkit_steps SET record = x'ff00'", "the step 'r3/call/0' differs"),
        ("UPDATE toolkit_runs SET epoch = 7", "the run 'r3' differs"),
        ("UPDATE toolkit_runs SET id = x'80', status = 3 WHERE id = 'r3'", "differs"),
        ("UPDATE toolkit_runs SET id = CAST(x'80' AS TEXT) WHERE id = 'r3'", "cannot be used"),
        ("UPDATE toolkit_events SET data = '[]'", "differs"),
        ("UPDATE toolkit_workers SET beats = 'x'", "the row of the worker 'w' differs"),
        ("DROP TABLE toolkit_steps", "cannot be used: no such table"),
    ],
)
def test_a_changed_row_is_named(path, change, problem):
    """A row that is not what was written raises an error that names it."""
    journal = open_file(path)
    fill(journal)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    with pytest.raises(DurableError, match=problem) as raised:
        read_all(journal)
    assert raised.value.why == "store"
    journal.close()


@pytest.mark.parametrize("text", ["[]", "{", None])
def test_a_text_that_is_not_an_object_is_named(text):
    """A row whose checksum is right, and whose text is not JSON, was written by another program."""
    with pytest.raises(DamagedRowError, match="the row"):
        load_json(text, "the row")


# A file that goes while it is open.


@pytest.mark.parametrize(
    "use",
    [lambda journal: journal.get("r1"), lambda journal: journal.create("r4", "agent", {}, now=6.0)],
    ids=["get", "create"],
)
def test_a_file_that_was_removed_is_not_used(path, use):
    """An open connection would go on in a file without a name, and its records would be lost."""
    journal = open_file(path)
    fill(journal)
    path.rename(path.with_name("elsewhere.sqlite"))
    with pytest.raises(DurableError, match="is gone since it was opened; move it back") as raised:
        use(journal)
    assert raised.value.why == "store"
    assert not path.exists()
    path.with_name("elsewhere.sqlite").rename(path)
    assert journal.get("r4") is None
    assert journal.get("r1").status == "waiting"
    journal.close()


def test_file_that_was_replaced_is_not_written_to(path):
    """Another process that finds no file makes a new one, where a run with the same id begins once more."""
    journal = open_file(path)
    fill(journal)
    path.unlink()
    other = open_file(path)
    with pytest.raises(DurableError, match="was replaced by another one since it was opened; start the program again"):
        journal.activate("r1", worker="w", now=6.0, max_lives=3)
    assert other.get("r1") is None
    journal.close()
    other.close()
