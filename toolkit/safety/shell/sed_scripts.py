"""
Reader for the scripts of `sed`, which may run commands and write files.

`e command` runs a command. `e` alone and the flag `e` of `s///` run lines of the input. `w`, `W`, `r` and `R` name a
file. The rules are those of GNU sed 4.9. A script that does not follow them raises `CannotParse`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, NoReturn

from .records import CannotParse, SimpleCommand

__all__ = ["SEDS", "SedAction", "sed_actions"]

SEDS = frozenset({"sed", "gsed", "ssed"})
_BLANK = re.compile(r"[\s;}]*")
_SPACES = re.compile(r"[ \t]*")
_STEP = re.compile(r"\$|[+~]?\d*(?:~\d*)?")
_REGEX_FLAGS = re.compile(r"[IM]*")
_LINE_END = re.compile(r"(?:\\.|[^\\\n]|\\\Z)*", re.DOTALL)
_END = re.compile(r"[ \t]*(?=$|[\n;}#])")
_COMMENT = re.compile(r"[^\n]*")
_LABEL = re.compile(r"[ \t]*[^\s;}]*")
_NUMBER = re.compile(r"[ \t]*\d*")
_SET = re.compile(r"\^?\]?(?:\[[:.=].*?[:.=]\]|[^\]\n])*\]")
_FLAGS = re.compile(r"[gpiImMe0-9]*")
_SUBSTITUTION = r"\$\(\(.*?\)\)|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^{}]*\}|`[^`]*`"
# The value of a variable is not known. Most often it is a number, empty, or a part of a pattern. In `"\$p"` the shell
# leaves a `$` to sed, so a name without braces is read in both ways.
_VARIABLE = re.compile(r"\$([A-Za-z_]\w*|\d)")
_FLAG_OPTIONS = frozenset("nsrEzub")


class SedAction(NamedTuple):
    """Something that a script does beyond editing text. A command "" stands for lines of the input."""

    kind: Literal["run", "read", "write"]
    text: str


def sed_actions(command: SimpleCommand) -> list[SedAction]:
    """Return what the scripts on the command line of `sed` do. Raise `CannotParse` if they cannot be read."""
    words = list(zip(command.plain[1:], command.literal[1:], strict=True))
    if all(command.literal):
        return _read_script(command.plain[1:])
    readings = _list_readings(command)
    if any("1" in _find_scripts([unknown.sub("1", word) for word, _ in words]) for unknown, _ in readings[:2]):
        raise CannotParse("the script of `sed` is only worked out when it runs")
    actions: list[SedAction] = []
    problems: list[CannotParse] = []
    for unknown, text in readings:
        try:
            actions += _read_script([word if is_literal else unknown.sub(text, word) for word, is_literal in words])
        except CannotParse as problem:
            problems.append(problem)
    if len(problems) == len(readings):
        raise problems[0]
    return list(dict.fromkeys(actions))


def _list_readings(command: SimpleCommand) -> list[tuple[re.Pattern[str], str]]:
    """
    Return patterns for the unknown parts of the words of *command*, each with a text that stands for them.

    The names of variables come from the source: in `"$a"'s/x/y/'` a quote ends the name, which the word does not show.
    """
    names = sorted({*_VARIABLE.findall(command.source), *_VARIABLE.findall(" ".join(command.plain))}, key=len)
    longest, shortest = (
        re.compile(rf"{_SUBSTITUTION}|\$(?:{'|'.join(ordered)})|\$[@*#?!$-]") for ordered in (names[::-1], names)
    )
    readings = [(longest, "1"), (shortest, "1"), (longest, ""), (shortest, ""), (re.compile(_SUBSTITUTION), "1")]
    return readings if names else [(re.compile(rf"{_SUBSTITUTION}|\$[@*#?!$-]"), text) for text in ("1", "")]


def _read_script(words: Sequence[str]) -> list[SedAction]:
    return list(_ScriptReader("\n".join(_find_scripts(words))).read())


def _find_scripts(words: Sequence[str]) -> Iterator[str]:
    """Yield the values of `-e`, or the first operand if neither `-e` nor `-f` is given."""
    operands: list[str] = []
    has_script, at = False, 0
    while at < len(words):
        word, at = words[at], at + 1
        if word == "--":
            operands += words[at:]
            break
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        option, value, takes_next = _read_option(word)
        if takes_next:
            value, at = "".join(words[at : at + 1]), at + 1
        has_script = has_script or option in ("e", "f")
        if option == "e":
            yield value
    if not has_script:
        yield from operands[:1]


def _read_option(word: str) -> tuple[str, str, bool]:
    """Return the letter of an option, the value that is joined to it, and whether the next word is its value."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        for letter, long in (("e", "--expression"), ("f", "--file"), ("l", "--line-length")):
            if long.startswith(name):
                return letter, value, not equals
        return "", "", False
    for at, letter in enumerate(word[1:], start=2):
        if letter in "efl":
            return letter, word[at:], at == len(word)
        if letter not in _FLAG_OPTIONS:
            break  # `-i` takes the rest of the word as its suffix
    return "", "", False


