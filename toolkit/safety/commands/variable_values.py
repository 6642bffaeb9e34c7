"""The values that a line itself gives to variables, and texts with these values filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ..shell.braces import expand_braces
from ..shell.evaluation import SUBSTITUTION_MARKS, prints_into_variable
from ..shell.known_input import SHELLS, skip_shell_options
from ..shell.records import Script, SimpleCommand, slice_command
from ..shell.words import remove_quotes
from .printed_texts import find_known_output, guess_output, input_text

__all__ = [
    "DECLARERS",
    "FILLERS",
    "collect_values",
    "count_turns",
    "expand_words",
    "fill_in_command",
    "fill_in_text",
    "fill_in_turn",
    "find_set_names",
    "guess_values",
    "join_array",
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
_VARIABLE = re.compile(
    r"\$(?:(\w+|[@*])|\{(\w+|[@*])(?:\[[^][{}]*\])?\})|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`"
)
_MAX_OUTPUTS = 100
_ANY_VARIABLE = re.compile(
    r"\$(?:\w+|[@*#?!$-]|\{[!#]?(?:\w+|[@*#?!$-])(?:\[[^][{}]*\])?(?:[@*]|@\w|[#%^,/+][^{}]*|:(?![-=?])[^{}]*)?\})"
)
_MAY_EXPAND = re.compile(r"[$`]")
_SUBSCRIPT = re.compile(r"\[[^\]]*\]=")


def collect_values(script: Script, *, are_others_empty: bool = False) -> dict[str, list[str]]:
    """
    Return every value that the text itself gives to a variable or a parameter.

    A substitution whose output the line shows counts as a variable: `$(echo a)` has the value `a`.

    Args:
        script: The text, parsed.
        are_others_empty: Whether variables that the text does not set count as empty. Otherwise a value with one of
            them is left out.
    """
    values: dict[str, list[str]] = {}
    for command in script.commands:
        for name, value in (*_find_outputs(command), *_find_parameters(command, script), *_find_read_values(command)):
            if value not in values.setdefault(name, []):
                values[name].append(value)
    _add_assigned(script, values, are_others_empty=are_others_empty)
    return values


def guess_values(script: Script) -> dict[str, list[str]]:
    """Return the values as `collect_values` does, and what substitutions may print: `$(echo "$x" *)`."""
    values = collect_values(script)
    for command in script.commands:
        if not SUBSTITUTION_MARKS.isdisjoint(command.nesting):
            readings = [command, *islice(fill_in_command(command, values), _MAX_DERIVED_VALUES)]
            texts = [remove_variables(text).strip() for text in map(guess_output, readings) if text is not None]
            outputs = values.setdefault(f"$({command.source})", [])
            outputs += [text for text in dict.fromkeys(texts) if text not in outputs]
    _add_assigned(script, values, are_others_empty=False)
    return values


def _add_assigned(script: Script, values: dict[str, list[str]], *, are_others_empty: bool) -> None:
    for assignment in script.assignments:
        known_values = values.setdefault(assignment.name, [])
        if assignment.is_literal:
            texts = [assignment.value]
        elif len(known_values) < _MAX_DERIVED_VALUES:
            # `x=$y/z` is filled in. The value of `x+=z` may also be appended to the values before.
            value = assignment.value
            # The values of an array are joined, and a word with `${x[@]}` in it is split.
            value = join_array(value) if value.startswith("(") and value.endswith(")") else value
            texts_filled_in = list(islice(fill_in_text(value, values), _MAX_DERIVED_VALUES))
            if are_others_empty:
                texts_filled_in = list(map(remove_variables, texts_filled_in))
            readings = (reading for text in texts_filled_in for reading in _expand_value(text))
            ends = [text for text in readings if not _UNKNOWN.search(text) and len(text) <= _MAX_DERIVED_CHARS]
            texts = ends + [before + text for before in known_values for text in ends]
        else:
            texts = []
        known_values += [text for text in dict.fromkeys(texts) if text not in known_values]


def _expand_value(text: str) -> Iterator[str]:
    """Yield *text*, and what its braces stand for: all words of an array, and each word of a loop."""
    yield text
    if "{" in text:
        words = [word for part in text.split() for word in expand_braces(part) or [part]]
        yield from (" ".join(words), *words)


def join_array(value: str) -> str:
    """Return the values of an array as one text, without the quotes around them."""
    return remove_quotes(_SUBSCRIPT.sub("", value[1:-1]), of_ansi="")


def _find_outputs(command: SimpleCommand) -> Iterator[tuple[str, str]]:
    known = None if SUBSTITUTION_MARKS.isdisjoint(command.nesting) else find_known_output(command)
    if known is not None and known.is_exact:
        yield f"$({command.source})", known.text.rstrip("\n")
        yield f"`{command.source}`", known.text.rstrip("\n")


def _find_parameters(command: SimpleCommand, script: Script) -> Iterator[tuple[str, str]]:
    """Yield `$1` and so on, from `set`, from a call of a function or from the words behind the text of `sh -c`."""
    words: Sequence[str] = ()
    if command.name == "set":
        words = ("", *(word for word in expand_words(command)[1:] if word != "--"))
    elif command.name in script.functions:
        words = expand_words(command)
    elif command.name in SHELLS:
        at, has_text = skip_shell_options(command)
        words = command.plain[at + has_text :]
    for number, word in enumerate(words):
        yield str(number), word
    if words:
        yield "@", " ".join(words[1:])
        yield "*", " ".join(words[1:])


def expand_words(command: SimpleCommand) -> list[str]:
    """Return the words of *command* with the shell's braces expanded: `cp x{,.bak}` has two operands."""
    words = zip(command.plain, command.literal, strict=True)
    return [
        text for plain, is_literal in words for text in ([plain] if is_literal else expand_braces(plain) or [plain])
    ]


