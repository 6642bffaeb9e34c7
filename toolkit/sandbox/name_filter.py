"""
Judging many files: nearly all of a folder's names are ruled out together, by what none of them holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from ..safety.protected_files import folded

__all__ = ["PROBE", "IsKept", "Suspects", "suspects_by"]

IsKept: TypeAlias = Callable[[str, Literal["read", "write"]], bool]
"""Whether a file, by its whole path, is protected from being read, or written."""

Suspects: TypeAlias = Callable[[str, Sequence[str]], set[str]]
"""Of the names in a folder, those that may be protected. Never too few, and seldom more than a few."""

PROBE = "\0"
"""A name that no file has, and no pattern means: `*file` would mean "some file"."""

# Any other name, and one with a dot at its end, may be another one for some system: `.env ` or `.env::$DATA`.
_ORDINARY = re.compile(r"[!-9;-\[\]-~]*")


def suspects_by(patterns: Iterable[str], is_kept: IsKept) -> Suspects:
    """
    Find suspects for *patterns*, as `ProtectedFiles` has them; *is_kept* is their verdict.

    In a folder that no pattern is about, neither as a whole nor on the way to something, only the name counts,
    and only the first name of each pattern.
    """
    firsts = [folded(pattern.replace("\\", "/").removeprefix("**/"))[0] for pattern in patterns]
    plain = {first for first in firsts if not _pieces(first)[1:]}
    clues = {max(_pieces(first), key=len) for first in firsts if first not in plain}

    def may_hold(names: str) -> bool:
        if _ORDINARY.fullmatch(names) is None or "./" in f"{names}/":
            return True
        low = names.lower()
        return not plain.isdisjoint(low.split("/")) or any(clue in low for clue in clues)

    def suspects(folder: str, names: Sequence[str]) -> set[str]:
        if is_kept(folder, "write") or is_kept(f"{folder}/{PROBE}", "write"):
            return set(names)
        if not may_hold("/".join(names)):
            return set()
        return {name for name in names if may_hold(name)}

    return suspects


def _pieces(name: str) -> list[str]:
    """The texts between the stars of a pattern's name; the name alone, if it has none."""
    return re.split(r"[*?]", name)
