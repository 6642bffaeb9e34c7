"""Opening beneath a folder: no link is passed, by either way."""

from __future__ import annotations

import errno
import gc
import os
import subprocess
import sys
import textwrap

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.descriptors import list_descriptors, list_new_descriptors
from tests.workspace.trees import PATHS, TREES, plant
from toolkit.errors import ToolError
from toolkit.workspace.open_beneath import PATH_FLAGS, READ_FLAGS, OpenFolder, kernel_has_openat2, open_beneath

from .faults import refusing

FLAGS = {
    "look": PATH_FLAGS,
    "read": READ_FLAGS,
    "folder": PATH_FLAGS | os.O_DIRECTORY,
    "list": READ_FLAGS | os.O_DIRECTORY,
}


@pytest.fixture
def tree(root):
    """Files, folders and links of every kind."""
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("inside")
    (root / "to_folder").symlink_to("a")
    (root / "to_file").symlink_to("a/b/file")
    (root / "to_self").symlink_to("to_self")
    (root / "to_nothing").symlink_to("nothing")
    (root / "out").symlink_to(root.parent / "outside")
    (root / "a" / "up").symlink_to("../..")
    return root


def answer(folder, path, flags):
    """Return what opening gives: the identity of a file, or the error's number."""
    try:
        fd = open_beneath(folder, path, flags)
    except OSError as error:
        return error.errno
    try:
        status = os.fstat(fd)
        return status.st_dev, status.st_ino
    finally:
        os.close(fd)


@pytest.mark.parametrize("path", [".", "a", "a/b", "a/b/file"])
def test_an_existing_path_without_links_is_opened(tree, way, path):
    status = os.lstat(tree / path)
    assert answer(OpenFolder(str(tree), way=way), path, PATH_FLAGS) == (status.st_dev, status.st_ino)


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
@pytest.mark.parametrize(
    "path", ["to_folder", "to_file", "to_self", "to_nothing", "out", "a/up", "to_folder/b/file", "out/secret.txt"]
)
def test_a_link_anywhere_in_the_path_is_eloop(tree, way, path, flags):
    """This holds for every purpose of the opening."""
    assert answer(OpenFolder(str(tree), way=way), path, flags) == errno.ELOOP


@pytest.mark.parametrize(
    ("path", "flags", "number"),
    [
        ("nothing", PATH_FLAGS, errno.ENOENT),
        ("nothing/file", PATH_FLAGS, errno.ENOENT),
        ("a/b/file/more", PATH_FLAGS, errno.ENOTDIR),
        ("a/b/file", READ_FLAGS | os.O_DIRECTORY, errno.ENOTDIR),
        ("n" * 256, PATH_FLAGS, errno.ENAMETOOLONG),
    ],
)
def test_opening_a_missing_path_has_the_error_of_the_system(tree, way, path, flags, number):
    assert answer(OpenFolder(str(tree), way=way), path, flags) == number


@pytest.mark.parametrize("path", ["", "/etc/passwd", "..", "a/../a", "a/./b", "a//b", "a/", "./a", "../outside"])
def test_a_path_that_is_not_plain_is_refused(tree, way, path):
    """It could lead upwards or elsewhere, and never reaches the system."""
    with pytest.raises(ValueError, match="plain path"):
        open_beneath(OpenFolder(str(tree), way=way), path, PATH_FLAGS)


@pytest.mark.skipif(not kernel_has_openat2(), reason="NOT TESTED: this kernel has no openat2")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tree=TREES, paths=st.lists(PATHS, min_size=1, max_size=8), flags=st.sampled_from(list(FLAGS.values())))
def test_both_ways_of_opening_agree(scratch, tree, paths, flags):
    """For any tree and path, the walk and openat2 find the same file, or fail alike."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        plant(folder, tree)
        fast, slow = OpenFolder(folder, way="openat2"), OpenFolder(folder, way="walk")
        for path in paths:
            assert answer(fast, path, flags) == answer(slow, path, flags), path


def test_a_folder_is_closed_with_its_last_reference(root):
    """The descriptor is closed when the object goes, not before."""
    folder = OpenFolder(str(root))
    number = folder.fd
    os.fstat(number)
    del folder
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_folder_that_cannot_be_opened_leaves_no_descriptor(root):
    """Opening raises the error of the system, and collecting the object raises nothing."""
    with pytest.raises(FileNotFoundError):
        OpenFolder(str(root / "nothing"))
    gc.collect()


@pytest.mark.parametrize("replacement", ["nothing", "folder", "link"])
def test_a_replaced_folder_is_noticed(root, replacement):
    """A folder that was moved away is not taken for the one that has its path now."""
    folder = OpenFolder(str(root))
    folder.check()
    root.rename(root.parent / "moved")
    if replacement == "folder":
        root.mkdir()
    elif replacement == "link":
        root.symlink_to("outside")
    with pytest.raises(ToolError, match="was moved or replaced; make a new Workspace"):
        folder.check()


def test_descriptors_are_not_inherited(tree, way):
    """A program that is started sees none of them."""
    folder = OpenFolder(str(tree), way=way)
    fd = open_beneath(folder, "a/b/file", READ_FLAGS)
    try:
        assert not os.get_inheritable(folder.fd)
        assert not os.get_inheritable(fd)
    finally:
        os.close(fd)


def test_no_descriptor_is_left_open(tree, way):
    """Whether it succeeds or fails, opening leaves only what it returns."""
    folder = OpenFolder(str(tree), way=way)
    before = list_descriptors()
    for path in ("a/b/file", "a/b/nothing", "to_folder/b", "a/b/file/more", "to_self"):
        for flags in FLAGS.values():
            answer(folder, path, flags)
    assert not list_new_descriptors(before)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM], ids=["absent", "forbidden"])
def test_a_system_without_openat2_is_noticed(number):
    """The kernel is old, or a filter forbids the call."""
    asked_anew = kernel_has_openat2.__wrapped__
    assert refusing("openat2", number, asked_anew) is False


@pytest.mark.skipif(not kernel_has_openat2(), reason="NOT TESTED: this kernel has no openat2")
@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EINTR])
def test_the_number_of_tries_on_a_busy_system_is_bounded(tree, number):
    folder = OpenFolder(str(tree), way="openat2")
    assert refusing("openat2", number, lambda: answer(folder, "a", PATH_FLAGS)) == number


def test_a_machine_without_openat2_does_not_offer_it(root):
    """A caller that insists on it gets an error."""
    script = f"""
        import errno, sys
        sys.path.insert(0, {os.getcwd()!r})
        from tests.workspace.faults import refusing
        from toolkit.workspace import Workspace

        def insist():
            print(Workspace({str(root)!r}).entries())
            try:
                Workspace({str(root)!r}, way="openat2")
            except ValueError as error:
                print(error)

        refusing("openat2", errno.ENOSYS, insist)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False, timeout=60
    )
    if "NOT TESTED" in done.stderr:
        pytest.skip(done.stderr[-200:])
    assert done.stdout.splitlines()[:1] == ["[]"], done.stderr
    assert "there is no openat2 here" in done.stdout
