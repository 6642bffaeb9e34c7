"""Writing through a workspace: whole or not at all, and only over what was expected."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
import subprocess
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.descriptors import list_descriptors, list_new_descriptors
from toolkit.decisions import Changed
from toolkit.errors import Safety, ToolError
from toolkit.workspace import Workspace, WriteResult
from toolkit.workspace.borders import CheckedPath
from toolkit.workspace.open_beneath import OpenFolder
from toolkit.workspace.writing import _move_into_place, write_file

from .faults import refusing


def digest(data):
    """Return the digest by which a file that holds *data* is expected."""
    return hashlib.sha256(data).hexdigest()


def names(folder):
    """Return every name below a folder, unfinished writes included."""
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, a, b in os.walk(folder) for name in (*a, *b))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=5000),
    name=st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=40),
)
def test_written_content_is_read_back(scratch, name, data):
    """This holds for any content under any name that may be written."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        space = Workspace(folder)
        try:
            space.write(name, data)
        except ToolError:
            assert names(folder) == []
        else:
            assert space.read(name) == data
            assert names(folder) == [name]


def test_writing_a_new_file_returns_the_created_folders(root, space):
    """The outermost comes first."""
    assert space.write("a/b/c", b"x") == WriteResult(path="a/b/c", old=None, created_folders=("a", "a/b"))
    assert space.write("a/b/d/e", b"y").created_folders == ("a/b/d",)
    assert names(root) == ["a", "a/b", "a/b/c", "a/b/d", "a/b/d/e"]


