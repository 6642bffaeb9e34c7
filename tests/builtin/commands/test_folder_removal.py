"""Removing what commands leave behind, however deep and however locked."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

import pytest

from toolkit import Session
from toolkit.builtin.commands.folder_removal import remove_folder
from toolkit.builtin.commands.shell_state import end_shells, shell_of

_AS_NOBODY = """
import os, sys
from toolkit.builtin.commands.folder_removal import remove_folder
if os.geteuid() == 0:
    os.setuid(65534)
os.makedirs(f"{sys.argv[1]}/locked/inner/more")
open(f"{sys.argv[1]}/locked/inner/file", "w").close()
for name, mode in (("locked/inner", 0), ("locked", 0o500), ("", 0)):
    os.chmod(os.path.join(sys.argv[1], name), mode)
print(remove_folder(sys.argv[1]))
"""


@pytest.fixture
def scratch():
    """A folder on a disk in memory where there is one, open to every user."""
    memory = "/dev/shm"
    folder = tempfile.mkdtemp(prefix="toolkit-", dir=memory if os.access(memory, os.W_OK | os.X_OK) else None)
    os.chmod(folder, 0o777)
    yield Path(folder)
    remove_folder(folder)


def dig(folder, levels):
    """Make folders inside folders, deeper than any path can say."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)


@pytest.mark.long
def test_a_very_deep_folder_is_removed(scratch):
    """Tens of thousands of levels, which neither the stack nor the table of descriptors could hold."""
    dig(scratch, 30_000)
    assert remove_folder(str(scratch))
    assert not scratch.exists()


@pytest.mark.long
def test_the_private_folder_of_a_shell_may_be_deep(tmp_path):
    """A folder that a command left there is removed with the conversation."""
    session = Session()
    private = shell_of(session, str(tmp_path)).private_folder
    dig(f"{private}/home", 5_000)
    end_shells(session)
    assert not os.path.exists(private)


def test_a_wide_folder_is_removed(tmp_path):
    """Files, folders, pipes and links of all kinds; what a link leads to stays."""
    root, other = tmp_path / "root", tmp_path / "other"
    for place in (root / "a" / "b", root / "a" / "c", root / "d", other / "kept"):
        place.mkdir(parents=True)
        (place / "file").write_text("x")
    os.mkfifo(root / "a" / "pipe")
    (root / "a" / "link").symlink_to(other)
    (root / "loop").symlink_to(root)
    (root / "dangling").symlink_to("nowhere")
    assert remove_folder(str(root))
    assert (other / "kept" / "file").read_text() == "x"


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path):
    """Otherwise the author of the link could have another folder emptied."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("x")
    (tmp_path / "link").symlink_to("other")
    assert not remove_folder(str(tmp_path / "link"))
    assert (tmp_path / "other" / "file").exists()


def test_folders_without_permissions_are_removed(scratch):
    """Programs such as go and nix leave them. The code runs as a user who is not above permissions."""
    folder = scratch / "theirs"
    run = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, str(folder)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (run.stdout, run.stderr) == ("True\n", "")
    assert not folder.exists()


def test_removing_a_missing_folder_succeeds(tmp_path):
    assert remove_folder(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("most_seconds", [0.0, 2.0])
def test_the_removal_stops_when_the_time_is_up(tmp_path, most_seconds):
    """The clock is a parameter, and it ticks once a look."""
    root = tmp_path / "root"
    for name in "abcdef":
        (root / name).mkdir(parents=True)
    ticks = count()
    assert not remove_folder(str(root), max_seconds=most_seconds, now=lambda: float(next(ticks)))
    assert root.exists()
