"""Reading through a workspace: files only, bounded, never a wait."""

from __future__ import annotations

import os
import socket

import pytest

from tests.descriptors import list_descriptors, list_new_descriptors
from toolkit.approvals.read_only_guard import WriteRefused, read_only
from toolkit.errors import Safety, ToolError
from toolkit.workspace import Workspace


def test_a_file_is_opened_for_reading(root, space):
    """It can be read in parts and can seek."""
    (root / "file").write_bytes(b"0123456789")
    with space.open("file") as file:
        file.seek(4)
        assert file.read(3) == b"456"
        assert not file.writable()


def test_an_open_file_outlives_the_workspace(root, space):
    """Closing the workspace takes nothing from a reader."""
    (root / "file").write_bytes(b"content")
    with space.open("file") as file:
        space.close()
        assert file.read() == b"content"


def make_pipe(path):
    os.mkfifo(path)


def make_socket(path):
    at = os.open(path.parent, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{at}/{path.name}")
    os.close(at)


def make_device(path):
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero, which never ends
    except PermissionError:
        pytest.skip("NOT TESTED: making a device needs root")


@pytest.mark.parametrize("make", [make_pipe, make_socket, make_device])
@pytest.mark.parametrize("doing", ["read", "open", "write"])
def test_a_pipe_or_socket_or_device_is_refused_at_once(root, space, make, doing):
    """The refusal names it, and the call does not block."""
    make(root / "odd")
    arguments = ("odd", b"x") if doing == "write" else ("odd",)
    with pytest.raises(ToolError, match="only files can be read or written"):
        getattr(space, doing)(*arguments)
    assert space.stat("odd").kind == "other"


@pytest.mark.parametrize("path", ["folder", ".", "to_folder"])
def test_a_folder_is_not_read_as_a_file(root, space, path):
    """The message says that it is one."""
    (root / "folder").mkdir()
    (root / "to_folder").symlink_to("folder")
    with pytest.raises(ToolError, match="is a folder; name a file in it"):
        space.read(path)


USES = {
    "read": lambda space, path: space.read(path),
    "write": lambda space, path: space.write(path, b"x"),
    "stat": lambda space, path: space.stat(path),
    "walk": lambda space, path: space.walk(path),
}
"""The methods of a workspace that take a path."""


@pytest.mark.parametrize("path", ["folder/", "folder/.", "folder/..", "new/"])
@pytest.mark.parametrize("use", ["read", "write"])
def test_a_path_that_can_only_be_a_folder_is_not_read_or_written(root, space, path, use):
    """A slash at the end is not dropped, because the path would name another file."""
    (root / "folder").mkdir()
    with pytest.raises(ToolError, match="names a folder"):
        USES[use](space, path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nothing", "'nothing' does not exist; look at what is there first"),
        ("deep/er/nothing", "does not exist"),
        ("file/more", "'file/more' cannot be read: it, or a name on the way to it, is not a folder"),
        ("to_nothing", "does not exist"),
    ],
)
def test_reading_a_missing_file_is_a_plain_tool_error(root, space, path, reason):
    """The model can act on it."""
    (root / "file").write_text("x")
    (root / "to_nothing").symlink_to("nothing")
    with pytest.raises(ToolError, match=reason) as caught:
        space.read(path)
    assert not isinstance(caught.value, Safety)


def test_a_file_is_read_up_to_the_limit(root, space):
    """Exactly the limit is read; one byte more is refused with a remedy."""
    (root / "file").write_bytes(b"12345")
    assert space.read("file", max_bytes=5) == b"12345"
    with pytest.raises(ToolError, match="'file' holds more than 4 bytes; read a part of it"):
        space.read("file", max_bytes=4)
    with pytest.raises(ToolError, match="more than 3 bytes"):
        Workspace(root, max_read_bytes=3).read("file")


def test_a_file_without_a_known_size_is_bounded(way):
    """Files of /proc have the size 0 and some content."""
    space = Workspace(f"/proc/{os.getpid()}/task", way=way)
    path = f"{os.getpid()}/status"
    assert space.stat(path).size == 0
    assert space.read(path).startswith(b"Name:")
    with pytest.raises(ToolError, match="more than 10 bytes"):
        space.read(path, max_bytes=10)


def test_an_error_while_reading_is_a_tool_error(way):
    space = Workspace(f"/proc/{os.getpid()}/task", way=way)
    with pytest.raises(ToolError, match="'.*mem' cannot be read"):
        space.read(f"{os.getpid()}/mem")


