"""
A fast check of many file names: nearly all names of a folder are ruled out together.

The names are joined into one text. If the text has nothing that a pattern needs, no name in it is protected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from ..safety.protected_files import fold_names

__all__ = ["PROBE_NAME", "FindSuspects", "IsProtected", "build_suspect_finder"]

IsProtected: TypeAlias = Callable[[str, Literal["read", "write"]], bool]
"""A function that says whether the file with this absolute path is protected from reading, or from writing."""

FindSuspects: TypeAlias = Callable[[str, Sequence[str]], set[str]]
"""
A function that returns those names in a folder that may be protected. It never returns too few names, and seldom more
than a few.
"""

PROBE_NAME = "\0"
"""
A name that no file has and that no pattern is about. An ordinary name would not do: `*file` would match "some file".
"""

# Some systems read any other name, or a name that ends with a dot, as a different name: `.env ` or `.env::$DATA`.
_ORDINARY = re.compile(r"[!-9;-\[\]-~]*")


def build_suspect_finder(patterns: Iterable[str], is_protected: IsProtected) -> FindSuspects:
    """
    Return the function that finds suspects for *patterns*.

    In most folders only the names of the files matter, and only the first name of each pattern. The exceptions are
    folders that a pattern is about: as a whole, or as a part of the path to a protected file.

    Args:
        patterns: The patterns, as `ProtectedFiles` has them.
        is_protected: The verdict of the patterns on one path.
    """
    first_names = [fold_names(pattern.replace("\\", "/").removeprefix("**/"))[0] for pattern in patterns]
    plain = {first for first in first_names if not _split_at_wildcards(first)[1:]}
    clues = {max(_split_at_wildcards(first), key=len) for first in first_names if first not in plain}

    def may_contain_protected(names: str) -> bool:
        if _ORDINARY.fullmatch(names) is None or "./" in f"{names}/":
            return True
        lowered = names.lower()
        return not plain.isdisjoint(lowered.split("/")) or any(clue in lowered for clue in clues)

    def find_suspects(folder: str, names: Sequence[str]) -> set[str]:
        if is_protected(folder, "write") or is_protected(f"{folder}/{PROBE_NAME}", "write"):
            return set(names)
        if not may_contain_protected("/".join(names)):
            return set()
        return {name for name in names if may_contain_protected(name)}

    return find_suspects


def _split_at_wildcards(name: str) -> list[str]:
    """Return the texts between the wildcards of a pattern's name, or the whole name if it has no wildcard."""
    return re.split(r"[*?]", name)
