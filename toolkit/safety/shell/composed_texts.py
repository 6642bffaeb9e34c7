"""
Texts for a shell that a line puts together from values: `k='; rm x'; watch "echo $k"`.

The reader sees such a text with `$k` in it, as one word. The shell that runs the text sees the value, with all its
signs. So the text is known only if every value in it is known and free of signs. A variable that the line does not set
comes from elsewhere, and is not held against the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from ..._plumbing.forks import unlock_properties_in_children
from .known_input import SHELLS, find_placeholders, skip_shell_options
from .records import CannotParse, Script, ShellText, SimpleCommand
from .sed_scripts import SEDS
from .wrappers import find_wrapped_commands

__all__ = ["find_composed_texts"]

_SIGNS = re.compile(r"[;&|<>()$`'\"\\!\n]")
_MAY_EXPAND = re.compile(r"\$(?=[\w({@*])|`")
_FIRST_MARK = 0xE000  # a character of the private use area for each word
_MAX_MARKS = 6400
# Programs that print a number or a name. Their words are looked at as well.
_PRINTS_NAME = (
    r"(?:mktemp|date|pwd|nproc|id|whoami|hostname|uname|arch|basename|dirname|realpath|readlink|which|command -v|pgrep"
    r"|pidof|git rev-parse|git branch --show-current|git merge-base|git describe)"
)
_EXPANSION = re.compile(
    rf"\$\(\s*(?P<program>{_PRINTS_NAME})(?P<words>(?:\s(?:[^;&|<>()`\\%\n]|%[^nt\n])*)?)(?:2>\s*/dev/null)?\s*\)"
    r"|(?P<number>\$\(\((?:[^()]|\([^()]*\))*\)\)|\$\{#[^{}]*\}|\$[#?!$-])"
    r"|(?P<computed>\$\(|`|[<>]\(|\$\{(?=[^\w@*]))"
    r"|\$(?P<name>\d|\w+|[@*])|\$\{(?P<braced>\w+|[@*])(?P<rest>[^{}]*)\}|(?P<tangled>\$\{)"
)
_NAME = re.compile(r"\$(\w+|[@*])")
_ANSI_STRING = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_PARAMETER = re.compile(r"\d+|[@*]|OPTARG")
_FILL_VARIABLES = frozenset({"read", "mapfile", "readarray", "getopts"})
_FILLED_ALWAYS = frozenset({"REPLY", "MAPFILE"})
# The variables that the shell itself sets, to texts of the line.
_SET_BY_SHELL = re.compile(r"_|BASH_(?:COMMAND|EXECUTION_STRING|ARGV|ARGV0|REMATCH)|DIRSTACK|READLINE_\w+|COMP_\w+")
_FOLDER_NAMES = frozenset({"PWD", "OLDPWD"})
_FOLDER_COMMANDS = frozenset({"cd", "pushd"})


class _Parts(NamedTuple):
    """The variables that are inserted into a word, the text around them, and whether there is any other expansion."""

    names: frozenset[str]
    text: str
    is_computed: bool


def find_composed_texts(script: Script) -> Iterator[SimpleCommand]:
    """Yield the commands that give a shell a text whose inserted values may hold further commands."""
    values = _Values(script)
    for command in script.commands:
        if any(not values.are_harmless(command.words[at], command.plain[at]) for at in _words_in_texts(command)):
            yield command


def _words_in_texts(command: SimpleCommand) -> list[int]:
    """Return the places of the words that the shell expands, and that become a part of a text for another shell."""
    places = [
        at
        for at, (word, plain) in enumerate(zip(command.words, command.plain, strict=True))
        if at and not command.literal[at] and (_MAY_EXPAND.search(plain) or word != plain)
    ]
    if not places or not command.literal[0] or len(command.words) > _MAX_MARKS:
        return places if command.literal[0] else []
    words, plain_words = list(command.words), list(command.plain)
    for at in places:
        words[at], plain_words[at] = _mark(words[at], at), _mark(plain_words[at], at)
    marked = command if command.name in SEDS else replace(command, words=tuple(words), plain=tuple(plain_words))
    try:
        texts = [part.text for part in find_wrapped_commands(marked) if isinstance(part, ShellText)]
    except CannotParse:
        return places
    if command.name in SEDS:  # a mark would change the meaning of the script
        return places if texts else []
    return [at for at in places if any(chr(_FIRST_MARK + at) in text for text in texts)]


def _mark(word: str, at: int) -> str:
    mark = chr(_FIRST_MARK + at)
    marked = _MAY_EXPAND.sub(lambda match: match[0] + mark, word)
    return marked if marked != word else word + mark


@unlock_properties_in_children
class _Values:
    """What the line puts into its variables and parameters."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def are_harmless(self, word: str, plain: str) -> bool:
        """Return whether the values inserted into *word* are known, and are no more than words to a shell."""
        parts = _split(word)
        if not parts.names and not parts.is_computed:
            return not _SIGNS.search(plain)  # a pattern, braces or a tilde beside a quoted sign
        return not parts.is_computed and self._are_known(parts.names)

    def _are_known(self, names: frozenset[str]) -> bool:
        waiting, seen = set(names), set[str]()
        while waiting:
            name = waiting.pop()
            key = "@" if _PARAMETER.fullmatch(name) else name
            if key in seen:
                continue
            seen.add(key)
            if _SET_BY_SHELL.fullmatch(key) or key in self._unknown or "*" in self._unknown:
                return False
            for parts in self._parts.get(key, ()):
                if parts.is_computed or _SIGNS.search(parts.text):
                    return False
                waiting |= parts.names
        return True

    @cached_property
    def _parts(self) -> dict[str, list[_Parts]]:
        parts: dict[str, list[_Parts]] = {}
        for assignment in self._script.assignments:
            inserted = _split("" if assignment.is_literal else assignment.value)
            if not assignment.is_literal and not assignment.value:  # `for x; do` goes through the parameters
                inserted = inserted._replace(names=frozenset("@"))
            parts.setdefault(assignment.name, []).append(inserted._replace(text=assignment.unexpanded))
        for command in self._script.commands:
            for word, is_literal in _parameters_of(command, self._script):
                parts.setdefault("@", []).append(_Parts(frozenset(), word, False) if is_literal else _split(word))
            if command.name in _FOLDER_COMMANDS:
                for name in _FOLDER_NAMES:
                    parts.setdefault(name, []).extend(map(_split, command.words[1:]))
        return parts

    @cached_property
    def _unknown(self) -> frozenset[str]:
        """The names of the variables that hold what the line does not show, with `*` for every variable."""
        # A function of the line may stand in for a program that prints a name.
        names = {f"{name}()" for name in self._script.functions}
        for command in self._script.commands:
            words = list(command.words[1:])
            if command.name == "printf":
                at = next((at for at, word in enumerate(command.plain[1:]) if word.startswith("-v")), len(words))
                words = words[at : at + 2]
            elif command.name not in _FILL_VARIABLES:
                words = []
            if words or command.name in _FILL_VARIABLES:
                names |= _FILLED_ALWAYS.union(*(re.findall(r"\w+", word.removeprefix("-v")) for word in words))
                names |= {"*"} if any(map(_MAY_EXPAND.search, words)) else set()
            if command.name in SHELLS and (command.gets_words_from_input or find_placeholders(command)):
                names.add("@")
        return frozenset(names)


