"""
Settings of a repository that has no working folder, whatever the folder is called.

Git takes any folder with `HEAD`, `objects` and `refs` for a repository, and runs what its `config` and `hooks` say.
The list of protected files goes by names and knows `x.git/config`; this module looks at the disk.
"""

from __future__ import annotations

import os
import re

from .protected_files import Protected, ProtectedFiles

__all__ = ["protecting_repository"]

_SETTINGS = re.compile(
    r"(.*)/(config|config\.worktree|commondir|info/attributes|hooks(?:/.*)?)", re.DOTALL | re.IGNORECASE
)


def protecting_repository(files: ProtectedFiles, path: str) -> Protected | None:
    """
    Return the rule that keeps tools from writing *path*, because a repository on the disk takes it for its settings.

    Args:
        files: The list; a pattern that the user lifted does not hold here either.
        path: A whole path.
    """
    found = _SETTINGS.fullmatch(path)
    if found is None or not _is_repository(found[1]):
        return None
    return files.protecting(f"repository.git/{found[2]}", "write")


def _is_repository(folder: str) -> bool:
    return os.path.isdir(f"{folder}/objects") and os.path.isdir(f"{folder}/refs") and os.path.lexists(f"{folder}/HEAD")