def test_replacing_a_file_returns_its_old_content(root, space):
    """It may serve for a diff or to undo."""
    (root / "file").write_bytes(b"old")
    assert space.write(f"{root}/file", b"new") == WriteResult(path="file", old=b"old")
    assert (root / "file").read_bytes() == b"new"
    assert names(root) == ["file"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_mode_of_any_new_file(root, space, mask):
    """The user's mask holds, for a file and for the folders made."""
    before = os.umask(mask)
    try:
        space.write("folder/file", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "folder/file").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((root / "folder").stat().st_mode) == 0o777 & ~mask


@pytest.mark.parametrize(("mode", "mode_after"), [(0o600, 0o600), (0o755, 0o755), (0o664, 0o664), (0o6755, 0o755)])
def test_a_replaced_file_keeps_its_mode(root, space, mode, mode_after):
    """All permission bits are kept, except those that run it as another user."""
    (root / "file").write_bytes(b"old")
    (root / "file").chmod(mode)
    space.write("file", b"new")
    assert stat.S_IMODE((root / "file").stat().st_mode) == mode_after


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: giving a file away needs root")
def test_a_replaced_file_keeps_its_owner_if_the_system_permits(root, space):
    (root / "file").write_bytes(b"old")
    os.chown(root / "file", 1234, 2345)
    space.write("file", b"new")
    assert ((root / "file").stat().st_uid, (root / "file").stat().st_gid) == (1234, 2345)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: giving a file away needs root")
def test_a_write_succeeds_although_the_owner_cannot_be_kept(root, space):
    """A file of another user that may be written belongs to the writer afterwards."""
    (root / "file").write_bytes(b"old")
    os.chown(root / "file", 1234, 2345)
    refusing("fchown", errno.EPERM, lambda: space.write("file", b"new"))
    assert (root / "file").read_bytes() == b"new"
    assert (root / "file").stat().st_uid == os.geteuid()


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: needs another user to be")
def test_a_file_that_may_not_be_written_is_not_replaced(root, space):
    """A rename would do it in a folder of one's own, against the mode of the file."""
    (root / "file").write_bytes(b"old")
    (root / "file").chmod(0o444)
    for folder in (root.parent, root):
        os.chmod(folder, 0o777)
    os.seteuid(65534)
    try:
        with pytest.raises(ToolError, match="cannot be written: this user has no right to"):
            space.write("file", b"new")
    finally:
        os.seteuid(0)
    assert (root / "file").read_bytes() == b"old"
    assert names(root) == ["file"]


def test_a_program_that_runs_is_replaced(root, space):
    """It cannot be opened for writing, but a new file can take its name."""
    shutil.copy(shutil.which("cat"), root / "program")
    with subprocess.Popen([root / "program"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"x")
        process.stdin.flush()
        process.stdout.read(1)
        space.write("program", b"new")
        process.stdin.close()
        process.stdout.read()
    assert (root / "program").read_bytes() == b"new"


@pytest.mark.parametrize("old", [b"old", None])
def test_writing_to_a_link_writes_its_target(root, space, old):
    """The link stays, and the target may be missing."""
    (root / "folder").mkdir()
    if old is not None:
        (root / "folder" / "file").write_bytes(old)
    (root / "link").symlink_to("folder/file")
    assert space.write("link", b"new") == WriteResult(path="link", old=old)
    assert (root / "link").is_symlink()
    assert (root / "folder" / "file").read_bytes() == b"new"


def test_other_names_of_a_file_keep_the_old_content(root, space):
    """A hard link is another file afterwards."""
    (root / "file").write_bytes(b"old")
    os.link(root / "file", root / "other")
    space.write("file", b"new")
    assert (root / "other").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("old", "expected", "reason"),
    [
        (b"old", None, "exists already; read it first"),
        (b"old", digest(b"older"), "was changed since it was read"),
        (None, digest(b""), "was removed since it was read"),
    ],
)
def test_content_that_was_not_expected_is_kept(root, space, old, expected, reason):
    """A file that changed is not overwritten, and no temporary file is left."""
    if old is not None:
        (root / "file").write_bytes(old)
    with pytest.raises(Changed, match=f"'file' {reason}"):
        space.write("file", b"new", expected=expected)
    assert names(root) == ([] if old is None else ["file"])
    assert old is None or (root / "file").read_bytes() == old


@pytest.mark.parametrize(
    ("old", "expected"), [(b"old", digest(b"old")), (b"", digest(b"")), (None, None), (b"old", ...)]
)
def test_a_file_with_the_expected_digest_is_replaced(root, space, old, expected):
    """A file that was expected to be missing is created."""
    if old is not None:
        (root / "file").write_bytes(old)
    assert space.write("file", b"new", expected=expected).old == old
    assert (root / "file").read_bytes() == b"new"
    assert names(root) == ["file"]


def test_folders_of_a_failed_write_are_removed(root, space):
    (root / "kept").mkdir()
    with pytest.raises(Changed):
        space.write("kept/a/b/file", b"x", expected=digest(b""))
    assert names(root) == ["kept"]


def test_a_file_on_the_way_is_an_error(root, space):
    """A path below a file cannot be made."""
    (root / "file").write_bytes(b"x")
    with pytest.raises(
        ToolError, match="'file/more/deep' cannot be written: it, or a name on the way to it, is not a folder"
    ):
        space.write("file/more/deep", b"x")


def test_a_write_has_a_limit(root):
    """Exactly the limit is written; one byte more is refused with a remedy."""
    space = Workspace(root, max_write_bytes=4)
    space.write("file", b"1234")
    with pytest.raises(ToolError, match=r"would get 5 bytes.*no more than 4.*max_write_bytes"):
        space.write("file", b"12345")
    assert (root / "file").read_bytes() == b"1234"


def test_a_file_that_is_too_large_to_return_is_not_replaced(root):
    (root / "file").write_bytes(b"12345")
    space = Workspace(root, max_read_bytes=4)
    with pytest.raises(ToolError, match="holds more than 4 bytes, too many to be replaced"):
        space.write("file", b"x")
    assert names(root) == ["file"]


@pytest.mark.parametrize("path", ["folder", "."])
def test_a_folder_is_not_written(root, space, path):
    """The message says that it is one."""
    (root / "folder").mkdir()
    with pytest.raises(ToolError, match="is a folder|holds, a folder"):
        space.write(path, b"x")


def test_a_name_that_would_be_swept_is_not_written(root, space):
    """A name of an unfinished write is refused."""
    with pytest.raises(ToolError, match="named like an unfinished write"):
        space.write(".toolkit-0123456789abcdef.tmp", b"x")


def test_threads_never_lose_each_others_writes(scratch, root, space):
    """Eight threads count up one file, each on what it read: every count is there in the end."""
    space.write("count", b"0")

    def count():
        done = 0
        while done < 25:
            old = space.read("count")
            try:
                space.write("count", b"%d" % (int(old) + 1), expected=digest(old))
            except Changed:
                continue
            done += 1

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert space.read("count") == b"200"


def test_one_of_many_threads_creates_a_file(root, space):
    """No thread expects the file. New folders on the way cause no failure."""
    won, lost = [], []
    barrier = threading.Barrier(8)

    def make(number):
        barrier.wait()
        try:
            space.write("a/b/file", b"%d" % number, expected=None)
            won.append(number)
        except Changed:
            lost.append(number)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert len(lost) == 7
    assert space.read("a/b/file") == b"%d" % won[0]


FAULTS = [
    ("write", errno.ENOSPC, "the disk is full; free some space"),
    ("write", errno.EDQUOT, "share of the disk is used up"),
    ("write", errno.EIO, "the disk failed"),
    ("write", errno.EFBIG, "larger than a file may be"),
    ("fsync", errno.EIO, "the disk failed"),
    ("fsync", errno.ENOSPC, "the disk is full"),
    ("fchmod", errno.EPERM, "the system does not permit it"),
    ("renameat", errno.EIO, "the disk failed"),
    ("renameat", errno.EROFS, "the disk is only read"),
    ("renameat", errno.EBUSY, "EBUSY"),
]


@pytest.mark.parametrize(
    ("call", "number", "reason"), FAULTS, ids=[f"{call}-{errno.errorcode[number]}" for call, number, _ in FAULTS]
)
def test_a_disk_that_fails_leaves_the_old_file(root, space, call, number, reason):
    """After any error of the system, the old file stays, no other file does, and the reason is in the error."""
    (root / "file").write_bytes(b"old")
    with pytest.raises(ToolError, match=f"'file' cannot be written.*{reason}.*; what was there is as it was"):
        refusing(call, number, lambda: space.write("file", b"new"))
    assert (root / "file").read_bytes() == b"old"
    assert names(root) == ["file"]


@pytest.mark.parametrize("call", ["mkdirat", "write", "linkat"])
def test_a_disk_that_fails_leaves_no_new_file(root, space, call):
    """The new folders are removed as well."""
    with pytest.raises(ToolError, match="the disk is full"):
        refusing(call, errno.ENOSPC, lambda: space.write("a/b/file", b"new", expected=None))
    assert names(root) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_disk_without_hard_links_gets_new_files(root, space, number):
    """A new file is renamed into place."""
    refusing("linkat", number, lambda: space.write("file", b"new", expected=None))
    assert names(root) == ["file"]


def test_no_descriptor_is_left_open(root, space):
    """Whether a write succeeds or fails, it closes what it opened."""
    (root / "file").write_bytes(b"old")
    before = list_descriptors()
    space.write("a/b/file", b"x")
    space.write("file", b"x")
    for path, expected in (("file", None), ("c/d/file", digest(b"")), ("file/x", ...), (".env", ...)):
        with pytest.raises(ToolError):
            space.write(path, b"x", expected=expected)
    assert not list_new_descriptors(before)


def leave(*paths):
    """Leave unfinished writes behind, as a killed process does."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")


def test_unfinished_writes_are_swept(root, space):
    """No other file is removed."""
    name = ".toolkit-0123456789abcdef.tmp"
    leave(root / name, root / "a" / name, root / "a" / "x.tmp", root / "a" / ".toolkit-0123.tmp")
    (root / "b" / name).mkdir(parents=True)
    (root / "c").symlink_to("../outside")
    leave(root.parent / "outside" / name)
    assert space.sweep(older_than_seconds=0) == [name, f"a/{name}"]
    assert names(root) == ["a", "a/.toolkit-0123.tmp", "a/x.tmp", "b", f"b/{name}", "c"]
    assert (root.parent / "outside" / name).exists()


def test_a_write_in_progress_is_not_swept(root, space):
    """Another process may still finish a young file."""
    leave(root / ".toolkit-0123456789abcdef.tmp")
    assert space.sweep() == []
    assert len(names(root)) == 1


def test_only_writable_folders_are_swept(root, scratch, way):
    """A writable folder inside a read-only one is swept."""
    name = ".toolkit-0123456789abcdef.tmp"
    leave(root / "vendor" / name, root / "vendor" / "mine" / name, scratch / "lib" / name)
    space = Workspace(root, folders=[root / "vendor" / "mine", scratch / "lib"], read_only=[root / "vendor"], way=way)
    assert sorted(space.sweep(older_than_seconds=0)) == sorted([f"vendor/mine/{name}", str(scratch / "lib" / name)])


def test_a_preview_made_before_holds_until_the_write(root, space):
    """The digest that an approval remembers is the one that a write expects."""
    from toolkit.approvals.previews import file_change

    (root / "file").write_bytes(b"old")
    [condition] = file_change("file", b"new", root=space.root).preconditions
    assert condition.path == space.place("file")
    (root / "file").write_bytes(b"other")
    with pytest.raises(Changed):
        space.write("file", b"new", expected=condition.sha256)


def test_a_refused_write_is_a_refusal(root, space):
    """Safety is told as such, so that the user hears of it."""
    with pytest.raises(Safety):
        space.write("../outside/new", b"x")


@contextlib.contextmanager
def meanwhile(action):
    """Run *action* under the lock, after the new content was written and before it is put in place."""
    action()
    yield


def write_while(root, way, action, *, path="folder/file", expected=...):
    """Write while another program acts."""
    spot = CheckedPath(OpenFolder(str(root), way=way), path, str(root / path))
    return write_file(spot, b"new", path=path, expected=expected, max_old_bytes=1000, lock=meanwhile(action))


@pytest.fixture
def folder(root):
    """A folder with a file in it."""
    (root / "folder").mkdir()
    (root / "folder" / "file").write_bytes(b"old")
    return root / "folder"


@pytest.mark.parametrize("replacement", ["nothing", "folder", "file"])
def test_no_file_is_written_into_a_folder_that_was_moved(root, way, folder, replacement):
    """The judged path does not lead there any more."""

    def move():
        folder.rename(root.parent / "moved")
        if replacement == "folder":
            folder.mkdir()
        elif replacement == "file":
            folder.write_bytes(b"a file now")

    with pytest.raises(ToolError, match="another program replaced it meanwhile; try again"):
        write_while(root, way, move)
    assert names(root.parent / "moved") == ["file"]
    assert (root.parent / "moved" / "file").read_bytes() == b"old"


@pytest.mark.parametrize("swapped", ["folder", "file"])
def test_a_link_that_appears_during_a_write_is_eloop(root, way, folder, swapped):
    """The caller follows and judges it as any other link."""

    def swap():
        (folder if swapped == "folder" else folder / "file").rename(root.parent / "moved")
        (folder if swapped == "folder" else folder / "file").symlink_to(root.parent / "outside")

    with pytest.raises(OSError, match="symbolic links") as caught:
        write_while(root, way, swap)
    assert caught.value.errno == errno.ELOOP
    assert os.listdir(root.parent / "outside") == ["secret.txt"]


@pytest.mark.parametrize("action", ["change", "replace", "remove"])
def test_a_file_that_changes_during_a_write_is_noticed(root, way, folder, action):
    """The comparison is with the file at the end, and not at the start."""

    def act():
        if action == "change":
            (folder / "file").write_bytes(b"other")
        elif action == "replace":
            (folder / "other").write_bytes(b"other")
            (folder / "other").rename(folder / "file")
        else:
            (folder / "file").unlink()

    with pytest.raises(Changed, match="since it was read"):
        write_while(root, way, act, expected=digest(b"old"))
    assert not (folder / "file").exists() or (folder / "file").read_bytes() == b"other"


def test_a_file_that_is_created_during_a_write_is_kept(root, way, folder):
    """A new file does not replace one of another program."""
    with pytest.raises(Changed, match="exists already"):
        write_while(root, way, lambda: (folder / "new").write_bytes(b"theirs"), path="folder/new", expected=None)
    assert (folder / "new").read_bytes() == b"theirs"
    assert names(folder) == ["file", "new"]


def test_a_file_that_is_created_at_the_last_moment_is_kept(folder):
    """The system refuses to give its name to a second file."""
    (folder / "temporary").write_bytes(b"ours")
    fd = os.open(folder, os.O_PATH)
    try:
        with pytest.raises(Changed, match="was made by another program meanwhile"):
            _move_into_place(fd, "temporary", "file", "file", only_if_new=True)
    finally:
        os.close(fd)
    assert (folder / "file").read_bytes() == b"old"


def test_a_pipe_that_appears_during_a_write_is_not_waited_for(root, way, folder):
    """The error comes at once."""

    def swap():
        (folder / "file").unlink()
        os.mkfifo(folder / "file")

    with pytest.raises(ToolError, match="only files can be read or written"):
        write_while(root, way, swap)
    assert names(folder) == ["file"]
