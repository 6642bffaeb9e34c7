"""
Slash commands: `/name text`, as a person types it on a line of a prompt.

Only the line of the command is replaced. Lines of code, paths, and names that stand after other words stay as they are.
The text that replaces a command is not searched again. The arguments of the skill get one word each, in their order,
and the last argument gets the rest of the line. Quotes keep several words together. A single argument gets the whole
text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .prompts import check_size
from .records import DEFAULT_ARGUMENT, Argument, Skill

__all__ = ["expand_commands", "parse_typed_arguments"]

_LINE_END = re.compile(r"(\r\n|\n|\r)")
# A line with four blanks or a tab in front is Markdown code.
_COMMAND = re.compile(r" {0,3}/([A-Za-z_][A-Za-z0-9_.-]{0,63})(?:\s+(.*))?", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
_WORD = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(\S+))(?=\s|\Z)""")


def expand_commands(prompt: str, expand_command: Callable[[str, str], str | None]) -> str:
    """Return *prompt* with each `/name text` replaced by what *expand_command* returns, unless that is None."""
    pieces = _LINE_END.split(prompt)
    fence, size = "", 0
    for place in range(0, len(pieces), 2):  # the other pieces are line endings
        line = pieces[place]
        mark = _FENCE.fullmatch(line)
        if fence:
            is_end = mark is not None and mark[1].startswith(fence) and not mark[2].strip()
            fence = "" if is_end else fence
        elif mark is not None:
            fence = mark[1]
        elif (command := _COMMAND.fullmatch(line)) is not None:
            expansion = expand_command(command[1], (command[2] or "").strip())
            if expansion is not None:
                pieces[place] = expansion
                size += len(expansion)
                check_size(size)  # many short lines can each name a long skill
    return "".join(pieces)


def parse_typed_arguments(skill: Skill, text: str) -> dict[str, Any]:
    """Return the arguments that *text* gives to *skill*. They still have to be checked like those of any other call."""
    values: dict[str, Any] = {}
    *firsts, last = skill.arguments or (DEFAULT_ARGUMENT,)
    for argument in firsts:
        word = _WORD.match(text)
        if word is None:
            break
        values[argument.name] = _parse_value(argument, next(part for part in word.groups() if part is not None))
        text = text[word.end() :]
    text = text.strip()
    if text or skill.arguments == (DEFAULT_ARGUMENT,):
        values[last.name] = _parse_value(last, text)
    return values


def _parse_value(argument: Argument, text: str) -> Any:
    """Return *text* as a value of the argument's type, or as it is, so that the check can report it."""
    if argument.type in ("string", "text"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.split() if argument.type in ("array", "list") else text
