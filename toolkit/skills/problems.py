"""
Mistakes in skill files: the file, the line, and what would be right.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..values.visible import make_visible

__all__ = ["FrontMatterError", "SkillProblem"]


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """
    Why a file or a folder is not the skill that its author wanted.

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
