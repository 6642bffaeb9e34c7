"""
Whether only the user, or the administrator, could have written a file: the file itself and the folders it is in.

A folder where others can write is as bad as a file that they can write: they put another file in its place. A
sticky bit, as `/tmp` has it, keeps others from replacing a folder that belongs to the user, but not from making
a file where there is none yet.
"""

from __future__ import annotations

import os
import stat

__all__ = ["find_foreign_writer"]

_MOST_LINKS = 40
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def find_foreign_writer(path: str | os.PathLike[str]) -> str | None:
    """
    Return which folder on the way to *path* others could write, and the remedy; None if there is none.

    Links are followed, and each folder that a link stands in counts. A folder that does not exist yet is fine: it
    is made for the user alone. `OSError` if a folder cannot be looked at.
    """
    if os.name != "posix":
        return None
    place = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        problem = _check_folders(os.path.realpath(os.path.dirname(place)))
        if problem is not None or not os.path.islink(place):
            return problem
        place = os.path.join(os.path.dirname(place), os.readlink(place))
    return f"{path} leads through too many links; give the file itself"


def _check_folders(folder: str) -> str | None:
    is_nearest = True
    while True:
        try:
            status = os.stat(folder)
        except FileNotFoundError:
            status = None
        if status is not None:
            if status.st_uid not in (os.geteuid(), 0):
                return f"the folder {folder} belongs to another user; keep the file in a folder of your own"
            if status.st_mode & _OTHERS and (is_nearest or not status.st_mode & stat.S_ISVTX):
                return f"others can write in the folder {folder}; run `chmod go-w {folder}`, or keep the file elsewhere"
            is_nearest = False
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
