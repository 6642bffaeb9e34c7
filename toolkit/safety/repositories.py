"""
Protection for the settings of a bare repository on the disk, under any folder name.

Git treats any folder with `HEAD`, `objects` and `refs` as a repository, and runs the programs that its `config` and
`hooks` name. The list of protected files matches names only, such as `x.git/config`. This module looks at the disk.
"""

from __future__ import annotations

import os
import re

from .protected_files import Protected, ProtectedFiles

__all__ = ["find_repository_rule"]

_SETTINGS_PATH = re.compile(
    r"(.*)/(config|config\.worktree|commondir|info/attributes|hooks(?:/.*)?)", re.DOTALL | re.IGNORECASE
)


def find_repository_rule(files: ProtectedFiles, path: str) -> Protected | None:
    """
    Return the rule that forbids tools to write *path*, if *path* holds settings of a repository on the disk.

    Args:
        files: The list of protected files. A pattern that the user has lifted does not hold here either.
        path: A whole path.
    """
    match = _SETTINGS_PATH.fullmatch(path)
    if match is None or not _is_repository(match[1]):
        return None
    return files.find_rule(f"repository.git/{match[2]}", "write")


def _is_repository(folder: str) -> bool:
    return os.path.isdir(f"{folder}/objects") and os.path.isdir(f"{folder}/refs") and os.path.lexists(f"{folder}/HEAD")
