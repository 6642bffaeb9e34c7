"""A skill as its file describes it, and the mistakes in such files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..spec import Tool
from ..values.visible import make_visible

__all__ = [
    "ARGUMENT_TYPES",
    "DEFAULT_ARGUMENT",
    "METADATA_KEY",
    "Argument",
    "FrontMatterError",
    "Skill",
    "SkillProblem",
    "skill_of",
]

METADATA_KEY = "skill"
"""Where the tool of a skill has the skill in its metadata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """
    An argument that the caller of a skill gives: its *name* and *description*, and whether it is *required*.

    Attributes:
        type: A key of `ARGUMENT_TYPES`.
        default: The value if the argument is not given. None means that it may be left out.
        choices: The values that the argument may have. If empty, any value is allowed.
    """

    name: str
    type: str = "string"
    description: str = ""
    required: bool = True
    default: Any = None
    choices: tuple[Any, ...] = ()


DEFAULT_ARGUMENT = Argument(name="input", description="What to work on, or what is wanted, in your own words.")
"""The argument of a skill whose file has no `arguments`."""

ARGUMENT_TYPES: Mapping[str, Any] = {
    "string": str,
    "text": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "list": list[Any],
    "object": dict[str, Any],
}
"""The words that `type` may have: those of JSON Schema, and two plainer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """
    The skill in one file: a tool with this *name* and *description*, which takes these *arguments*.

    Attributes:
        text: The prompt, with `{argument}` in the places of arguments.
        tools: The names of the tools that the skill may call.
        stated: The facts in the file, unchanged.
        path: The path of the file.
        digest: The digest of the whole file. A file with another text is another skill.
        folder: The folder with the other files of a `SKILL.md`; None for a file on its own.
        project: Whether the skill comes with a project, and not from the user.
        lines: The line numbers of the keys in the file, and of each tool as `tools.NAME`.
    """

    name: str
    description: str
    text: str
    arguments: tuple[Argument, ...] = (DEFAULT_ARGUMENT,)
    tools: tuple[str, ...] = ()
    stated: Mapping[str, Any] = field(default_factory=dict)
    path: Path
    digest: str
    folder: Path | None = None
    project: bool = False
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """
    Why the file or the folder *path* is not the skill that its author wanted.

    Attributes:
        line: The number of the line, counted from 1; None if the problem concerns the whole file or folder.
        message: What is wrong, and the remedy.
    """

    path: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        place = make_visible(str(self.path), keep_lines=False) + ("" if self.line is None else f":{self.line}")
        return f"{place}: {make_visible(self.message, keep_lines=False)}"


class FrontMatterError(ValueError):
    """A mistake in a file that ends the reading of the file."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def skill_of(tool: Tool) -> Skill | None:
    """Return the skill from which *tool* was made, or None for every other tool."""
    skill = (tool.facts.metadata or {}).get(METADATA_KEY)
    return skill if isinstance(skill, Skill) else None
