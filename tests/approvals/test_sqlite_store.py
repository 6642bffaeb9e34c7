"""
Approvals in one SQLite file, and what may happen to that file.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.approvals.claiming import NOW
from toolkit.approvals.records import ApprovalError, Record
from toolkit.approvals.sql_store import SQLiteApprovals
from toolkit.approvals.store import Settlement
from toolkit.decisions import ApprovalRequest


def record(request_id, **fields):
    """Return a record that is pending."""
    request = ApprovalRequest(tool="write", call_id="c", reason="asks", created_at=NOW, id=request_id)
    return Record(request=request, **{"arguments": {"path": "a"}, "identity": "i", **fields})


@pytest.fixture
def path(tmp_path):
    """Where a file could be."""
    return tmp_path / "approvals.db"


@pytest.fixture
def store(path):
    """A store with one request, `one`."""
    store = SQLiteApprovals(path)
    store.add(record("one"))
    return store


def raw(path, *statements):
    """Change the file behind the store's back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return [connection.execute(statement).fetchall() for statement in statements]


def test_an_open_store_sees_the_writes_of_another_store(path, store):
    other = SQLiteApprovals(path)
    assert other.settle("one", Settlement("denied", by="ada", now=NOW))
    assert store.get("one").state == "denied"


def test_a_busy_file_is_an_error(path, store):
    """It comes after the given time, and the record is unchanged."""
    hasty = SQLiteApprovals(path, timeout_seconds=0)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ApprovalError, match="busy.*timeout_seconds") as caught:
            hasty.settle("one", Settlement("claimed", by=None, owner="me", now=NOW))
    assert caught.value.why == "store"
    assert store.get("one").state == "pending"


# The file.


