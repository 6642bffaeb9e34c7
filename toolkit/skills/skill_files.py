"""
The skill files of a folder: their paths, their content, and whether they have changed.

A skill file is `NAME.md`, or `NAME/SKILL.md` with the files that belong to it beside it. Hidden entries and a
`README.md` are skipped. A file that lies outside the folder, is not a regular file, or is too large is not read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from .._plumbing.regular_files import read_regular_file
from ..settings.project_files import PROJECT_FOLDER, ProjectFiles
from .parsing import SKILL_FILE_NAME
from .records import SkillProblem

__all__ = [
    "SKILLS_FOLDER",
    "Stamp",
    "is_settled",
    "list_paths",
    "list_tree",
    "read_contents",
    "read_project_contents",
    "stamp_paths",
]

SKILLS_FOLDER = "skills"
"""The folder with skills, in the user's configuration and in the `.toolkit` folder of a project."""


Stamp: TypeAlias = frozenset[tuple[str, int, int, int, int]]
"""The path, two times, size and inode number of each file, which show a change without reading the files."""

_MAX_ENTRIES = 1000
_MAX_BYTES = 64 * 1024
_NO_FILE = "it is not a file; remove it, or write one"
_TOO_LARGE = f"it is larger than {_MAX_BYTES:,} bytes; put what is seldom needed in a file beside it"
_MAX_TREE_ENTRIES = 4000
_SETTLED_NS = 2 * 10**9


def read_contents(folder: Path) -> tuple[dict[Path, bytes], list[SkillProblem]]:
    """Return the content of the skill files of *folder* by path, in order, and the problems with unreadable files."""
    content_by_path: dict[Path, bytes] = {}
    problems = []
    try:
        files = list_skill_files(folder)
    except (OSError, ValueError) as error:
        return {}, [SkillProblem(folder, None, f"its skills cannot be read: {_explain_error(error)}")]
    home = os.path.realpath(folder)
    for path in files:
        try:
            content_by_path[path] = _read_file(path, home)
        except (OSError, ValueError) as error:
            problems.append(SkillProblem(path, None, _explain_error(error)))
    return content_by_path, problems


def read_project_contents(project: ProjectFiles) -> tuple[dict[Path, bytes], list[SkillProblem]]:
    """Return the content of the skill files of *project* by path, in order, and the problems with other files."""
    content_by_path: dict[Path, bytes] = {}
    problems = []
    names = [f"{SKILLS_FOLDER}/{name}" for name in project.list_names(SKILLS_FOLDER)]
    for name in _find_skill_files(names, lambda inner: project.find(inner) is not None):
        path, entry = project.folder / PROJECT_FOLDER / name, project.find(name)
        if entry is None or entry.kind != "file":
            problems.append(SkillProblem(path, None, _NO_FILE))
        elif len(entry.data) > _MAX_BYTES:
            problems.append(SkillProblem(path, None, _TOO_LARGE))
        else:
            content_by_path[path] = entry.data
    return content_by_path, problems


def list_skill_files(folder: Path) -> list[Path]:
    """Return the paths of the entries that may be skills, in order."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, _MAX_ENTRIES + 1)]
    if len(names) > _MAX_ENTRIES:
        raise ValueError(f"it holds more than {_MAX_ENTRIES} entries; keep other things elsewhere")
    # A link to a folder counts too. Its target is checked when the file is read.
    return [folder / name for name in _find_skill_files(sorted(names), lambda inner: os.path.lexists(folder / inner))]


def list_paths(folder: Path) -> list[Path]:
    """Return what `list_skill_files` returns, or *folder* itself if it cannot be listed."""
    try:
        return list_skill_files(folder)
    except (OSError, ValueError):
        return [folder]


def _find_skill_files(names: Iterable[str], exists: Callable[[str], bool]) -> Iterator[str]:
    """Yield the skill files among *names* and in the folders among them. *exists* says whether there is a name."""
    for name in names:
        last = name.rpartition("/")[2]
        if last.startswith(".") or last.lower() == "readme.md":
            continue
        inner = f"{name}/{SKILL_FILE_NAME}"
        if exists(inner):
            yield inner
        elif name.endswith(".md"):
            yield name


def _read_file(path: Path, home: str) -> bytes:
    real_path = os.path.realpath(path)
    if os.path.commonpath((real_path, home)) != home:
        raise ValueError(f"it is a link that leads out of {home}; put a copy there instead")
    file = read_regular_file(real_path, _MAX_BYTES, follow_links=False)
    if file is None:
        raise ValueError(_NO_FILE)
    return file.content


def list_tree(top: Path) -> list[str]:
    """Return *top* and everything below it, up to more entries than a trusted folder can have."""
    below = (os.path.join(folder, name) for folder, *names in os.walk(top) for name in (*names[0], *names[1]))
    return [str(top), *islice(below, _MAX_TREE_ENTRIES)]


def stamp_paths(paths: Iterable[str | Path]) -> Stamp:
    """Return the stamp of *paths*. The stamp of an unreadable entry says that it is unreadable."""
    return frozenset(map(_stamp_path, map(str, paths)))


def is_settled(stamp: Stamp, now_ns: int) -> bool:
    """Return whether *stamp* can be relied on: a file changed just now may change again and keep its stamp."""
    return all(now_ns - changed_ns > _SETTLED_NS for _, _, changed_ns, _, _ in stamp)


def _stamp_path(path: str) -> tuple[str, int, int, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, 0, 0, 0
    return path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _explain_error(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or 'it cannot be opened'}; make it readable, or remove it"
    return str(error)
