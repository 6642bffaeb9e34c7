"""
`/name text`, as a person types it at the start of a prompt.

The arguments of the skill get one word each, in their order, and the last of
them whatever is left; quotes keep a word together. A single argument gets all of it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .records import FREE, Argument, Skill

__all__ = ["named_skill", "typed_arguments"]

_COMMAND = re.compile(r"\s*/([A-Za-z_][A-Za-z0-9_.-]{0,63})(?:\s+(.*))?", re.DOTALL)
_WORD = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(\S+))(?=\s|\Z)""")


def named_skill(prompt: str) -> tuple[str, str] | None:
    """The name that *prompt* begins with, and the text after it; None if it begins with none."""
    found = _COMMAND.fullmatch(prompt)
    return None if found is None else (found[1], (found[2] or "").strip())


def typed_arguments(skill: Skill, text: str) -> dict[str, Any]:
    """What *text* gives to the arguments of *skill*, to be checked like any other call."""
    given: dict[str, Any] = {}
    *firsts, last = skill.arguments or (FREE,)
    for argument in firsts:
        word = _WORD.match(text)
        if word is None:
            break
        given[argument.name] = _meant(argument, next(part for part in word.groups() if part is not None))
        text = text[word.end() :]
    text = text.strip()
    if text or skill.arguments == (FREE,):
        given[last.name] = _meant(last, text)
    return given


def _meant(argument: Argument, text: str) -> Any:
    """*text* as a value of the argument's type; as it is if it is none, so that the check can say so."""
    if argument.type in ("string", "text"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.split() if argument.type in ("array", "list") else text
