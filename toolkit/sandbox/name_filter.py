"""
A fast check of many file names: nearly all names of a folder are ruled out together.

The names are joined into one text. If the text has nothing that a pattern needs, no name in it is protected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from ..safety.protected_files import folded

__all__ = ["PROBE", "IsKept", "Suspects", "suspects_by"]

IsKept: TypeAlias = Callable[[str, Literal["read", "write"]], bool]
"""A function that says whether the file with this absolute path is protected from reading, or from writing."""

Suspects: TypeAlias = Callable[[str, Sequence[str]], set[str]]
"""
A function that returns those names in a folder that may be protected. It never returns too few names, and seldom more
than a few.
"""

PROBE = "\0"
"""
A name that no file has and that no pattern is about. An ordinary name would not do: `*file` would match "some file".
"""

# Some systems read any other name, or a name that ends with a dot, as a different name: `.env ` or `.env::$DATA`.
_ORDINARY = re.compile(r"[!-9;-\[\]-~]*")


def suspects_by(patterns: Iterable[str], is_kept: IsKept) -> Suspects:
    """
    Return the function that finds suspects for *patterns*.

    In most folders only the names of the files matter, and only the first name of each pattern. The exceptions are
    folders that a pattern is about: as a whole, or as a part of the path to a protected file.

    Args:
        patterns: The patterns, as `ProtectedFiles` has them.
        is_kept: The verdict of the patterns on one path.
    """
    first_names = [folded(pattern.replace("\\", "/").removeprefix("**/"))[0] for pattern in patterns]
    plain = {first for first in first_names if not _pieces(first)[1:]}
    clues = {max(_pieces(first), key=len) for first in first_names if first not in plain}

    def may_hold(names: str) -> bool:
        if _ORDINARY.fullmatch(names) is None or "./" in f"{names}/":
            return True
        lowered = names.lower()
        return not plain.isdisjoint(lowered.split("/")) or any(clue in lowered for clue in clues)

    def suspects(folder: str, names: Sequence[str]) -> set[str]:
        if is_kept(folder, "write") or is_kept(f"{folder}/{PROBE}", "write"):
            return set(names)
        if not may_hold("/".join(names)):
            return set()
        return {name for name in names if may_hold(name)}

    return suspects


def _pieces(name: str) -> list[str]:
    """Return the texts between the wildcards of a pattern's name, or the whole name if it has no wildcard."""
    return re.split(r"[*?]", name)
