"""
Files that only their owner can read, in a folder where only their owner can write.

A file that others could have changed is refused, not repaired, because a person has to look at it first. On systems
where files have no modes, the system itself has to keep others out.
"""

from __future__ import annotations

import os
import secrets
import stat

__all__ = ["UnsafeFileError", "check_folder", "check_private", "make_private"]


class UnsafeFileError(Exception):
    """A file that is not its owner's alone; the message says why, and what to do about it."""


def make_private(path: str) -> None:
    """Create an empty file that only its owner can open, unless it exists; raise if others can write in the folder."""
    check_folder(os.path.dirname(path))
    if os.path.lexists(path):
        return
    # The file is created under a random name and closed before others can know it. Closing a file that
    # another thread has open through SQLite would drop the locks of that thread.
    temporary_path = f"{path}-{secrets.token_hex(8)}"
    os.close(os.open(temporary_path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        os.link(temporary_path, path)
    except FileExistsError:
        pass  # Another process or thread created the file first.
    finally:
        os.unlink(temporary_path)


def check_private(path: str, *, user: int | None = None) -> None:
    """Raise `UnsafeFileError` unless only *user*, by default that of this process, can open or replace the file."""
    check_folder(os.path.dirname(path), user)
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise UnsafeFileError("is a symbolic link; give the path that it leads to")
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeFileError("is not a file; give the path of one, or of none yet")
    if os.name != "posix":
        return
    if status.st_uid != _user(user):
        raise UnsafeFileError("belongs to another user; give another path")
    if status.st_mode & 0o077:
        raise UnsafeFileError(f"can be opened by others; check that it was not changed, then run `chmod 600 {path}`")


def check_folder(folder: str | os.PathLike[str], user: int | None = None) -> None:
    """Raise `UnsafeFileError` unless only *user*, or the administrator, can write in the folder."""
    status = os.stat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafeFileError("is not in a folder; give another path")
    # The administrator can write in any case. A sticky bit does not help: others could put a journal beside the file.
    if os.name == "posix" and (status.st_uid not in (_user(user), 0) or status.st_mode & 0o022):
        raise UnsafeFileError(
            "is in a folder where others can write, and could put another in its place; "
            "give a folder of your own, made with `mkdir -m 700`"
        )


def _user(user: int | None) -> int:
    return os.geteuid() if user is None else user
