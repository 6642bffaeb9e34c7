"""
Files of one's own, and those that others could have touched.
"""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolkit.storage.private_files import UnsafeFileError, check_private, make_private

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files have no modes here")


@pytest.fixture
def path(tmp_path):
    """The path of a private file."""
    path = str(tmp_path / "file")
    make_private(path)
    return path


@pytest.fixture
def no_mask():
    """A process that hides nothing from anyone by itself."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_mask")
def test_only_the_owner_can_read_a_private_file(tmp_path):
    """The umask of the process does not matter, and no other file is left."""
    make_private(str(tmp_path / "file"))
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_an_existing_file_is_not_changed(path):
    """Making it again keeps its content."""
    with open(path, "w") as file:
        file.write("kept")
    make_private(path)
    with open(path) as file:
        assert file.read() == "kept"


def test_many_threads_can_make_the_same_file_at_once(tmp_path):
    """One makes it, the others find it, and no other file is left."""
    paths = [str(tmp_path / str(number)) for number in range(20)]
    together = threading.Barrier(8)

    def make(_):
        for path in paths:
            together.wait()
            make_private(path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(8)))
    assert sorted(map(str, tmp_path.iterdir())) == sorted(paths)


def test_a_private_file_of_the_user_is_accepted(path):
    check_private(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601])
def test_a_file_that_others_can_open_is_refused(path, mode):
    """It is not repaired in silence, because others may have read or changed it."""
    os.chmod(path, mode)
    with pytest.raises(UnsafeFileError, match=f"opened by others.*chmod 600 {path}"):
        check_private(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == mode


def test_file_of_another_user_is_refused(path):
    """They could change it at any time."""
    os.chmod(os.path.dirname(path), 0o700)
    user = os.geteuid() + 1
    with pytest.raises(UnsafeFileError, match="another user" if os.geteuid() == 0 else "others can write"):
        check_private(path, user=user)


def test_a_link_is_refused(path):
    os.symlink(path, f"{path}.link")
    with pytest.raises(UnsafeFileError, match="symbolic link"):
        check_private(f"{path}.link")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_or_a_special_file_is_refused(tmp_path, make):
    make(tmp_path / "other")
    with pytest.raises(UnsafeFileError, match="not a file"):
        check_private(str(tmp_path / "other"))


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
@pytest.mark.parametrize("use", [make_private, check_private])
def test_a_folder_where_others_can_write_is_refused(path, mode, use):
    """They could put another file, or a journal, in place."""
    os.chmod(os.path.dirname(path), mode)
    with pytest.raises(UnsafeFileError, match="others can write.*a folder of your own"):
        use(path)
