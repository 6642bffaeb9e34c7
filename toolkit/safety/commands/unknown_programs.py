"""
Commands that a program may run if no table knows it: `launcher rm -rf /`, `launcher --exec 'rm -rf /'`.

There are more programs that run others than any table can list. So the words behind the name of an unknown program may
be a command, and so may a word with several words in it. This is a guess: only the worst that they could do counts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from ..shell.known_input import SHELLS
from ..shell.prefix_programs import PREFIXES
from ..shell.records import SimpleCommand, slice_command
from ..shell.wrappers import RUNNERS
from .dangers import has_dangers
from .inline_code import AWKS, language_of_program
from .project_files import MAKES
from .table_files import FILES, NAMES_ONLY

__all__ = ["find_possible_commands", "find_possible_texts", "find_values_to_run", "may_run_code"]

_MAX_COMMANDS = 30
# The words of these programs are names of programs, or texts for people.
_NAMING = frozenset({
    ":", "true", "false", "read", "let", "return", "exit", "wait", "help", "builtin", "last", "lastb", "whatis",
    "apropos", "tldr", "cheat", "info", "whereis", "locate", "pgrep", "pidof", "notify-send", "logger", "say", "cowsay",
    "figlet", "wall", "apt-cache", "dpkg-query", "seq", "expr", "sleep", "date", "cal", "uname", "history",
})  # fmt: skip
_TAKES_VARIABLES = frozenset({*MAKES, "cmake", "meson", "ninja", "export", "declare", "typeset"})
_SETTING = re.compile(r"-*[A-Za-z_][\w.:-]*")
# `system("x")`, `(system "x")`, `os.popen("x")`
_CALL = re.compile(
    r"\b(?:system|popen|exec\w*|spawn\w*|(?:run-)?shell[\w-]*|subprocess\.\w+)['\"]?\s*\(?\s*[(\[\"'`]|child_process|qx[{(/]"
)


def find_possible_commands(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """Yield the commands that *command* may run, if its program is unknown."""
    if _is_unknown(command) or command.name in _TAKES_VARIABLES:
        yield from islice(_commands_among_words(command), _MAX_COMMANDS)


def find_values_to_run(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """Yield the commands in variables that are set for *command*, which may run them: `CC='gcc -g' make`."""
    for setting in command.assignments:
        if setting.is_literal and (words := tuple(setting.value.split())):
            yield replace(command, words=words, plain=words, literal=(True,) * len(words))


def may_run_code(command: SimpleCommand) -> bool:
    """Return whether the program is unknown, and one of its words is code that starts programs."""
    return _is_unknown(command) and any(map(_CALL.search, command.plain[1:]))


def find_possible_texts(command: SimpleCommand) -> Iterator[str]:
    """Yield those of the possible commands that tables know, as texts for the shell."""
    for possible in (*find_possible_commands(command), *find_values_to_run(command)):
        if _is_known(possible.name):
            words = zip(possible.words, possible.literal, strict=True)
            yield " ".join(shlex.quote(word) if is_literal else word for word, is_literal in words)


def _commands_among_words(command: SimpleCommand) -> Iterator[SimpleCommand]:
    is_known = _is_known(command.name)
    for at, word in enumerate(command.plain[1:], start=1):
        if not command.literal[at] or not word:
            continue
        # A program may be the value of an option, or of a variable that make and configure take.
        name, equals, value = word.partition("=")
        if not equals or not _SETTING.fullmatch(name):
            value = "" if is_known or word.startswith("-") else word
        parts = tuple(value.split())
        if len(parts) > 1:
            yield replace(command, words=parts, plain=parts, literal=(True,) * len(parts))
        elif parts:
            yield slice_command(command, at, len(command.words), first_word=value)


def _is_unknown(command: SimpleCommand) -> bool:
    return command.literal[0] and not _is_known(command.name) and command.name not in _NAMING


def _is_known(name: str) -> bool:
    return (
        name in FILES
        or name in NAMES_ONLY
        or name in PREFIXES
        or name in RUNNERS
        or name in SHELLS
        or name in AWKS
        or language_of_program(name) is not None
        or has_dangers(name)
    )
