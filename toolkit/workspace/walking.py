"""
A walk over everything below a folder, always in the same order.

Links are listed and not followed. Folders that vanish, turn into links, may not be read, or lie too deep are not
entered. Secrets are listed by name and never opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from .borders import Spot
from .entries import Entry, listed
from .open_beneath import READ, open_beneath

__all__ = ["entries_beneath", "walked"]

_MOST_LEVELS = 256


def walked(
    spot: Spot,
    first: Iterable[Entry],
    *,
    skip: Callable[[Entry], bool] | None,
    is_hidden: Callable[[str], bool],
) -> Iterator[Entry]:
    """
    Yield the entries below *spot*, sorted by name, with each folder before its content.

    Args:
        first: The entries of the folder itself.
        skip: A function that returns True for an entry to leave out, with everything below it.
        is_hidden: A function that returns True for the whole path of a folder that is listed but not opened.
    """
    # Each level is kept with the path that leads to it from the folder's descriptor.
    waiting = [(iter(first), "" if spot.inner == "." else f"{spot.inner}/")]
    while waiting:
        level, inner = waiting[-1]
        entry = next(level, None)
        if entry is None:
            waiting.pop()
            continue
        if skip is not None and skip(entry):
            continue
        yield entry
        if entry.kind != "folder" or len(waiting) == _MOST_LEVELS:
            continue
        below = f"{inner}{entry.name}"
        if not is_hidden(os.path.join(spot.folder.path, below)):
            waiting.append((iter(_entries_or_empty(spot, below, f"{entry.path}/")), f"{below}/"))


def entries_beneath(spot: Spot, inner: str, start: str) -> list[Entry]:
    """Return the entries of the folder *inner*, as `listed` returns them."""
    fd = open_beneath(spot.folder, inner, READ | os.O_DIRECTORY)
    try:
        return listed(fd, start)
    finally:
        os.close(fd)


def _entries_or_empty(spot: Spot, inner: str, start: str) -> list[Entry]:
    try:
        return entries_beneath(spot, inner, start)
    except OSError:
        return []
