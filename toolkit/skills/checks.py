"""
The keys that front matter may have. Each key has a check, and words for the values that it accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import DefinitionError, nearest
from ..facts import check_name
from .front_matter import Node
from .problems import SkillProblem

__all__ = ["LEGAL", "Keys", "Mistakes", "is_name", "is_number", "is_text", "is_truth"]

Keys: TypeAlias = Mapping[str, tuple[Callable[[Any], bool], str]]

LEGAL = "write at most 64 of A-Z a-z 0-9 _ - . that start with a letter or _"


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_truth(value: Any) -> bool:
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_name(value: Any) -> bool:
    try:
        check_name(value, "")
    except DefinitionError:
        return False
    return True


class Mistakes:
    """Collects what is wrong with one file."""

    def __init__(self, path: Path) -> None:
        self.found: list[SkillProblem] = []
        self._path = path

    def add(self, line: int | None, message: str) -> None:
        self.found.append(SkillProblem(self._path, line, message))

    def checked(self, nodes: Mapping[str, Node], keys: Keys, place: str = "") -> dict[str, Any]:
        """Return the values of *nodes* that pass the checks in *keys*. Add a mistake for every other one."""
        right: dict[str, Any] = {}
        for key, node in nodes.items():
            if key not in keys:
                self.add(node.line, f"{place}{_unknown_key_message(key, keys)}")
                continue
            fits, expected = keys[key]
            value = node.plain()
            if fits(value):
                right[key] = value
            else:
                self.add(node.line, f"{place}`{key}` has to be {expected}; got {value!r:.80}")
        return right


def _unknown_key_message(key: str, keys: Keys) -> str:
    near = nearest(key, keys, most=1)
    hint = f"did you mean `{near[0]}`?" if near else f"write one of {', '.join(keys)}"
    return f"`{key:.60}` is not known; {hint}"
