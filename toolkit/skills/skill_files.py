"""
The skill files of a folder: their paths, their content, and whether they have changed.

A skill file is `NAME.md`, or `NAME/SKILL.md` with the files that belong to it beside it. Hidden entries and a
`README.md` are skipped. A file that lies outside the folder, is not a regular file, or is too large is not read.
"""

from __future__ import annotations

import os
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
    "read_contents",
    "read_project_contents",
    "stamp_file",
    "stamp_folder",
    "stamp_tree",
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
    for name in project.list_names(SKILLS_FOLDER):
        whole_name = f"{SKILLS_FOLDER}/{name}"
        if _is_skipped(name):
            continue
        if project.find(f"{whole_name}/{SKILL_FILE_NAME}") is not None:
            whole_name = f"{whole_name}/{SKILL_FILE_NAME}"
        elif not name.endswith(".md"):
            continue
        path, entry = project.folder / PROJECT_FOLDER / whole_name, project.find(whole_name)
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
    return [path for name in sorted(names) if (path := _find_skill_file(folder, name)) is not None]


def list_paths(folder: Path) -> list[Path]:
    """Return what `list_skill_files` returns, or *folder* itself if it cannot be listed."""
    try:
        return list_skill_files(folder)
    except (OSError, ValueError):
        return [folder]


def _find_skill_file(folder: Path, name: str) -> Path | None:
    if _is_skipped(name):
        return None
    path = folder / name
    inside = path / SKILL_FILE_NAME
    if os.path.lexists(inside):  # also if the folder is a link, whose target is checked when the file is read
        return inside
    return path if name.endswith(".md") else None


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or name.lower() == "readme.md"


def _read_file(path: Path, home: str) -> bytes:
    real_path = os.path.realpath(path)
    if os.path.commonpath((real_path, home)) != home:
        raise ValueError(f"it is a link that leads out of {home}; put a copy there instead")
    file = read_regular_file(real_path, _MAX_BYTES, follow_links=False)
    if file is None:
        raise ValueError(_NO_FILE)
    return file.content


def stamp_folder(folder: Path) -> Stamp:
    """Return the stamp of the skill files of *folder*. The stamp of an unreadable entry says that it is unreadable."""
    return frozenset(map(_stamp_path, map(str, (folder, *list_paths(folder)))))


def stamp_tree(top: Path) -> Stamp:
    """Return the stamp of everything below *top*, up to more entries than a trusted folder can have."""
    below = (os.path.join(folder, name) for folder, *names in os.walk(top) for name in (*names[0], *names[1]))
    return frozenset(map(_stamp_path, (str(top), *islice(below, _MAX_TREE_ENTRIES))))


def stamp_file(path: Path) -> Stamp:
    """Return the stamp of one file."""
    return frozenset([_stamp_path(str(path))])


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
