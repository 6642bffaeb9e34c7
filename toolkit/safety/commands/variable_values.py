"""The values that a line itself gives to variables, and texts with these values filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ..shell.records import Script

__all__ = ["collect_values", "count_turns", "fill_in_text", "fill_in_turn"]

_MAX_DERIVED_VALUES = 8
_MAX_DERIVED_CHARS = 256
_UNKNOWN = re.compile(r"[$`]|[<>]\(")
_VARIABLE = re.compile(r"\$(?:(\w+|[@*])|\{(\w+|[@*])\})")


def collect_values(script: Script) -> dict[str, list[str]]:
    """Return every value that the text itself gives to a variable."""
    values: dict[str, list[str]] = {}
    for assignment in script.assignments:
        known_values = values.setdefault(assignment.name, [])
        if assignment.is_literal:
            texts = [assignment.value]
        elif len(known_values) < _MAX_DERIVED_VALUES:
            # `x=$y/z` is filled in. The value of `x+=z` may also be appended to the values before.
            texts_filled_in = islice(fill_in_text(assignment.value, values), _MAX_DERIVED_VALUES)
            ends = [text for text in texts_filled_in if not _UNKNOWN.search(text) and len(text) <= _MAX_DERIVED_CHARS]
            texts = ends + [before + text for before in known_values for text in ends]
        else:
            texts = []
        known_values += [text for text in dict.fromkeys(texts) if text not in known_values]
    for command in script.commands:
        if command.name == "set":
            words = [word for word in command.plain[1:] if word != "--"]
            for name, value in [("@", " ".join(words)), ("*", " ".join(words)), *enumerate(words, start=1)]:
                values.setdefault(str(name), []).append(value)
    return values


def fill_in_text(text: str, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield *text*, and *text* with `$x` replaced by each value that the line gives to `x`."""
    yield text
    for turn in range(count_turns(text, values)):
        yield fill_in_turn(text, values, turn)


def count_turns(text: str, values: Mapping[str, Sequence[str]]) -> int:
    """Return how often *text* has to be filled in until every value was used."""
    if not values or "$" not in text:
        return 0
    return max((len(values.get(match[1] or match[2], ())) for match in _VARIABLE.finditer(text)), default=0)


def fill_in_turn(text: str, values: Mapping[str, Sequence[str]], turn: int) -> str:
    """Return *text* with the value of each variable that is due in this turn."""

    def value(match: re.Match[str]) -> str:
        choices = values.get(match[1] or match[2])
        return choices[turn % len(choices)] if choices else match[0]

    return _VARIABLE.sub(value, text)