@pytest.mark.skipif(os.geteuid() == 0 and not hasattr(os, "seteuid"), reason="NOT TESTED: root reads everything")
def test_reading_a_file_without_permission_is_a_tool_error(root, space):
    (root / "file").write_text("x")
    (root / "file").chmod(0)
    if os.geteuid() != 0:
        with pytest.raises(ToolError, match="this user has no right to"):
            space.read("file")
        return
    os.chmod(root.parent, 0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(ToolError, match="this user has no right to"):
            space.read("file")
    finally:
        os.seteuid(0)


def test_stat_describes_the_file_that_open_would_open(root, space):
    """Links are followed, and the path is the one that was given."""
    (root / "file").write_bytes(b"12345")
    (root / "file").chmod(0o640)
    os.utime(root / "file", (1, 2.5))
    (root / "link").symlink_to("file")
    assert space.stat("./link") == ("link", "link", "file", 5, 2.5, 0o640)
    assert space.stat(".")[:3] == (".", "root", "folder")


def test_place_is_one_name_for_one_file(root, space):
    """Every path to a file has the same place, also if the file does not exist yet."""
    (root / "link").symlink_to("file")
    (root / "here").symlink_to(".")
    paths = ("file", "link", f"{root}/link", "here/link", "here/here/file")
    assert {space.place(path) for path in paths} == {str(root / "file")}
    (root / "file").write_bytes(b"x")
    assert {space.place(path) for path in paths} == {str(root / "file")}
    with pytest.raises(ToolError, match="is not a folder"):
        space.place("file/more")


def test_is_kept_says_whether_a_name_is_protected(root):
    """Other tools ask by name alone."""
    space = Workspace(root, protected=["*.db"], unprotected=[".env"])
    questions = [(path, access) for path in (".git/config", "a.db", ".env") for access in ("read", "write")]
    answers = [space.is_kept(str(root / path), access) for path, access in questions]
    assert answers == [False, True, True, True, False, False]


@pytest.mark.parametrize(
    ("path", "display"),
    [
        ("a/b", "a/b"),
        ("./a//b/", "a/b"),
        ("{root}/a", "a"),
        ("{root}", "."),
        (".", "."),
        ("/etc/passwd", "/etc/passwd"),
        ("{root}x/a", "{root}x/a"),
        ("./~notes", "./~notes"),
    ],
)
def test_paths_are_shown_in_the_form_for_the_model(root, space, path, display):
    """They are relative inside and absolute elsewhere, and a tool accepts them."""
    assert space.shown(path.format(root=root)) == display.format(root=root)


def test_paths_of_the_whole_disk_are_shown_without_the_slash(way):
    """A workspace at the root of the disk shows paths that start there."""
    space = Workspace("/", way=way)
    assert space.shown("/etc/hostname") == "etc/hostname"
    assert space.stat("/usr").path == "usr"


def test_a_preview_may_read_and_not_write(root, space):
    """The guard of previews knows the reads of a workspace, which bypass Python."""
    (root / "file").write_bytes(b"x")
    with read_only() as tried:
        assert space.read("file") == b"x"
        with pytest.raises(ToolError, match="does not exist"):
            space.read("nothing")
        list(space.walk())
        assert tried == []
        with pytest.raises(WriteRefused):
            space.write("file", b"y")
    assert (root / "file").read_bytes() == b"x"


@pytest.mark.parametrize("use", USES)
def test_a_closed_workspace_refuses_every_method(root, use):
    """The error has the remedy."""
    space = Workspace(root)
    space.close()
    with pytest.raises(ToolError, match="is closed; make a new one"):
        USES[use](space, "file")


def test_closing_closes_the_descriptors(root):
    before = list_descriptors()
    with Workspace(root) as space:
        assert list_new_descriptors(before)
    del space
    assert not list_new_descriptors(before)


@pytest.mark.parametrize("use", ["read", "write"])
def test_a_moved_root_is_refused(root, space, use):
    """No file is read or written in another folder that has the name of the root."""
    root.rename(root.parent / "moved")
    root.mkdir()
    (root / "file").write_text("another")
    with pytest.raises(ToolError, match="was moved or replaced"):
        USES[use](space, "file")


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"max_read_bytes": 0}, ValueError, "max_read_bytes has to be more than 0"),
        ({"max_write_bytes": -1}, ValueError, "max_write_bytes has to be more than 0"),
        ({"timeout_seconds": float("nan")}, ValueError, "timeout_seconds has to be more than 0"),
        ({"folders": "/tmp"}, TypeError, "`folders` is a list"),
        ({"read_only": "/tmp"}, TypeError, "`read_only` is a list"),
        ({"protected": ".env"}, TypeError, "`protected` is a list"),
        ({"unprotected": ".env"}, TypeError, "`unprotected` is a list"),
        ({"unprotected": [".evn"]}, ValueError, "did you mean"),
        ({"folders": ["/nothing/here"]}, ValueError, "'/nothing/here' is no folder that can be opened"),
        ({"folders": ["/etc/passwd"]}, ValueError, "is a file"),
    ],
)
def test_options_are_checked_at_construction(root, options, error, reason):
    """The error has the name of the option or the wrong value."""
    with pytest.raises(error, match=reason):
        Workspace(root, **options)


def test_the_repr_of_a_workspace_has_its_root(root):
    assert repr(Workspace(root)) == f"Workspace({str(root)!r})"
