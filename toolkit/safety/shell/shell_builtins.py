"""The texts that builtins of the shell run, now or later, and builtins that change how the shell reads a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .getopt import values_of
from .records import CannotParse, ShellText, SimpleCommand, WrappedCommand, slice_command

__all__ = ["BUILTIN_FINDERS"]


def _eval(command: SimpleCommand) -> Iterator[WrappedCommand]:
    if len(command.words) > 1:
        first = 2 if command.words[1:2] == ("--",) else 1
        yield ShellText(" ".join(command.plain[first:]), "eval")


def _trap(command: SimpleCommand) -> Iterator[WrappedCommand]:
    first = 2 if command.plain[1:2] == ("--",) else 1
    text = "".join(command.plain[first : first + 1])
    if len(command.words) == first + 1 and not command.literal[first]:
        raise CannotParse("`trap` with a text that is only worked out when it runs")
    if len(command.words) > first + 1 and text != "-" and (first == 2 or not text.startswith("-")):
        yield ShellText(text, "trap")


def _history(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the line that `history -s text` stores for `fc -s` to run, or the program that `fc -e program` runs."""
    is_stored = command.plain[:2] == ("history", "-s")
    texts = [" ".join(command.plain[2:])] if is_stored else values_of(command, "e", "e")
    yield from (ShellText(text, command.name) for text in texts if text != "-")


def _mapfile(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the text of `mapfile -C text -c 1`, which runs for the lines that are read."""
    for text in values_of(command, "C", "dnOsuCc"):
        yield ShellText(text, f"{command.name} -C")


def _completion(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the commands of `compgen -C command`, `-F function` and `-W words`. The shell expands the words."""
    _refuse_computed_options(command)
    for text in (*values_of(command, "C", "oAGWFCXPS"), *values_of(command, "F", "oAGWFCXPS")):
        yield ShellText(text, f"{command.name} -C")
    for text in values_of(command, "W", "oAGWFCXPS"):
        yield ShellText(f": {text}", f"{command.name} -W")


def _alias(command: SimpleCommand) -> Iterator[WrappedCommand]:
    for word, is_literal in zip(command.plain[1:], command.literal[1:], strict=True):
        if "=" in word:
            yield ShellText(word.partition("=")[2], "alias")
        elif not is_literal:
            raise CannotParse("`alias` with a name that is only worked out when it runs")


def _refuse_computed_options(command: SimpleCommand) -> None:
    """Refuse a word that is expanded and that may be an option with a program. The value of an option is quoted."""
    for at, word in enumerate(command.plain[1:], start=1):
        if word == "--":
            return
        is_value = command.plain[at - 1].startswith("-") and command.words[at].startswith('"')
        if not command.literal[at] and (not is_value or "[@]" in word or "$@" in word):
            raise CannotParse(f"`{command.name}` with options that are only worked out when it runs")


def _hash(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Yield the file of `hash -p file name`. After this command, the name runs the file."""
    _refuse_computed_options(command)
    for at, word in enumerate(command.plain[:-1]):
        if re.fullmatch(r"-[lrdt]*p", word):
            yield slice_command(command, at + 1, at + 2)
        elif re.fullmatch(r"-[lrdt]*p.+", word):
            raise CannotParse("`hash -p` with a file that is joined to it")


def _enable(command: SimpleCommand) -> Iterator[WrappedCommand]:
    _refuse_computed_options(command)
    if any(re.match(r"-[a-z]*f", word) for word in command.plain[1:]):
        raise CannotParse("`enable -f` loads code into the shell")
    yield from ()


# Options that change how the shell reads every later line.
_CHANGE_READING = frozenset({"expand_aliases", "extglob", "posix", "keyword", "compat31", "sourcepath"})


def _refuse_reading_options(command: SimpleCommand) -> Iterator[WrappedCommand]:
    """Refuse `shopt -s extglob`, `set -k` and similar commands, because the shell reads later words by other rules."""
    words = command.plain[1:]
    sets = command.name == "set"
    letters = "".join(word for word in words if re.fullmatch(r"-[a-zA-Z]+", word)) if sets else ""
    if not _CHANGE_READING.isdisjoint(words) or "k" in letters:
        raise CannotParse(f"`{command.name}` changes how every later line is read")
    yield from ()


BUILTIN_FINDERS: dict[str, Callable[[SimpleCommand], Iterator[WrappedCommand]]] = {
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "hash": _hash,
    "enable": _enable,
    **dict.fromkeys(("history", "fc"), _history),
    **dict.fromkeys(("set", "shopt"), _refuse_reading_options),
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
    **dict.fromkeys(("compgen", "complete"), _completion),
}
