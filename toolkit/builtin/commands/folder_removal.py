"""
Removal of a folder with everything in it, at any depth and with any content that a command left there.

Folders inside folders are moved up before they are listed. So two descriptors are enough for any depth, and no path
gets long. No link is followed. An entry that cannot be removed is left in place.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress

__all__ = ["remove_folder"]

_PATH_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_LIST_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


def remove_folder(path: str, *, max_seconds: float = 60.0, now: Callable[[], float] = time.monotonic) -> bool:
    """
    Remove the folder at *path*, and return whether it is gone.

    After *max_seconds* it gives up, because another process may fill the folder as fast as it is emptied.
    """
    end = now() + max_seconds
    with suppress(OSError):
        _unlock(None, path)
        top = os.open(path, _LIST_FLAGS)
        try:
            waiting = _empty_folder(top, top)
            while waiting and now() < end:
                waiting += _remove_subfolder(top, waiting.pop())
        finally:
            os.close(top)
        os.rmdir(path)
    return not os.path.lexists(path)


def _remove_subfolder(top: int, name: str) -> list[str]:
    """Remove the folder *name* in *top*. Return the new names of its subfolders, which were moved to *top*."""
    subfolders: list[str] = []
    with suppress(OSError):
        folder = os.open(name, _LIST_FLAGS, dir_fd=top)
        try:
            subfolders = _empty_folder(folder, top)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)
    return subfolders


def _empty_folder(folder: int, top: int) -> list[str]:
    """Remove the files of *folder*, and move its subfolders to *top*. Return the new names of the subfolders."""
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
    """Make the folder *name* readable and writable for us, because package managers leave folders that are not."""
    fd = os.open(name, _PATH_FLAGS, dir_fd=folder)
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_IMODE(mode) & 0o700 != 0o700:
            # The mode is not changed by name, because a link could be in its place by now.
            os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)