class _ScriptReader:
    """A script, and the place that was reached in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> Iterator[SedAction]:
        while True:
            self._take(_BLANK)
            if self._at >= len(self._text):
                return
            self._skip_addresses()
            sign = self._next_sign()
            if sign == "#":
                self._take(_COMMENT)
            elif sign != "{":
                yield from self._read_command(sign)

    def _read_command(self, sign: str) -> Iterator[SedAction]:
        if sign in "aic":
            self._take(_LINE_END)
        elif sign in "rRwW":
            yield SedAction("read" if sign in "rR" else "write", self._take_line())
        elif sign == "e":
            command = self._take_line()
            if "\\" in command:
                raise CannotParse("the command that `sed` runs has escapes of its own")
            yield SedAction("run", command)
        elif sign == "s":
            yield from self._read_substitution()
        else:
            self._skip_arguments(sign)
            if _END.match(self._text, self._at) is None:
                self._refuse()

    def _skip_arguments(self, sign: str) -> None:
        if sign == "y":
            delimiter = self._next_sign()
            self._skip_part(delimiter, is_regex=False)
            self._skip_part(delimiter, is_regex=False)
        elif sign in ":btTv":
            self._take(_LABEL)
        elif sign in "lLqQ":
            self._take(_NUMBER)
        elif sign not in "=dDgGhHnNpPxzF":
            self._refuse()

    def _read_substitution(self) -> Iterator[SedAction]:
        delimiter = self._next_sign()
        self._skip_part(delimiter, is_regex=True)
        self._skip_part(delimiter, is_regex=False)
        if "e" in self._take(_FLAGS):
            yield SedAction("run", "")
        if self._text.startswith("w", self._at):
            self._at += 1
            yield SedAction("write", self._take_line())
        elif _END.match(self._text, self._at) is None:
            self._refuse()

    def _skip_addresses(self) -> None:
        self._skip_address()
        self._take(_SPACES)
        if self._text.startswith(",", self._at):
            self._at += 1
            self._take(_SPACES)
            self._skip_address()
            self._take(_SPACES)
        while self._text.startswith("!", self._at):
            self._at += 1
            self._take(_SPACES)

    def _skip_address(self) -> None:
        sign = self._text[self._at : self._at + 1]
        if sign in ("/", "\\"):
            self._at += 1
            self._skip_part(sign if sign == "/" else self._next_sign(), is_regex=True)
            self._take(_REGEX_FLAGS)
        else:
            self._take(_STEP)

    def _skip_part(self, delimiter: str, *, is_regex: bool) -> None:
        """Step behind the next *delimiter* that is neither escaped nor, in a pattern, part of a set in brackets."""
        if delimiter in ("\n", "\\"):
            self._refuse()
        while (sign := self._next_sign()) != delimiter:
            if sign == "\\":
                self._next_sign()
            elif sign == "[" and is_regex:
                self._skip_set()

    def _skip_set(self) -> None:
        """Step behind the `]` that ends a set. A `]` at the beginning belongs to the set."""
        match = _SET.match(self._text, self._at)
        self._at = match.end() if match else self._refuse()

    def _take_line(self) -> str:
        return self._take(_LINE_END).strip(" \t").replace("\\\n", "\n")

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return match.group() if match else ""

    def _next_sign(self) -> str:
        if self._at >= len(self._text):
            self._refuse()
        self._at += 1
        return self._text[self._at - 1]

    def _refuse(self) -> NoReturn:
        raise CannotParse("the script of `sed` is not understood")
