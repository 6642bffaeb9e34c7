"""The content of a folder, with one `Entry` for each name."""

from __future__ import annotations

import os
import stat
from operator import itemgetter
from typing import Literal, NamedTuple

from .temporaries import TEMPORARY_NAME

__all__ = ["Entry", "EntryKind", "list_entries", "make_entry"]

EntryKind = Literal["file", "folder", "link", "other"]


class Entry(NamedTuple):  # not a dataclass: a walk makes tens of thousands, and a named tuple costs a third
    """
    A file, folder or link as a tool sees it.

    Attributes:
        path: The path as the model writes it: relative to the root if it is inside the root, otherwise absolute.
        name: The last part of the path.
        kind: The kind of the entry. "other" is a device, a socket or a pipe. A link is never followed.
        size: The size in bytes.
        modified: The time when the content last changed, in seconds since 1970.
        mode: The permission bits.
    """

    path: str
    name: str
    kind: EntryKind
    size: int
    modified: float
    mode: int


_KINDS: dict[int, EntryKind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


def make_entry(path: str, name: str, status: os.stat_result) -> Entry:
    """Return the entry for a path with this *status*."""
    mode = status.st_mode
    kind = _KINDS.get(stat.S_IFMT(mode), "other")
    return Entry(path, name, kind, status.st_size, status.st_mtime, stat.S_IMODE(mode))


def list_entries(folder: int, path_prefix: str) -> list[Entry]:
    """
    Return the entries of an open folder, sorted by name. Entries that vanish meanwhile are left out.

    Args:
        folder: The folder's descriptor. It stays open.
        path_prefix: The text that the path of each entry begins with.
    """
    listing = []
    with os.scandir(folder) as entries:
        for dir_entry in entries:
            name = dir_entry.name
            if name[0] == "." and TEMPORARY_NAME.fullmatch(name):
                continue
            try:
                status = dir_entry.stat(follow_symlinks=False)
            except OSError:
                continue
            # At the start of a path, a `~` would be read as a user's home folder.
            path = f"./{name}" if name[0] == "~" and not path_prefix else path_prefix + name
            listing.append(make_entry(path, name, status))
    listing.sort(key=_by_name)
    return listing


_by_name = itemgetter(1)
