"""
The content of a folder, with one `Entry` for each name, and a walk over everything below it.

A walk has always the same order. Links are listed and not followed. Folders that vanish, turn into links, may not be
read, or lie too deep are not entered. Secrets are listed by name and never opened. The temporary files of writes are
never listed, and those that a killed process left behind can be removed.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from operator import itemgetter
from typing import Literal, NamedTuple

from .borders import CheckedPath
from .open_beneath import READ_FLAGS, open_beneath

__all__ = [
    "TEMPORARY_NAME",
    "Entry",
    "make_entry",
    "make_temporary_name",
    "read_entries",
    "remove_stale_temporaries",
    "walk_entries",
]

EntryKind = Literal["file", "folder", "link", "other"]

TEMPORARY_NAME = re.compile(r"\.toolkit-[0-9a-f]{16}\.tmp")
"""The names of temporary files. No tool may write such a file."""

_MAX_LEVELS = 256


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


def walk_entries(
    target: CheckedPath,
    first_entries: Iterable[Entry],
    *,
    skip: Callable[[Entry], bool] | None,
    is_hidden: Callable[[str], bool],
) -> Iterator[Entry]:
    """
    Yield the entries below *target*, sorted by name, with each folder before its content.

    *first_entries* are those of the folder itself. An entry for which *skip* returns True is left out, with everything
    below it. A folder whose whole path *is_hidden* is listed but not opened.
    """
    # Each level is kept with the path that leads to it from the folder's descriptor.
    waiting = [(iter(first_entries), "" if target.relative_path == "." else f"{target.relative_path}/")]
    while waiting:
        level, inner = waiting[-1]
        entry = next(level, None)
        if entry is None:
            waiting.pop()
            continue
        if skip is not None and skip(entry):
            continue
        yield entry
        if entry.kind != "folder" or len(waiting) == _MAX_LEVELS:
            continue
        below = f"{inner}{entry.name}"
        if not is_hidden(os.path.join(target.folder.path, below)):
            with suppress(OSError):
                waiting.append((iter(read_entries(target, below, f"{entry.path}/")), f"{below}/"))


def read_entries(target: CheckedPath, relative_path: str, path_prefix: str) -> list[Entry]:
    """
    Return the entries of the folder *relative_path*, sorted by name. Entries that vanish meanwhile are left out.

    *path_prefix* is the text that the path of each entry begins with.
    """
    fd = open_beneath(target.folder, relative_path, READ_FLAGS | os.O_DIRECTORY)
    try:
        return _list_entries(fd, path_prefix)
    finally:
        os.close(fd)


def _list_entries(folder: int, path_prefix: str) -> list[Entry]:
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
    listing.sort(key=itemgetter(1))
    return listing


def make_temporary_name() -> str:
    """Return a name that no other file has and that cannot be guessed."""
    return f".toolkit-{secrets.token_hex(8)}.tmp"


def remove_stale_temporaries(folder: int, before: float) -> list[str]:
    """Remove the temporary files of an open folder that were not written to since *before*. Return their names."""
    with os.scandir(folder) as names:
        temporary_names = sorted(entry.name for entry in names if TEMPORARY_NAME.fullmatch(entry.name))
    removed = []
    for name in temporary_names:
        with suppress(OSError):  # another process removed it, or it may not be removed
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_mtime <= before:
                os.unlink(name, dir_fd=folder)
                removed.append(name)
    return removed
