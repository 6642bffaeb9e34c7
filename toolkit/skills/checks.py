"""
The keys that front matter may have. Each key has a check, and words for the values that it accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import DefinitionError, find_nearest
from ..facts import check_name
from .front_matter import Node
from .problems import SkillProblem

__all__ = ["NAME_RULE", "KeyChecks", "ProblemCollector", "is_boolean", "is_name", "is_number", "is_text"]

KeyChecks: TypeAlias = Mapping[str, tuple[Callable[[Any], bool], str]]

NAME_RULE = "write at most 64 of A-Z a-z 0-9 _ - . that start with a letter or _"


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_name(value: Any) -> bool:
    try:
        check_name(value, "")
    except DefinitionError:
        return False
    return True


class ProblemCollector:
    """Collects what is wrong with one file."""

    def __init__(self, path: Path) -> None:
        self.problems: list[SkillProblem] = []
        self._path = path

    def add(self, line: int | None, message: str) -> None:
        self.problems.append(SkillProblem(self._path, line, message))

    def check_values(self, nodes: Mapping[str, Node], keys: KeyChecks, prefix: str = "") -> dict[str, Any]:
        """Return the values of *nodes* that pass the checks in *keys*. Add a mistake for every other one."""
        values: dict[str, Any] = {}
        for key, node in nodes.items():
            if key not in keys:
                self.add(node.line, f"{prefix}{_unknown_key_message(key, keys)}")
                continue
            fits, expected = keys[key]
            value = node.plain()
            if fits(value):
                values[key] = value
            else:
                self.add(node.line, f"{prefix}`{key}` has to be {expected}; got {value!r:.80}")
        return values


def _unknown_key_message(key: str, keys: KeyChecks) -> str:
    near = find_nearest(key, keys, max_items=1)
    hint = f"did you mean `{near[0]}`?" if near else f"write one of {', '.join(keys)}"
    return f"`{key:.60}` is not known; {hint}"
