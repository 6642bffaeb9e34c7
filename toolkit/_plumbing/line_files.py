"""
A file to which any number of threads and processes add lines at the same time.

Each line is written whole. The file is opened for each line. So if a log rotation moves the file away, a new file is
made, and a forked child shares nothing with its parent.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator

__all__ = ["LineFile"]

_OPEN_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_FLAGS |= getattr(os, "O_NONBLOCK", 0)  # a pipe at this path must be refused at once, and not block


class LineFile:
    """
    A file of lines, which only its owner can read.

    Args:
        path: The file. It is created with mode 0600 if it does not exist. A symbolic link is refused.
        syncs_folder: Whether a new file is there after a crash of the machine.
        wait_seconds: The longest wait for another writer.

    Raises:
        OSError: The file cannot be written; so do the methods.
    """

    def __init__(self, path: str | os.PathLike[str], *, syncs_folder: bool = False, wait_seconds: float = 10.0) -> None:
        self.path = os.path.abspath(path)  # a later `chdir` must not lead to a second file
        self._syncs_folder = syncs_folder
        self._wait_seconds = wait_seconds
        with self._open_locked():
            pass  # raises now if nothing can be written

    def append(self, line: bytes, *, sync: bool = False) -> None:
        """Add *line*, which has no line feed. With *sync*, it is there after a crash of the machine."""
        with self._open_locked() as handle:
            _append(handle, line + b"\n")
            if sync:
                os.fsync(handle)

    @contextlib.contextmanager
    def _open_locked(self) -> Iterator[int]:
        """Open and lock the file, and yield its descriptor."""
        import fcntl

        deadline = time.monotonic() + self._wait_seconds
        while True:
            handle, is_new = self._open()
            try:
                _lock(handle, deadline)
                try:
                    if os.fstat(handle).st_nlink:
                        if is_new and self._syncs_folder:
                            _sync_folder(os.path.dirname(self.path))
                        yield handle
                        return
                finally:
                    # Unlocked explicitly, because a child that was forked meanwhile holds the same lock.
                    fcntl.flock(handle, fcntl.LOCK_UN)
            finally:
                os.close(handle)
            # The file was removed before it was locked. A line written to it would be lost.
            if time.monotonic() >= deadline:
                raise OSError("it is removed again and again")

    def _open(self) -> tuple[int, bool]:
        try:
            handle, is_new = os.open(self.path, _OPEN_FLAGS | os.O_EXCL, 0o600), True
        except FileExistsError:
            handle, is_new = os.open(self.path, _OPEN_FLAGS, 0o600), False
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError("it is not a regular file")
        return handle, is_new


def _append(handle: int, line: bytes) -> None:
    """
    Write *line*, in one piece if the system accepts that.

    If the line before it is not finished, *line* is written on a new line.
    """
    size = os.fstat(handle).st_size
    if size and os.pread(handle, 1, size - 1) != b"\n":
        line = b"\n" + line
    while line:
        line = line[os.write(handle, line) :]


def _lock(handle: int, deadline: float) -> None:
    import fcntl

    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise OSError("another process holds it for too long") from None
            time.sleep(0.001)


def _sync_folder(path: str) -> None:
    """Sync the folder, so that a new file in it still exists after a crash."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
