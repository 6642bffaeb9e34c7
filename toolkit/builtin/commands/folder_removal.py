"""
Removing a folder with all that is in it, however deep it is and whatever a command made of it.

Folders inside folders are moved up before they are looked into, so two descriptors are enough for any depth and no
path gets long. No link is followed. What cannot be removed is left.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress

__all__ = ["remove_folder"]

_LOOK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


def remove_folder(path: str, *, most_seconds: float = 60.0, now: Callable[[], float] = time.monotonic) -> bool:
    """
    Remove the folder at *path*; whether it is gone.

    Args:
        most_seconds: When to give up: somebody may fill it as fast as it is emptied.
    """
    end = now() + most_seconds
    with suppress(OSError):
        _unlock(None, path)
        top = os.open(path, _LIST)
        try:
            waiting = _emptied(top, top)
            while waiting and now() < end:
                waiting += _removed(top, waiting.pop())
        finally:
            os.close(top)
        os.rmdir(path)
    return not os.path.lexists(path)


def _removed(top: int, name: str) -> list[str]:
    """Remove the folder *name* of *top*; the names of those that were in it, which are in *top* now."""
    found: list[str] = []
    with suppress(OSError):
        folder = os.open(name, _LIST, dir_fd=top)
        try:
            found = _emptied(folder, top)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)
    return found


def _emptied(folder: int, top: int) -> list[str]:
    """Remove the files of *folder*, and move its folders to *top*; what these are called there."""
    moved = []
    with os.scandir(folder) as entries:
        listed = list(entries)
    for entry in listed:
        with suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=folder)
                continue
            _unlock(folder, entry.name)
            name = secrets.token_hex(8)
            os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=top)
            moved.append(name)
    return moved


def _unlock(folder: int | None, name: str) -> None:
    """Let us into the folder *name*: package managers leave some that nobody may write."""
    fd = os.open(name, _LOOK, dir_fd=folder)
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_IMODE(mode) & 0o700 != 0o700:
            # Not by its name, behind which there could be a link by now.
            os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)
