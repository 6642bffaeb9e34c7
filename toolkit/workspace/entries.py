"""
What is in a folder, one `Entry` a name.
"""

from __future__ import annotations

import os
import stat
from operator import itemgetter
from typing import Literal, NamedTuple

from .temporaries import TEMPORARY

__all__ = ["Entry", "Kind", "entry_of", "listed"]

Kind = Literal["file", "folder", "link", "other"]


class Entry(NamedTuple):  # not a dataclass: a walk makes tens of thousands, and these cost a third
    """
    A file, folder or link as a tool sees it.

    Attributes:
        path: As the model writes it: relative to the root where it is inside, otherwise absolute.
        name: Its last part.
        kind: "other" is a device, a socket or a pipe; a link is never followed.
        size: In bytes.
        modified: When its content last changed, in seconds since 1970.
        mode: Its permission bits.
    """

    path: str
    name: str
    kind: Kind
    size: int
    modified: float
    mode: int


_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


def entry_of(path: str, name: str, status: os.stat_result) -> Entry:
    """The entry for what *status* says."""
    mode = status.st_mode
    kind = _KINDS.get(stat.S_IFMT(mode), "other")
    return Entry(path, name, kind, status.st_size, status.st_mtime, stat.S_IMODE(mode))


def listed(folder: int, start: str) -> list[Entry]:
    """
    The entries of an open folder, sorted by name; what vanishes meanwhile is left out.

    Args:
        folder: A descriptor; it stays open.
        start: What the path of each entry begins with.
    """
    found = []
    with os.scandir(folder) as entries:
        for each in entries:
            name = each.name
            if name[0] == "." and TEMPORARY.fullmatch(name):
                continue
            try:
                status = each.stat(follow_symlinks=False)
            except OSError:
                continue
            # At the start of a path a `~` would be taken for somebody's home.
            path = f"./{name}" if name[0] == "~" and not start else start + name
            found.append(entry_of(path, name, status))
    found.sort(key=_by_name)
    return found


_by_name = itemgetter(1)