@pytest.mark.skipif(os.name != "posix", reason="files have no modes here")
def test_only_the_owner_can_read_the_file_or_its_journal(path, store):
    """The files hold arguments with their secrets."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM toolkit_approvals")
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
    assert modes == {"approvals.db": 0o600, "approvals.db-journal": 0o600}


def test_no_journal_is_left_between_calls(path, store):
    assert [entry.name for entry in path.parent.iterdir()] == ["approvals.db"]


def test_a_reported_change_is_on_the_disk(store):
    """A killed process cannot simulate a power cut, so the test checks the settings that withstand one."""
    with store._database._use() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)


def test_a_purged_record_leaves_no_bytes_in_the_file(path, store):
    """A record may hold secrets."""
    store.add(record("two", arguments={"key": "s3cret" * 1000}))
    assert b"s3cret" in path.read_bytes()
    store.settle("two", Settlement("denied", by=None, now=NOW))
    assert store.purge(before=NOW + 1) == 1
    assert b"s3cret" not in path.read_bytes()


@pytest.mark.parametrize("name", ["with space", "a?mode=memory", "a#b%41", "é", "file:x", ":memory:", "a'b", "\udc80"])
def test_any_name_will_do(tmp_path, name, monkeypatch):
    """The name is a path, also where SQLite would read a URI or an option in it."""
    monkeypatch.chdir(tmp_path)
    SQLiteApprovals(name).add(record("one"))
    assert SQLiteApprovals(tmp_path / name).get("one") == record("one")
    assert os.listdir(tmp_path) == [name]


def test_a_relative_path_keeps_its_meaning(tmp_path, monkeypatch):
    """Changing the folder afterwards does not lead to another file."""
    monkeypatch.chdir(tmp_path)
    store = SQLiteApprovals("a.db")
    store.add(record("one"))
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert store.get("one") == record("one")


# What cannot be used.


def link(path):
    SQLiteApprovals(path.with_name("real.db"))
    path.symlink_to("real.db")


def dangling(path):
    path.symlink_to("nowhere")


def open_to_others(path):
    SQLiteApprovals(path)
    path.chmod(0o644)


def open_folder(path):
    path.parent.chmod(0o777)


def garbage(path):
    path.write_bytes(b"not a database, but long enough to be taken for one " * 100)
    path.chmod(0o600)


def cut(path):
    SQLiteApprovals(path)
    os.truncate(path, 5000)


def newer(path):
    SQLiteApprovals(path)
    raw(path, "UPDATE toolkit_approvals_meta SET value = '3' WHERE name = 'format'")


def older(path):
    raw(path, "CREATE TABLE approvals (id)", "PRAGMA application_id = 0x746B6170", "PRAGMA user_version = 1")
    path.chmod(0o600)


def foreign(path):
    raw(path, "CREATE TABLE approvals (id, record)")
    path.chmod(0o600)


BAD = [
    (link, "symbolic link; give the path"),
    (dangling, "symbolic link; give the path"),
    (open_to_others, "can be opened by others.*chmod 600"),
    (open_folder, "others can write.*a folder of your own"),
    (os.mkdir, "is not a file"),
    (garbage, "is not a SQLite file, or damaged.*restore it"),
    (cut, "is damaged.*restore it"),
    (newer, "has format 3.*reads format 2; update toolkit"),
    (older, "not one of approvals, or one of an earlier version; give another path"),
    (foreign, "not one of approvals.*; give another path"),
]


@pytest.mark.skipif(os.name != "posix", reason="files have no modes here")
@pytest.mark.parametrize(("spoil", "problem"), BAD, ids=[spoil.__name__ for spoil, _ in BAD])
def test_a_file_that_cannot_be_used_is_refused_with_the_remedy(path, spoil, problem):
    """When the store is made; the file is named."""
    spoil(path)
    with pytest.raises(ApprovalError, match=f"{path}.*{problem}") as caught:
        SQLiteApprovals(path)
    assert caught.value.why == "store"


@pytest.mark.parametrize("place", ["missing/a.db", "a file/a.db", "/proc/a.db", "a" * 300])
def test_a_file_that_cannot_be_created_is_refused(tmp_path, place):
    """The error has the path and the remedy."""
    (tmp_path / "a file").touch()
    with pytest.raises(ApprovalError, match=r"the file (is not in a folder|cannot be used: .*); .*path"):
        SQLiteApprovals(tmp_path / place)


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (os.unlink, "cannot be used: No such file"),
        (open_to_others, "opened by others"),
        (newer, "has format 3"),
        (garbage, "not a SQLite file"),
        (lambda path: os.truncate(path, 0), "no such table.*restore it"),
    ],
    ids=["gone", "open", "newer", "garbage", "empty"],
)
@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.get("one"),
        lambda store: store.add(record("two")),
        lambda store: store.settle("one", Settlement("claimed", by=None, owner="me", now=NOW)),
        lambda store: store.pending(),
        lambda store: store.purge(before=NOW),
    ],
    ids=["get", "add", "settle", "pending", "purge"],
)
def test_a_file_that_changes_under_the_store_is_noticed(path, store, spoil, problem, use):
    """It is checked at each use, and never created again silently."""
    spoil(path)
    with pytest.raises(ApprovalError, match=problem):
        use(store)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("record = '{}'", "version None"),
        ("record = replace(record, '\"version\":1', '\"version\":9')", "version 9"),
        ("record = 5", "cannot be read"),
        ("record = x'ff00'", "cannot be read"),
        ("record = '[' || record", "cannot be read"),
        ("id = x'00'", "under another's id"),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error(path, store, change, problem):
    """It is not mistaken for another record or for a missing one."""
    raw(path, f"UPDATE toolkit_approvals SET {change}")
    with pytest.raises(ApprovalError, match=f"{problem}.*restore"):
        store.pending()


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A file with several records, to be damaged."""
    path = tmp_path_factory.mktemp("sound") / "a.db"
    store = SQLiteApprovals(path)
    for number in range(20):
        store.add(record(str(number), arguments={"text": "x" * 500 * number}))
        if number % 2:
            store.settle(str(number), Settlement("claimed", by=None, owner="me", now=NOW))
    return path


@given(where=st.integers(0, 30), at=st.integers(0, 4095), data=st.binary(min_size=1, max_size=40))
def test_a_damaged_file_gives_an_answer_or_a_clear_error(sound, where, at, data):
    """The error is never an exception of the database itself."""
    path = sound.with_name("damaged.db")
    shutil.copy(sound, path)
    with open(path, "r+b") as file:
        file.seek(where * 4096 + at if where else at % 200)
        file.write(data)
    refusal, answers = None, {}
    try:
        store = SQLiteApprovals(path)
        answers = {key: store.get(key) for key in ("0", "1", "19", "none")}
        waiting = store.pending(now=NOW)
        store.settle("2", Settlement("claimed", by=None, owner="me", now=NOW))
        store.purge(before=NOW + 1)
    except ApprovalError as error:
        refusal = error
    if refusal is None:
        assert len({request.id for request in waiting}) == len(waiting)
    else:
        assert refusal.why in ("store", "unknown", "answered")
        assert str(refusal)
    assert all(answer is None or answer.request.id == key for key, answer in answers.items())
    path.unlink()
    path.with_name("damaged.db-journal").unlink(missing_ok=True)
