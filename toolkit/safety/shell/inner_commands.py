"""The commands and texts that another command runs."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

from .records import Assignment, SimpleCommand

__all__ = ["ShellText", "WrappedCommand", "slice_command"]


class ShellText(NamedTuple):
    """A text that a command passes to a shell."""

    text: str
    wrapper: str


WrappedCommand: TypeAlias = SimpleCommand | ShellText


def slice_command(
    command: SimpleCommand,
    start: int,
    end: int,
    assignments: list[Assignment] | None = None,
    *,
    first_word: str | None = None,
) -> SimpleCommand:
    """Return the inner command. *first_word* is its name if that is joined to an option."""
    own = () if first_word is None else (first_word,)
    return replace(
        command,
        words=(*own, *command.words[start + len(own) : end]),
        literal=command.literal[start:end],
        plain=(*own, *command.plain[start + len(own) : end]),
        nesting=(*command.nesting, command.name),
        wrapper=command,
        assignments=(*command.assignments, *(assignments or ())),
    )