def _parameters_of(command: SimpleCommand, script: Script) -> Iterator[tuple[str, bool]]:
    """Yield the words that become `$1` and so on, and whether they are known exactly."""
    start = len(command.words)
    if command.name == "set" or command.name in script.functions:
        start = 1
    elif command.name in SHELLS:
        at, has_text = skip_shell_options(command)
        start = at + has_text if at < len(command.words) else 1  # `sh -s` takes what follows its options
    yield from zip(command.words[start:], command.literal[start:], strict=True)


def _split(word: str) -> _Parts:
    """Return the parts of *word*, which is written as in the line or has no quotes."""
    names: set[str] = set()
    text: list[str] = []
    is_computed, in_string, at = False, False, 0
    while at < len(word):
        sign = word[at]
        if sign == "\\":
            text.append(word[at + 1 : at + 2])
            at += 2
        elif sign == '"':
            in_string, at = not in_string, at + 1
        elif sign == "'" and not in_string and "'" in word[at + 1 :]:
            end = word.index("'", at + 1)
            text.append(word[at + 1 : end])
            at = end + 1
        elif not in_string and (ansi := _ANSI_STRING.match(word, at)):
            is_computed, at = True, ansi.end()
        elif match := _EXPANSION.match(word, at):
            inner = match["words"] or match["rest"] or ""
            names |= {*filter(None, (match["name"], match["braced"])), *_NAME.findall(inner)}
            if match["program"]:
                names.add(f"{match['program']}()")
                inner = re.sub("[\"']", "", inner)
            is_computed = is_computed or bool(match["computed"] or match["tangled"])
            is_computed = is_computed or _SIGNS.search(_NAME.sub("", inner)) is not None
            at = match.end()
        else:
            text.append(sign)
            at += 1
    return _Parts(frozenset(names), "".join(text), is_computed)
