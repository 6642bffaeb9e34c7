"""
The check whether a command line is dangerous, as far as the text can tell.

The line is parsed (`shell`). Every command in it is compared with the tables (`dangers`), with the list of protected
files (`files`) and with its neighbours (`data_flows`, `written_scripts`). A line that cannot be parsed leads to a
question. This check is not a boundary: an allowed program can do anything, and only a sandbox can prevent it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from ..._plumbing.wording import in_backticks
from ...verdicts import Finding
from ..shell.braces import expand_braces
from ..shell.evaluation import prints_into_variable
from ..shell.known_input import SHELLS, find_placeholders
from ..shell.parser import CannotParse, Redirection, Script, SimpleCommand, parse_script
from .computed_options import find_computed_options, with_empty_variables
from .dangers import command_dangers
from .data_flows import flow_dangers, script_dangers
from .files import CommandFiles, FileUse
from .folders import TooManyFolders, folders_of
from .inline_code import AWKS, find_awk_programs
from .options import Args
from .printed_texts import input_text
from .targets import CONNECTS, TOO_MANY_NAMES, Danger, writing_danger
from .unknown_programs import (
    find_changed_words,
    find_possible_scripts,
    find_word_of_danger,
    may_run_code,
    uses_raw_device,
)
from .variable_values import FILLERS, collect_values, fill_in_command, fill_in_text
from .written_scripts import WrittenText, find_runs_of_written_files

__all__ = ["CommandFiles", "check_command"]

_BY = "check `dangerous-command`"
_MAX_SHOWN_CHARS = 80
_MAX_REASONS = 3
_MAX_READINGS = 2_000
_MAX_PATHS = 20_000
_MAX_SCRIPT_DEPTH = 4
_MAY_RUN = "may run a command that "
_TOO_DEEP = Danger("ask", f"{_MAY_RUN}is nested too deeply to look at")
_TOO_MANY = Danger("ask", "can mean too many things to look at all of them")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?(\w+|[@*])")
_COMPUTES = re.compile(r"`|\$[(\[]|\$\{(?!\w+\}|[@*]\})")
# The variables that the shell itself sets, to texts of the line.
_SHELL_VARIABLE = re.compile(r"_|PWD|OLDPWD|DIRSTACK|FUNCNAME|BASH\w*")
_PARAMETER = re.compile(r"\d+|[@*]")


def check_command(text: str, files: CommandFiles | None = None) -> Finding | None:
    """
    Return a finding about the dangers of the command line *text*, or None if there are none.

    Args:
        files: The protected files. The default is the built-in list.
    """
    try:
        # The checks decode texts that the parser has left alone, and may not understand them.
        findings = list(_find_dangers(parse_script(text), files or _default_files()))
    except CannotParse as problem:
        return Finding("ask", _BY, f"the command cannot be read, so it is not known what it would do: {problem}")
    if not findings:
        return None
    # Reasons to deny come first. Equal reasons are given once.
    findings.sort(key=lambda finding: finding[1].word != "deny")
    reasons = list(dict.fromkeys(f"{in_backticks(_shorten(part))} {danger.why}" for part, danger in findings))
    remainder = f"; and {len(reasons) - _MAX_REASONS} more" if len(reasons) > _MAX_REASONS else ""
    return Finding(findings[0][1].word, _BY, "; ".join(reasons[:_MAX_REASONS]) + remainder)


@cache
def _default_files() -> CommandFiles:
    return CommandFiles()


def _find_dangers(script: Script, files: CommandFiles, level: int = 0) -> Iterator[tuple[str, Danger]]:
    if level > _MAX_SCRIPT_DEPTH:
        yield from ((command.source, _TOO_DEEP) for command in script.commands[:1])
        return
    yield from script_dangers(script)
    for command in find_computed_options(script):
        yield (
            command.source,
            Danger("ask", "may run another program with an option that is only worked out when it runs"),
        )
    values = collect_values(script)
    try:
        folders = folders_of(script.commands, lambda word: fill_in_text(word, values))
    except TooManyFolders as problem:
        yield script.commands[0].source, Danger("ask", str(problem))
        folders = ("",)
    dangers = list(_command_dangers(script, values, folders, files))
    yield from dangers
    if any(danger is _TOO_MANY for _, danger in dangers):
        return  # to look at the rest would take as long
    yield from _redirection_dangers(script, values, folders, files)
    for command, outcome in find_runs_of_written_files(script):
        if isinstance(outcome, WrittenText):
            yield from _text_dangers(command, outcome.text, files, level)
        else:
            yield command.source, outcome
    yield from _possible_dangers(script, files, level)
    for command in script.commands:
        for text in _fill_in_input(command):
            yield from _text_dangers(command, text, files, level)


def _possible_dangers(script: Script, files: CommandFiles, level: int) -> Iterator[tuple[str, Danger]]:
    """Yield the worst that unknown programs may do, if they run the words behind their names."""
    for command in filter(may_run_code, script.commands):
        yield command.source, Danger("ask", "may run code that starts programs")
    for command in script.commands:
        if (why := find_word_of_danger(command)) is not None:
            yield command.source, Danger("ask", why)
    for command in filter(uses_raw_device, script.commands):
        yield command.source, Danger("ask", "may change a disk")
    for command in find_changed_words(script):
        yield command.source, Danger("ask", f"{_MAY_RUN}is only worked out when it runs")
    for command, possible in find_possible_scripts(script):
        if possible is None:
            yield command.source, Danger("ask", f"{_MAY_RUN}is among too many to look at")
            return
        is_shell = any(first.name in SHELLS for first in possible.commands[:1])
        for _, danger in _find_dangers(possible, files, level + 1):
            if danger.word == "deny" or is_shell or danger.why.startswith(_MAY_RUN):
                yield command.source, Danger("ask", f"{_MAY_RUN}{danger.why.removeprefix(_MAY_RUN)}")


def _fill_in_input(command: SimpleCommand) -> Iterator[str]:
    """Yield the text of a shell with the lines that `xargs` inserts into it, if the line shows them."""
    if command.name in SHELLS and command.wrapper is not None:
        placeholders = {"{}", *find_placeholders(command)} - {"{"}
        for word in command.plain[1:]:
            for part in filter(word.__contains__, placeholders):
                yield from (word.replace(part, line) for line in input_text(command.wrapper).splitlines())


def _command_dangers(
    script: Script, values: Mapping[str, Sequence[str]], folders: Sequence[str], files: CommandFiles
) -> Iterator[tuple[str, Danger]]:
    whole_folders = [folder for folder in folders if folder.startswith(("/", "~", "$HOME"))]
    dots = any("dotglob" in command.plain for command in script.commands)
    readings = 0
    words = sum(len(command.plain) for command in script.commands)
    if words * len(folders) > _MAX_PATHS:
        yield script.commands[0].source, _TOO_MANY
        return
    for command in script.commands:
        is_awk = command.name in AWKS
        is_fed_code = command.gets_words_from_input and not find_awk_programs(command)
        if is_awk and (is_fed_code or _takes_code_from_line(command, script)):
            yield command.source, Danger("ask", "runs code that is only worked out when it runs")
        if any(expand_braces(plain) is None for plain in _expanded_words(command)):
            yield command.source, TOO_MANY_NAMES
        known_values = collect_values(script, are_others_empty=True) if is_awk else values
        filled = [*fill_in_command(command, known_values), *with_empty_variables(command)]
        for reading in [command, *filled]:
            yield from ((command.source, danger) for danger in flow_dangers(reading, files))
            is_denied = False
            for below in _in_folders(reading, whole_folders):
                readings += 1
                if readings > _MAX_READINGS:
                    yield command.source, _TOO_MANY
                    return
                for danger in command_dangers(Args(below)):
                    is_denied = is_denied or danger.word == "deny"
                    yield command.source, danger
            # If the command is denied anyway, the files that would be lost with the disk need not be named.
            for danger in () if is_denied else files.find_dangers(Args(reading), folders, dots=dots):
                yield command.source, danger


def _expanded_words(command: SimpleCommand) -> Iterator[str]:
    """Yield the words in which braces may stand for names: those that are not known and not in quotes as a whole."""
    for word, plain, is_literal in zip(command.words, command.plain, command.literal, strict=True):
        if not is_literal and not _QUOTED.fullmatch(word):
            yield plain


def _takes_code_from_line(command: SimpleCommand, script: Script) -> bool:
    """
    Return whether the line computes a part of the program of awk.

    A variable is harmless if the line only assigns texts to it that it shows, or does not set it at all. If anything
    is read into a variable, all of them count as computed.
    """
    expanded = {word for word, is_literal in zip(command.words, command.literal, strict=True) if not is_literal}
    texts, names = list(expanded.intersection(find_awk_programs(command))), set[str]()
    while texts:
        text = _ESCAPED.sub("", texts.pop())
        if _COMPUTES.search(text):
            return True
        new_names = set(_VARIABLE.findall(text)) - names
        names |= new_names
        texts += [
            setting.value for setting in script.assignments if setting.name in new_names and not setting.is_literal
        ]
    if not names:
        return False
    return (
        any(map(_SHELL_VARIABLE.fullmatch, names))
        or any(other.name in FILLERS or prints_into_variable(other) for other in script.commands)
        or (bool(script.functions or command.nesting) and any(map(_PARAMETER.fullmatch, names)))
    )


def _redirection_dangers(
    script: Script, values: Mapping[str, Sequence[str]], folders: Sequence[str], files: CommandFiles
) -> Iterator[tuple[str, Danger]]:
    for redirection in script.redirections:
        if redirection.operator.startswith("<<") or redirection.moves:
            continue
        part = f"{redirection.operator} {redirection.target}"
        for target in fill_in_text(redirection.target, values):
            use = FileUse(target, "write" if redirection.writes else "read")
            dangers = [files.danger_of(use, folders), *_target_dangers(redirection, target, folders)]
            yield from ((part, danger) for danger in dangers if danger is not None)


def _target_dangers(redirection: Redirection, target: str, folders: Sequence[str]) -> Iterator[Danger | None]:
    if redirection.writes:
        for folder in folders:
            if not folder or folder.startswith(("/", "~", "$HOME")):
                yield writing_danger(_join_folder(folder, target) if folder else target)
    elif writing_danger(target) is CONNECTS:
        yield CONNECTS


def _text_dangers(command: SimpleCommand, text: str, files: CommandFiles, level: int) -> Iterator[tuple[str, Danger]]:
    """Yield the dangers of a script that the line itself writes and then runs."""
    try:
        script = parse_script(text)
    except CannotParse:
        yield command.source, Danger("ask", "runs a text that it has just written, and that cannot be read")
        return
    yield from _find_dangers(script, files, level + 1)


def _in_folders(command: SimpleCommand, folders: Sequence[str]) -> Iterator[SimpleCommand]:
    """Yield the command as written, and the command as it reads after each `cd`."""
    yield command
    for folder in folders:
        yield replace(command, plain=(command.plain[0], *(_join_folder(folder, word) for word in command.plain[1:])))


def _join_folder(folder: str, word: str) -> str:
    return word if word.startswith(("-", "/", "~", "$")) else f"{folder.rstrip('/')}/{word}"


def _shorten(part: str) -> str:
    text = " ".join(part.split())
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[: _MAX_SHOWN_CHARS - 3]}..."
