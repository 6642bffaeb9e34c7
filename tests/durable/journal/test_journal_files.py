"""The database of a journal: its address, its file, and who shares a connection."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from toolkit.durable.errors import DurableError
from toolkit.durable.journal.run_journal import open_journal


def test_only_the_owner_can_read_the_files(folder):
    """The file and those that SQLite makes beside it have mode 0600."""
    journal = open_journal(f"sqlite:///{folder}/runs.sqlite")
    journal.create("r", "agent", {}, now=1.0)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == dict.fromkeys(["runs.sqlite", "runs.sqlite-shm", "runs.sqlite-wal"], 0o600)
    journal.close()


def test_a_relative_url_is_a_file_in_the_current_folder(tmp_path, monkeypatch):
    """Three slashes name a file in the current folder, four an absolute path."""
    monkeypatch.chdir(tmp_path)
    open_journal("sqlite:///here.sqlite").close()
    open_journal(f"sqlite:///{tmp_path}/there.sqlite").close()
    assert sorted(os.listdir()) == ["here.sqlite", "there.sqlite"]


@pytest.mark.parametrize("url", ["mysql://x/y", "runs.sqlite", "sqlite://", "sqlite:///", "sqlite:///:memory:", ""])
def test_an_unknown_database_is_refused(url):
    """The error says which URLs there are."""
    with pytest.raises(DurableError, match='give "sqlite:///runs.sqlite"') as raised:
        open_journal(url)
    assert raised.value.why == "store"


def test_reading_a_closed_journal_is_an_error(run):
    run.close()
    with pytest.raises(DurableError, match="was closed"):
        run.get("r")


def test_a_forked_child_does_not_share_the_connection_of_its_parent(run):
    """Both can go on writing."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run.finish("r", 1, "r/reply/1", {"by": "child"}, seconds=1, now=3.0)
            run.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    run.finish("r", 1, "r/reply/2", {"by": "parent"}, seconds=1, now=4.0)
    assert [step.record["by"] for step in run.read_steps("r").values()] == ["child", "parent"]


def test_threads_share_a_journal(run):
    """Many threads write at the same time, each with a connection of its own meanwhile."""
    barrier = threading.Barrier(8)

    def write(number):
        barrier.wait()
        for place in range(5):
            run.finish("r", 1, f"r/call/{number}.{place}", {}, seconds=1, now=3.0)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(run.read_steps("r")) == 40
