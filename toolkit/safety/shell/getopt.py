"""
Reader for a program's options that follows `getopt`: clusters, abbreviations, and values that are joined or follow.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .prefix_programs import Prefix
from .records import SimpleCommand

__all__ = ["Option", "options_of", "read_option", "values_of"]


class Option(NamedTuple):
    """An option as it was written: its kind, the number of words it takes, and its value if that is attached."""

    kind: str
    word_count: int
    value: str | None = None


@functools.cache
def options_of(prefix: Prefix) -> Mapping[str, str]:
    kinds = {"value": prefix.values, "flag": prefix.flags, "attached": prefix.attached, "text": prefix.texts}
    return {name: kind for kind, names in kinds.items() for name in names.split()}


def read_option(word: str, options: Mapping[str, str]) -> Option | None:
    """Read the option *word*. Return None if it is not known how many words the option takes."""
    if word.startswith("--"):
        option, equals, value = word.partition("=")
        # An abbreviation may stand for several options, as long as all of them are of the same kind.
        kinds = (
            {options[option]}
            if option in options
            else {kind for name, kind in options.items() if name.startswith(option) and len(option) > 2}
        )
        if len(kinds) != 1:
            return Option("flag", 1) if re.fullmatch(r"--\d+", word) else None
        (kind,) = kinds
        if equals:
            return Option(kind, 1, value)
        return Option(kind, 2 if kind in ("value", "text") else 1)
    if word in options:
        return Option(options[word], 2 if options[word] in ("value", "text") else 1)
    if re.fullmatch(r"-[+]?\d+", word):
        return Option("flag", 1)
    for at, letter in enumerate(word[1:], start=1):
        kind = options.get(f"-{letter}", "")
        if not kind:
            return None
        if kind == "attached":
            return Option(kind, 1)
        if kind in ("value", "text"):
            return Option(kind, 2) if at == len(word) - 1 else Option(kind, 1, word[at + 1 :])
    return Option("flag", 1)


def values_of(command: SimpleCommand, letter: str, takes: str) -> Iterator[str]:
    """Yield the values of the option *letter*. *takes* holds the letters of all options that have a value."""
    at = 1
    while at < len(command.plain):
        word = command.plain[at]
        at += 1
        if not word.startswith("-") or word in ("-", "--"):
            return
        for place, name in enumerate(word[1:], start=2):
            if name in takes:
                value = word[place:]
                if not value:
                    value, at = "".join(command.plain[at : at + 1]), at + 1
                if name == letter:
                    yield value
                break