def _find_read_values(command: SimpleCommand) -> Iterator[tuple[str, str]]:
    names = [name or "" for name in find_set_names(command)]
    if prints_into_variable(command):
        at = next(at for at, word in enumerate(command.plain) if word.startswith("-v"))
        start = at + (command.plain[at] == "-v")
        if start < len(command.plain):
            printed = find_known_output(slice_command(command, start, len(command.words), first_word="printf"))
            yield from ((name, printed.text) for name in names if printed is not None)
    elif command.name in FILLERS and (text := input_text(command)):
        yield from ((name, text.strip()) for name in (*names, "REPLY", "MAPFILE"))


def fill_in_text(text: str, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield *text*, and *text* with `$x` replaced by each value that the line gives to `x`."""
    yield text
    for turn in range(count_turns(text, values)):
        yield fill_in_turn(text, values, turn)


def remove_variables(text: str) -> str:
    """Return *text* as it is if every variable in it is empty: `${u}`, `${u[@]}`, `${!u*}`, `${u%x}`, `${u:+x}`."""
    return _ANY_VARIABLE.sub("", text)


def fill_in_command(command: SimpleCommand, values: Mapping[str, Sequence[str]]) -> Iterator[SimpleCommand]:
    """
    Yield the command with `$x` replaced by each value that it may have, and with its braces expanded.

    A word that is not quoted is split as the shell would split it.
    """
    if command.wrapper is not None and command.gets_words_from_input and (text := input_text(command.wrapper)):
        # `xargs` adds the words of its input.
        yield command.with_words((*command.plain, *text.split()))
    plain_words = " ".join(command.plain)
    has_braces = any(
        "{" in plain and not is_literal for plain, is_literal in zip(command.plain, command.literal, strict=True)
    )
    for turn in range(max(count_turns(plain_words, values), has_braces)):
        words: list[str] = []
        for word, plain, is_literal in zip(command.words, command.plain, command.literal, strict=True):
            is_whole = word.startswith('"') and word != '"$@"' and "[@]" not in word
            # The shell expands braces before variables.
            for part in [plain] if is_literal else expand_braces(plain) or [plain]:
                # A value may hold another variable.
                text = fill_in_turn(fill_in_turn(part, values, turn), values, turn)
                words += [text] if is_whole or text == part else text.split()
        if words:
            yield command.with_words(words)


def count_turns(text: str, values: Mapping[str, Sequence[str]]) -> int:
    """Return how often *text* has to be filled in until every value was used."""
    if not values or not _MAY_EXPAND.search(text):
        return 0
    return max((len(_values_of(match, values)) for match in _VARIABLE.finditer(text)), default=0)


def fill_in_turn(text: str, values: Mapping[str, Sequence[str]], turn: int) -> str:
    """Return *text* with the value of each variable that is due in this turn."""

    def value(match: re.Match[str]) -> str:
        choices = _values_of(match, values)
        return choices[turn % len(choices)] if choices else match[0]

    return _VARIABLE.sub(value, text)


def _values_of(match: re.Match[str], values: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the values of a variable, or what a substitution may print: `$(time echo a)`, `$({ echo a; echo b; })`."""
    if match[1] or match[2] or match[0] in values:
        return values.get(match[1] or match[2] or match[0], ())
    outputs = islice((name for name in values if name.startswith("$(")), _MAX_OUTPUTS)
    printed = [value for name in outputs if name[2:-1] in match[0] for value in values[name]]
    return [*printed, "\n".join(printed)] if len(printed) > 1 else printed


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
        at, word = next((at, word) for at, word in enumerate(command.plain[1:]) if word.startswith("-v"))
        return words[at + 1 : at + 2] if word == "-v" else [(word[2:], words[at][1])]
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
