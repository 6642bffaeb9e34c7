"""
Check whether only the user or the administrator could have put a file at a path, by the folders that lead to it.

A folder where others can write is as bad as a file that others can write, because they can replace the file. A
sticky bit, as `/tmp` has it, keeps others from replacing a folder that belongs to the user. It does not keep them from
creating a file that does not exist yet.
"""

from __future__ import annotations

import os
import stat

__all__ = ["find_foreign_writer"]

_MAX_LINKS = 40
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def find_foreign_writer(path: str | os.PathLike[str]) -> str | None:
    """
    Return a message about a folder on the way to *path* that others could write, with the remedy; else None.

    Links are followed, also links to folders, and each folder that contains one of the links is checked. A folder that
    does not exist yet is no problem, because it is created for the user alone.

    Raises:
        OSError: The status of a folder cannot be read.
    """
    if os.name != "posix":
        return None
    folder, remaining, links = "/", _steps(os.path.abspath(path)), 0
    while remaining and links <= _MAX_LINKS:
        step = remaining.pop()
        if step == "..":  # comes from the target of a link
            folder = os.path.dirname(folder)
            continue
        entry = os.path.join(folder, step)
        try:
            status = os.lstat(entry)
        except FileNotFoundError:
            return _check_folder(folder, is_nearest=True)
        is_link = stat.S_ISLNK(status.st_mode)
        is_ours = not is_link or status.st_uid in (os.geteuid(), 0)
        problem = _check_folder(folder, is_nearest=not remaining or not is_ours)
        if problem is not None:
            return problem
        if is_link:
            links += 1
            target = os.readlink(entry)
            remaining += _steps(target)
        folder = entry if not is_link else "/" if os.path.isabs(target) else folder
    return f"{path} leads through too many links; give the file itself" if remaining else None


def _steps(path: str) -> list[str]:
    """Return the names in *path*, the last one first."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _check_folder(folder: str, *, is_nearest: bool) -> str | None:
    """Return why others could change the entries of *folder*, or None. No sticky bit protects the nearest folder."""
    status = os.stat(folder)
    if status.st_uid not in (os.geteuid(), 0):
        return f"the folder {folder} belongs to another user; keep the file in a folder of your own"
    if status.st_mode & _WRITABLE_BY_OTHERS and (is_nearest or not status.st_mode & stat.S_ISVTX):
        return f"others can write in the folder {folder}; run `chmod go-w {folder}`, or keep the file elsewhere"
    return None
