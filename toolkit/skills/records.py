"""
A skill as it was written: what a model is told, what is asked of it, and what it may use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["FREE", "Argument", "Skill", "types_by_word"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """
    Something that a caller gives.

    Attributes:
        type: A word of `types_by_word`.
        default: What counts if it is not given; None where it may be left out.
        choices: The values it may have; any if empty.
    """

    name: str
    type: str = "string"
    description: str = ""
    required: bool = True
    default: Any = None
    choices: tuple[Any, ...] = ()


FREE = Argument(name="input", description="What to work on, or what is wanted, in your own words.")
"""What a skill takes whose file has no `arguments`."""

types_by_word: Mapping[str, Any] = {
    "string": str,
    "text": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "list": list[Any],
    "object": dict[str, Any],
}
"""What may stand at `type`: JSON Schema's words, and two plainer ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """
    One file.

    Attributes:
        text: The prompt, with `{argument}` where arguments go.
        tools: The names of the tools that it may call.
        stated: The facts in the file, as they stand there.
        path: Where it was read.
        digest: Of the whole file; another text is another skill.
        folder: Where the other files of a `SKILL.md` are; None for a file on its own.
        project: Whether it comes with a project, and not from the user.
        lines: Where things stand in the file: keys, and each tool as `tools.NAME`.
    """

    name: str
    description: str
    text: str
    arguments: tuple[Argument, ...] = (FREE,)
    tools: tuple[str, ...] = ()
    stated: Mapping[str, Any] = field(default_factory=dict)
    path: Path
    digest: str
    folder: Path | None = None
    project: bool = False
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)
