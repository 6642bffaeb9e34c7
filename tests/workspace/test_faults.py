"""Processes that are killed, and disks that are full: the old file or the new one, never half."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from toolkit.errors import ToolError
from toolkit.workspace.writing import _flush_folder

from .faults import refusing

HERE = Path(__file__).parent


def run(*command, **options):
    """Return what a process says; it has to end well."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def python(script, **options):
    """Return what a script that imports toolkit says."""
    lines = f"import sys; sys.path.insert(0, {str(HERE.parents[1])!r})\n" + textwrap.dedent(script)
    return run(sys.executable, "-c", lines, **options)


@pytest.mark.long
def test_a_killed_write_leaves_the_old_file_or_the_new_one(scratch):
    """Two hundred writers are killed at any moment: the file is always whole, and what is left can be swept."""
    counts = json.loads(run(sys.executable, HERE / "killer.py", scratch, "200", "1"))
    assert counts["whole"] == 200
    assert counts["shown"] == 0
    assert counts["swept"] > 0
    assert counts["left"] == 0


WRITE = """
    import json, os, sys
    from toolkit.workspace import Workspace
    from toolkit.errors import ToolError

    space = Workspace({root!r})
    said = []
    for path in ("file", "new/folder/file"):
        try:
            space.write(path, b"n" * {size})
            said.append("written")
        except ToolError as error:
            said.append(str(error))
    print(json.dumps([said, space.read("file").decode(), sorted(os.listdir({root!r}))]))
"""


def test_a_file_that_may_not_grow_leaves_the_old_one(scratch):
    """A limit of the process on the size of files is told like a full disk."""
    (scratch / "file").write_text("old")
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n" + textwrap.dedent(
        WRITE.format(root=str(scratch), size=5000)
    )
    errors, content, names = json.loads(python(script))
    assert all("larger than a file may be; write less; what was there is as it was" in error for error in errors)
    assert (content, names) == ("old", ["file"])


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        ("mount -t tmpfs -o size=64k none {disk} && echo old > {disk}/file", "the disk is full; free some space"),
        (
            "mount -t tmpfs none {disk} && echo old > {disk}/file && mount -o remount,ro {disk}",
            "the disk is only read; choose another place",
        ),
        (
            "mount -t tmpfs -o nr_inodes=3 none {disk} && echo old > {disk}/file && echo x > {disk}/x",
            "the disk is full; free some space",
        ),
    ],
    ids=["full", "read-only", "no-names-left"],
)
def test_a_real_disk_that_takes_no_more_leaves_the_old_file(scratch, prepare, reason):
    """A disk of 64 kB is filled, one is only read, one has no room for a name: the old file stays."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("NOT TESTED: mounting a small disk needs root and unshare")
    disk = str(scratch)
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"NOT TESTED: no mounts of its own for a process here ({tried.stderr[-100:]!r})")
    script = f"import sys; sys.path.insert(0, {str(HERE.parents[1])!r})\n" + textwrap.dedent(
        WRITE.format(root=disk, size=200_000)
    )
    shell = f'{prepare.format(disk=disk)} && exec "$0" -c "$1"'
    errors, content, names = json.loads(run("unshare", "-m", "sh", "-ec", shell, sys.executable, script))
    assert all(reason in error for error in errors)
    assert content == "old\n"
    assert set(names) <= {"file", "x"}


def test_an_error_after_the_rename_does_not_deny_that_the_file_was_written(scratch):
    """The disk fails when the folder is synchronized."""
    folder = os.open(scratch, os.O_PATH)
    try:
        with pytest.raises(ToolError, match="the disk failed.*; it is written, and may be lost again"):
            refusing("fsync", errno.EIO, lambda: _flush_folder(folder, "file"))
        refusing("fsync", errno.EINVAL, lambda: _flush_folder(folder, "file"))
    finally:
        os.close(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: needs another user to be")
def test_a_folder_that_cannot_be_listed_gets_its_file(root, space):
    """It can be written, and its list cannot be flushed."""
    os.chmod(root.parent, 0o755)
    (root / "box").mkdir()
    (root / "box").chmod(0o333)
    os.seteuid(65534)
    try:
        space.write("box/file", b"x")
        assert space.read("box/file") == b"x"
    finally:
        os.seteuid(0)


def test_a_forked_process_uses_the_workspace_of_its_parent(scratch):
    """It reads and writes, also if another thread of the parent was about to write at the fork."""
    answer = python(f"""
        import os
        from toolkit.workspace import Workspace

        space = Workspace({str(scratch)!r})
        with space._lock:
            child = os.fork()
            if child == 0:
                space.write("file", b"from the child")
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        print(space.read("file").decode())
    """)
    assert answer == "from the child\n"
