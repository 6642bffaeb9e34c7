"""
Commands that a program may run if no table knows it: `launcher rm -rf /`, `launcher --exec 'rm -rf /'`.

There are more programs that run others than any table can list. So the words behind the name of an unknown program may
be a command, and a word with several words in it may be a script. The same holds for variables that are set for a
program: `CC='gcc -g' make`. All this is a guess, so only the worst that these commands could do counts.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from ..shell.known_input import SHELLS
from ..shell.parser import parse_script
from ..shell.prefix_programs import PREFIXES
from ..shell.records import CannotParse, Script, SimpleCommand, slice_command
from ..shell.wrappers import RUNNERS
from .computed_options import fill_in_defaults
from .dangers import has_dangers
from .inline_code import AWKS, language_of_program
from .project_files import MAKES
from .table_files import FILES, NAMES_ONLY
from .targets import writing_danger
from .variable_values import collect_values, fill_in_command, remove_variables

__all__ = ["find_possible_commands", "find_possible_texts", "may_run_code", "uses_raw_device"]

_MAX_COMMANDS = 30
# The words of these programs are names of programs, or texts for people.
_NAMING = frozenset({
    ":", "true", "false", "read", "let", "return", "exit", "wait", "help", "builtin", "last", "lastb", "whatis",
    "apropos", "tldr", "cheat", "info", "whereis", "locate", "pgrep", "pidof", "notify-send", "logger", "say", "cowsay",
    "figlet", "wall", "apt-cache", "dpkg-query", "seq", "expr", "sleep", "date", "cal", "uname", "history",
})  # fmt: skip
_SHOW_DEVICES = frozenset({"lsblk", "blkid", "findmnt", "smartctl", "udevadm", "lshw", "sginfo"})
# Of these programs only the values count that they set: `make CC='gcc -g'`.
_TAKES_VARIABLES = frozenset({*MAKES, "cmake", "meson", "ninja", "export", "declare", "typeset"})
_SETTING = re.compile(r"-*[A-Za-z_][\w.:-]*")
_SUBSTITUTION = re.compile(r"\$\([^()]*\)|`[^`]*`")
_SEVERAL_WORDS = re.compile(r"[\s;&|<>()$`]")
_SEPARATOR = re.compile(r"[;&|\n(){}`]+")
# `system("x")`, `(system "x")`, `os.popen("x")`
_CALL = re.compile(
    r"\b(?:system|popen|exec\w*|spawn\w*|(?:run-)?shell[\w-]*|subprocess\.\w+)['\"]?\s*\(?\s*[(\[\"'`]|child_process|qx[{(/]"
)


def find_possible_commands(script: Script) -> Iterator[SimpleCommand]:
    """Yield the commands that unknown programs may run."""
    for command, possible in _find_possible(script):
        if isinstance(possible, SimpleCommand):
            yield possible
            continue
        try:
            yield from (inner for inner in parse_script(possible).commands if inner.literal[0])
        except CannotParse:
            # A text for people, or one that only looks like a script.
            for part in _SEPARATOR.split(possible):
                if words := tuple(part.split()):
                    yield _with_words(command, words)


def find_possible_texts(script: Script) -> Iterator[tuple[SimpleCommand, str]]:
    """Yield each unknown program with a text for the shell that it may run, if it begins with a known program."""
    for command, possible in _find_possible(script):
        if isinstance(possible, str):
            yield command, possible
        elif _is_known(possible.name):
            words = zip(possible.words, possible.literal, strict=True)
            yield command, " ".join(shlex.quote(word) if is_literal else word for word, is_literal in words)


def may_run_code(command: SimpleCommand) -> bool:
    """Return whether the program is unknown, and one of its words is code that starts programs."""
    return _is_unknown(command) and any(map(_CALL.search, command.plain[1:]))


def uses_raw_device(command: SimpleCommand) -> bool:
    """Return whether the program is unknown, and one of its words names a disk."""
    is_unknown = _is_unknown(command) and command.name not in _SHOW_DEVICES
    dangers = [writing_danger(word) for word in command.plain[1:] if word.startswith("/dev/")] if is_unknown else []
    return any(danger is not None and danger.word == "deny" for danger in dangers)


def _find_possible(script: Script) -> Iterator[tuple[SimpleCommand, SimpleCommand | str]]:
    values = None
    for command in script.commands:
        for setting in command.assignments:
            if setting.is_literal:
                yield from ((command, text) for text in [setting.value] if text.strip())
        if command.name in script.functions or not (_is_unknown(command) or command.name in _TAKES_VARIABLES):
            continue
        readings = [command]
        if command.gets_words_from_input or not all(command.literal):
            values = collect_values(script) if values is None else values
            readings += fill_in_command(command, values)
            readings += map(_without_variables, [*readings])
        if command.gets_words_from_input and command.wrapper is not None:
            sources = (source.plain[1:] for source in command.wrapper.fed_by)
            readings += [_with_words(command, (command.words[0], *words)) for words in sources]
        for reading in readings:
            yield from ((command, possible) for possible in islice(_find_among_words(reading), _MAX_COMMANDS))


def _without_variables(command: SimpleCommand) -> SimpleCommand:
    """Return *command* as it is if its variables and substitutions are empty: `launcher "$x"rm`."""
    texts = [fill_in_defaults(plain, r"\1") for plain in command.plain]
    words = tuple(
        source[2:-1] if source.startswith('$"') else _SUBSTITUTION.sub("", remove_variables(text))
        for source, text in zip(command.words, texts, strict=True)
    )
    return _with_words(command, words)


def _with_words(command: SimpleCommand, words: tuple[str, ...]) -> SimpleCommand:
    return replace(command, words=words, plain=words, literal=(True,) * len(words))


def _find_among_words(command: SimpleCommand) -> Iterator[SimpleCommand | str]:
    is_known = _is_known(command.name)
    for at, word in enumerate(command.plain[1:], start=1):
        if not command.literal[at]:
            continue
        # A program may be the value of an option, or of a variable that make and configure take.
        name, equals, value = word.partition("=")
        if not equals or not _SETTING.fullmatch(name):
            value = "" if is_known or word.startswith("-") else word
        if _SEVERAL_WORDS.search(value.strip()):
            yield value
        elif value.strip():
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
