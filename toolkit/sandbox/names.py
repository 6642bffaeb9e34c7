"""
Judging many files: most are protected, or not, by their name alone, and names repeat.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Literal, TypeAlias

__all__ = ["PROBE", "IsKept", "by_name"]

IsKept: TypeAlias = Callable[[str, Literal["read", "write"]], bool]
"""Whether a file, by its whole path, is protected from being read, or written."""

PROBE = "some file"
"""A name that no pattern means."""

_PLAIN = re.compile(r"(?!.*\.\.)[!-.0-\[\]-~]+")


def by_name(is_kept: IsKept, *, most_names: int = 200_000) -> IsKept:
    """
    The same judgement as *is_kept*, faster for one path after the other of the same folder.

    Right for patterns as `ProtectedFiles` has them: in a folder that no pattern is about, neither as a whole nor on
    the way to something, only the name counts.
    """
    names: dict[tuple[str, str], bool] = {}
    last = ("", False)

    def judged(path: str, access: Literal["read", "write"]) -> bool:
        nonlocal last
        folder, name = os.path.split(path)
        known, is_free = last
        if folder != known:
            is_free = not is_kept(folder, "write") and not is_kept(f"{folder}/{PROBE}", "write")
            last = folder, is_free
        if not is_free or _PLAIN.fullmatch(name) is None:
            return is_kept(path, access)
        found = names.get((name, access))
        if found is None:
            if len(names) >= most_names:
                names.clear()
            found = names[name, access] = is_kept(name, access)
        return found

    return judged
