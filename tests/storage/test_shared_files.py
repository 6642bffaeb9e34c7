"""Files that several processes change."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from toolkit.storage.shared_files import hold_lock, write_atomically


def test_a_failed_write_does_not_change_the_file(tmp_path):
    path = tmp_path / "a.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["a.json"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_writers_that_hold_the_lock_lose_no_change(tmp_path):
    path = tmp_path / "count"

    def add():
        with hold_lock(path):
            write_atomically(path, str(int(path.read_text() if path.exists() else 0) + 1))

    threads = [threading.Thread(target=add) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "20"
