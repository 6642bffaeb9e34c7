"""
Commands that a program may run if no table knows it: `launcher rm -rf /`, `launcher --exec 'rm -rf /'`.

There are more programs that run others than any table can list. So the words behind the name of an unknown program may
be a command, and a word with several words in it may be a script. The same holds for variables that are set for a
program: `CC='gcc -g' make`. All this is a guess, so only the worst that these commands could do counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice, pairwise
from shlex import join, quote

from ..shell.evaluation import SUBSTITUTION_MARKS
from ..shell.known_input import SHELLS, skip_shell_options
from ..shell.parser import parse_script
from ..shell.prefix_programs import PREFIXES
from ..shell.records import CannotParse, Script, SimpleCommand, slice_command
from ..shell.wrappers import RUNNERS
from .computed_options import fill_in_defaults
from .dangers import has_dangers
from .inline_code import AWKS, find_inline_code, find_interpreter_operands, language_of_program
from .options import Args
from .printed_texts import find_known_output, input_text
from .project_files import MAKES
from .table_files import FILES, NAMES_ONLY
from .targets import writing_danger
from .variable_values import fill_in_command, guess_values, remove_variables

__all__ = [
    "find_changed_words",
    "find_possible_commands",
    "find_possible_scripts",
    "find_word_of_danger",
    "may_run_code",
    "uses_raw_device",
]

_MAX_READINGS = 3_000
_MAX_POSSIBLE = 10_000
_MAX_CHARACTERS = 200_000
_MAX_LEVEL = 3
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
_SHELL_SIGN = re.compile(r"[\s;&|<>()$`\\'\"]")
_SEPARATOR = re.compile(r"(?:^|[;&|\n(){}`]+)\s*(?:(?:if|then|else|elif|do|while|until|time|!)\s+)*")
# `system("x")`, `(system "x")`, `os.popen("x")`
_CALL = re.compile(
    r"\b(?:system|popen|exec\w*|spawn\w*|(?:run-)?shell[\w-]*|subprocess\.\w+)['\"]?\s*\(?\s*[(\[\"'`]|child_process|qx[{(/]"
)
# Subcommands and options that say what cannot be taken back: `cdk destroy`, `prisma migrate reset`, `topics --delete`.
_DESTROYS = re.compile(
    r"(?!no-)(?:[a-z]+[.:_-])*(?:delete|del|destroy|drop|purge|wipe|erase|obliterate|nuke|expunge|truncate|flush|reset"
    r"|terminate|teardown|decommission|undeploy|unpublish|yank|downgrade|rollback|undo)(?:[:_-][a-z]+)*|fresh|rb"
)
_SHOWS_SECRETS = re.compile(
    r"(?:[a-z]+[:-])*(?:secrets?|passwords?|credentials?|access-tokens?|api-?keys?|get-token|auth[:-]token)(?:[:-][a-z]+)*"
)
_WORDS_OF_DANGERS = (
    (_DESTROYS, "may delete or reset what cannot be taken back"),
    (_SHOWS_SECRETS, "may show or change a secret"),
)
_OWN_PROGRAM = re.compile(r"(?!/).*/|.*\.\w+$")
_TAKES_NAME = re.compile("-[kgtemn]|--(?:grep|filter)")  # the name of a test, mostly: `pytest -k delete`
_MAX_SUBCOMMANDS = 3


def find_possible_commands(script: Script, level: int = 0) -> Iterator[SimpleCommand]:
    """Yield the commands that unknown programs may run, also those that they run through each other."""
    for command, possible in _find_possible(script):
        if possible is None or level > _MAX_LEVEL:
            yield replace(command, words=("$x",), plain=("$x",), literal=(False,))
            return
        if isinstance(possible, SimpleCommand):
            yield possible
            continue
        for parsed in _parse(possible):
            yield from (inner for inner in parsed.commands if inner.literal[0])
            yield from find_possible_commands(parsed, level + 1)


def find_possible_scripts(script: Script) -> Iterator[tuple[SimpleCommand, Script | None]]:
    """
    Yield each unknown program with a script that it may run, if that begins with a known program.

    None stands for the rest of the scripts if they are too many to look at.
    """
    for command, possible in _find_possible(script):
        if possible is None:
            yield command, None
        elif isinstance(possible, str):
            yield from ((command, parsed) for parsed in _parse(possible))
        elif _is_known(possible.name):
            words = zip(possible.words, possible.literal, strict=True)
            with suppress(CannotParse):
                yield command, parse_script(" ".join(quote(word) if is_literal else word for word, is_literal in words))


def find_word_of_danger(command: SimpleCommand) -> str | None:
    """Return what a word of an unknown program, such as `destroy`, says that it does; None for one of the project."""
    program = _find_unknown(command)
    if program is None or "--dry-run" in program.plain:
        return None
    if program.name != "manage.py" and (program is not command or _OWN_PROGRAM.match(program.words[0])):
        return None
    words = [word for before, word in pairwise(program.plain) if not _TAKES_NAME.fullmatch(before)]
    operands = [word for word in words if not word.startswith("-")][:_MAX_SUBCOMMANDS]
    options = [word.lstrip("-").partition("=")[0] for word in program.plain[1:] if word.startswith("-")]
    return next((why for says, why in _WORDS_OF_DANGERS if any(map(says.fullmatch, (*operands, *options)))), None)


def may_run_code(command: SimpleCommand) -> bool:
    """Return whether the program is unknown, and one of its words is code that starts programs."""
    program = _find_unknown(command)
    return program is not None and any(map(_CALL.search, program.plain[1:]))


def find_changed_words(script: Script) -> Iterator[SimpleCommand]:
    """Yield the unknown programs that may run words which the line shows in another form: `launcher $(rev <<< mr)`."""
    substituted = [command for command in script.commands if not SUBSTITUTION_MARKS.isdisjoint(command.nesting)]
    if any(input_text(command) and find_known_output(command) is None for command in substituted):
        unknown = (command for command in script.commands if _find_unknown(command) is not None)
        yield from (command for command in unknown if not all(command.literal))


def uses_raw_device(command: SimpleCommand) -> bool:
    """Return whether the program is unknown, and one of its words names a disk."""
    program = _find_unknown(command)
    if program is None or program.name in _SHOW_DEVICES:
        return False
    dangers = [writing_danger(word) for word in program.plain[1:] if word.startswith("/dev/")]
    return any(danger is not None and danger.word == "deny" for danger in dangers)


def _find_possible(script: Script) -> Iterator[tuple[SimpleCommand, SimpleCommand | str | None]]:
    """Yield what the unknown programs may run, and None where that is too much to look at."""
    count = characters = 0
    for command, reading in _find_readings(script):
        count += 1
        for possible in _find_among_words(reading) if isinstance(reading, SimpleCommand) else [reading]:
            count += 1
            if isinstance(possible, str):
                characters += len(possible)
            elif _is_known(possible.name):
                characters += sum(map(len, possible.words))
            if count > _MAX_POSSIBLE or characters > _MAX_CHARACTERS:
                yield command, None
                return
            yield command, possible


def _find_readings(script: Script) -> Iterator[tuple[SimpleCommand, SimpleCommand | str]]:
    """Yield each unknown program with its possible words, and each value that a variable is set to."""
    values = None
    for command in script.commands:
        for setting in command.assignments:
            if setting.is_literal and setting.value.strip():
                yield command, setting.value
        program = command if command.name in _TAKES_VARIABLES else _find_unknown(command)
        if command.name in script.functions or program is None:
            continue
        readings = [program]
        if command.gets_words_from_input or not all(command.literal):
            values = guess_values(script) if values is None else values
            readings += islice(fill_in_command(program, values), _MAX_READINGS)
            readings += map(_without_variables, [*readings])
            # A pattern, a home folder or braces leave what is quoted beside them as it is: `launcher *'; rm x'`.
            readings.append(program.with_words(program.plain))
        if command.gets_words_from_input and command.wrapper is not None:
            sources = [words for source in command.wrapper.fed_by for words in (source, _without_variables(source))]
            readings += [program.with_words((program.words[0], *source.plain[1:])) for source in sources]
        yield from ((command, reading) for reading in readings)


def _parse(text: str) -> Iterator[Script]:
    """Yield *text* as a script, and as it is if its variables are empty."""
    for reading in dict.fromkeys([text, _empty(text)]):
        try:
            yield parse_script(reading)
        except CannotParse:
            # It is a text for people, or only looks like a script.
            for part in filter(str.strip, _SEPARATOR.split(reading)):
                with suppress(CannotParse):
                    yield parse_script(join(part.split()))


def _without_variables(command: SimpleCommand) -> SimpleCommand:
    """Return *command* as it is if its variables and substitutions are empty: `launcher "$x"rm`."""
    texts = [fill_in_defaults(plain, r"\1") for plain in command.plain]
    words = tuple(
        source[2:-1] if source.startswith('$"') else _empty(text)
        for source, text in zip(command.words, texts, strict=True)
    )
    return command.with_words(words)


def _empty(text: str) -> str:
    return _SUBSTITUTION.sub("", remove_variables(text))


def _find_among_words(command: SimpleCommand) -> Iterator[SimpleCommand | str]:
    is_known = _is_known(command.name)
    for at, word in enumerate(command.plain[1:], start=1):
        if not command.literal[at]:
            continue
        # A program may be the value of an option, or of a variable that make and configure take.
        name, equals, value = word.partition("=")
        if not equals or not _SETTING.fullmatch(name):
            value = "" if is_known or word.startswith("-") else word
        if _SHELL_SIGN.search(value.strip()):
            yield value
        elif value.strip():
            yield slice_command(command, at, len(command.words), first_word=value)


def _find_unknown(command: SimpleCommand) -> SimpleCommand | None:
    """Return *command* if its program is unknown, or the script that it runs with the words behind it, or None."""
    if not command.literal[0] or command.name in _NAMING:
        return None
    at, language_name = len(command.words), language_of_program(command.name)
    if command.name in SHELLS or command.name in ("source", "."):
        at, has_text = skip_shell_options(command)
        at = len(command.words) if has_text else at
    elif language_name is not None:
        args = Args(command)
        has_code = find_inline_code(args) is not None or "-m" in args.options
        operands = () if has_code else find_interpreter_operands(args, language_name)
        at = command.plain.index(operands[0], 1) if operands else at
    elif not _is_known(command.name):
        return command
    return slice_command(command, at, len(command.words)) if at < len(command.words) else None


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
