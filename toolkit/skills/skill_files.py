"""
The skill files of a folder: which there are, what is in them, whether they have changed.

`NAME.md`, and `NAME/SKILL.md` with whatever belongs to it beside. Hidden entries
and a `README.md` are passed over. Nothing is read that lies elsewhere, is no plain
file, or is too large.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from .parsing import FOLDER_FILE
from .problems import SkillProblem

__all__ = ["Stamp", "contents", "file_stamp", "is_settled", "stamp", "tree_stamp"]

Stamp: TypeAlias = frozenset[tuple[str, int, int, int, int]]
"""What tells that files have changed without reading them: path, times, size and number of each."""

_MOST_ENTRIES = 1000
_MOST_BYTES = 64 * 1024
_MOST_IN_TREE = 4000
_SETTLED_NS = 2 * 10**9


def contents(folder: Path) -> tuple[dict[Path, bytes], list[SkillProblem]]:
    """What is in the skill files of *folder*, by path in order; and what could not be read."""
    found: dict[Path, bytes] = {}
    problems = []
    try:
        files = _files(folder)
    except (OSError, ValueError) as error:
        return {}, [SkillProblem(folder, None, f"its skills cannot be read: {_worded(error)}")]
    home = os.path.realpath(folder)
    for path in files:
        try:
            found[path] = _content(path, home)
        except (OSError, ValueError) as error:
            problems.append(SkillProblem(path, None, _worded(error)))
    return found, problems


def _files(folder: Path) -> list[Path]:
    """The paths of what may be skills, in order."""
    with os.scandir(folder) as entries:
        names = []
        for entry in entries:
            names.append(entry.name)
            if len(names) > _MOST_ENTRIES:
                raise ValueError(f"it holds more than {_MOST_ENTRIES} entries; keep other things elsewhere")
    return [path for name in sorted(names) if (path := _file(folder, name)) is not None]


def _file(folder: Path, name: str) -> Path | None:
    if name.startswith(".") or name.lower() == "readme.md":
        return None
    path = folder / name
    inside = path / FOLDER_FILE
    if os.path.lexists(inside):  # also where the folder is a link: what it leads to is looked at when it is read
        return inside
    return path if name.endswith(".md") else None


def _content(path: Path, home: str) -> bytes:
    end = os.path.realpath(path)
    if os.path.commonpath((end, home)) != home:
        raise ValueError(f"it is a link that leads out of {home}; put a copy there instead")
    # What may stand at the end of the links is looked at once it is open; a pipe would not come back.
    handle = os.open(end, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a file; remove it, or write one")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(_MOST_BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES // 1024} KB; put what is seldom needed in a file beside it")
    return content


def stamp(folder: Path) -> Stamp:
    """The stamp of the skill files of *folder*; of what cannot be read, that it cannot."""
    try:
        paths = [folder, *_files(folder)]
    except (OSError, ValueError):
        paths = [folder]
    return frozenset(map(_stamped, map(str, paths)))


def tree_stamp(top: Path) -> Stamp:
    """The stamp of everything below *top*, as far as a trusted folder can reach."""
    return frozenset(map(_stamped, _below(str(top))))


def file_stamp(path: Path) -> Stamp:
    """The stamp of one file."""
    return frozenset([_stamped(str(path))])


def _below(top: str) -> Iterator[str]:
    count = 0
    yield top
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            count += 1
            if count > _MOST_IN_TREE:
                return
            yield os.path.join(folder, name)


def is_settled(seen: Stamp, now_ns: int) -> bool:
    """Whether *seen* can be relied on: a file that was changed a moment ago may change again under the same stamp."""
    return all(now_ns - changed_ns > _SETTLED_NS for _, _, changed_ns, _, _ in seen)


def _stamped(path: str) -> tuple[str, int, int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0, 0, 0
    return path, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _worded(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or 'it cannot be opened'}; make it readable, or remove it"
    return str(error)
