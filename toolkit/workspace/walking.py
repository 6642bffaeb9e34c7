"""
A walk over everything below a folder, always in the same order.

Links are listed and not followed. Folders that vanish, turn into links, may not be read, or lie too deep are not
entered. Secrets are listed by name and never opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from .borders import CheckedPath
from .entries import Entry, list_entries
from .open_beneath import READ_FLAGS, open_beneath

__all__ = ["read_entries", "walk_entries"]

_MAX_LEVELS = 256


def walk_entries(
    target: CheckedPath,
    first_entries: Iterable[Entry],
    *,
    skip: Callable[[Entry], bool] | None,
    is_hidden: Callable[[str], bool],
) -> Iterator[Entry]:
    """
    Yield the entries below *target*, sorted by name, with each folder before its content.

    Args:
        first_entries: The entries of the folder itself.
        skip: A function that returns True for an entry to leave out, with everything below it.
        is_hidden: A function that returns True for the whole path of a folder that is listed but not opened.
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
            waiting.append((iter(_read_entries_or_empty(target, below, f"{entry.path}/")), f"{below}/"))


def read_entries(target: CheckedPath, relative_path: str, path_prefix: str) -> list[Entry]:
    """Return the entries of the folder *relative_path*, as `list_entries` returns them."""
    fd = open_beneath(target.folder, relative_path, READ_FLAGS | os.O_DIRECTORY)
    try:
        return list_entries(fd, path_prefix)
    finally:
        os.close(fd)


def _read_entries_or_empty(target: CheckedPath, relative_path: str, path_prefix: str) -> list[Entry]:
    try:
        return read_entries(target, relative_path, path_prefix)
    except OSError:
        return []
