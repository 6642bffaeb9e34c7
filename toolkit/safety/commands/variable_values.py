"""The values that a line itself gives to variables, and texts with these values filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ..shell.evaluation import prints_into_variable
from ..shell.records import Script, SimpleCommand

__all__ = [
    "DECLARERS",
    "FILLERS",
    "collect_values",
    "count_turns",
    "fill_in_text",
    "fill_in_turn",
    "find_set_names",
    "remove_variables",
]

FILLERS = frozenset({"read", "mapfile", "readarray", "getopts"})
"""The commands that fill variables with what they read."""
DECLARERS = frozenset({"declare", "typeset", "export", "local", "readonly"})
"""The commands whose assignments the reader of the line has found, if it shows their names."""
# The options whose value is no name. The value may be joined to the option, and the option to others: `-rp text`.
_OTHER_VALUE = {
    "read": re.compile(r"-[a-zA-Z]*?[pdtnNui]"),
    **dict.fromkeys(("mapfile", "readarray"), re.compile(r"-[a-z]*?[dnOsuCc]")),
}
_JOINED_NAME = re.compile(r"-[a-zA-Z]*?[av](?=.)")
_NAME = re.compile(r"""["']?(\w+)(?:\[.*\])?["']?\+?(?:=|\Z)""", re.DOTALL)

_MAX_DERIVED_VALUES = 8
_MAX_DERIVED_CHARS = 256
_UNKNOWN = re.compile(r"[$`]|[<>]\(")
_VARIABLE = re.compile(r"\$(?:(\w+|[@*])|\{(\w+|[@*])\})")
_ANY_VARIABLE = re.compile(r"\$(?:\w+|[@*#?!$-]|\{(?:\w+|[@*#?!$-])\})")


def collect_values(script: Script, *, are_others_empty: bool = False) -> dict[str, list[str]]:
    """
    Return every value that the text itself gives to a variable.

    Args:
        script: The text, parsed.
        are_others_empty: Whether variables that the text does not set count as empty. Otherwise a value with one of
            them is left out.
    """
    values: dict[str, list[str]] = {}
    for assignment in script.assignments:
        known_values = values.setdefault(assignment.name, [])
        if assignment.is_literal:
            texts = [assignment.value]
        elif len(known_values) < _MAX_DERIVED_VALUES:
            # `x=$y/z` is filled in. The value of `x+=z` may also be appended to the values before.
            texts_filled_in = list(islice(fill_in_text(assignment.value, values), _MAX_DERIVED_VALUES))
            if are_others_empty:
                texts_filled_in = list(map(remove_variables, texts_filled_in))
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


def remove_variables(text: str) -> str:
    """Return *text* as it is if every variable in it is empty."""
    return _ANY_VARIABLE.sub("", text)


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


def find_set_names(command: SimpleCommand) -> Iterator[str | None]:
    """
    Yield the names of the variables that *command* sets by a word, and None for a name that the line does not show.

    `read`, `printf -v`, `declare` and similar commands take names as words, so a name may be computed: `read "$name"`.
    """
    for word, is_literal in _find_name_words(command):
        match = _NAME.match(word)
        yield match[1] if match is not None and (is_literal or "=" in match[0]) else None


def _find_name_words(command: SimpleCommand) -> list[tuple[str, bool]]:
    """Return the words that are names, as they are written, and whether they are known exactly."""
    words = list(zip(command.words, command.literal, strict=True))[1:]
    if prints_into_variable(command):
        at = next(place for place, (word, _) in enumerate(words) if word.startswith(("-v", '"-v', "'-v")))
        return words[at + 1 : at + 2] if words[at][0] == "-v" else [(words[at][0][2:], words[at][1])]
    operands: list[tuple[str, bool]] = []
    other_value = _OTHER_VALUE.get(command.name)
    is_value = False
    for word, is_literal in words if command.name in FILLERS | DECLARERS else ():
        option = other_value.match(word) if other_value is not None else None
        if is_value or option is not None:
            is_value = not is_value and option is not None and option.end() == len(word)
        elif joined := _JOINED_NAME.match(word):
            operands.append((word[joined.end() :], is_literal))
        elif not word.startswith(("-", "+")):
            operands.append((word, is_literal))
    if command.name == "getopts":
        return operands[1:2]
    return operands[:1] if command.name in ("mapfile", "readarray") else operands
