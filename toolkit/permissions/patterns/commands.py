"""
Patterns for commands, compared word by word after parsing.

    npm test        exactly these words
    git push:*      these words, with any words after them: `git push origin`, not `git pushx`
    *               any command

Quotes and spaces do not matter: `"git"  push` is `git push`.

An allow holds for a command line only if every simple command in it is allowed and every part of it is known. The
line may have no redirection, assignment, substitution or function, and no word that the shell would still change. If
a wrapper (`find -exec`, `xargs`, `sudo`) runs another command, that command has to be allowed as well, or has to be
written in the pattern of the wrapper: `xargs grep:*`.

A deny holds if any part of the line could match, at any position. Programs are compared without their folder
(`/bin/rm`). Options before the next word do not hide that word (`git -C x push`). The words are compared, not their
meaning: `rm -fr` is not `rm -rf`, so write a deny rule about `rm:*`. A shell may run a text that is not known before
the line runs (`echo $x | sh`, `sh -c "$(cat f)"`). Such a text could be any command, so every deny holds for it. A
script that the line writes and then runs is read as a part of the line. An option may choose a program
(`rsync -e 'rm x'`, `tar -I rm`): there, a deny about `rm` holds wherever a word names `rm`. So it does in code that
starts programs (`python -c 'os.system("rm x")'`), if all words of the pattern are in it. A program that no table knows
may run the words behind its name: a deny about `rm` holds for `launcher rm x`.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..._lazy_names import LazyModule

if TYPE_CHECKING:
    from ...safety.commands import (
        computed_options,
        dangers,
        inline_code,
        printed_texts,
        unknown_programs,
        written_scripts,
    )
    from ...safety.shell import composed_texts, evaluation, known_input, parser, records
    from ...safety.shell.parser import Script, SimpleCommand
else:  # most programs have no tool that runs a shell command
    dangers = LazyModule("toolkit.safety.commands.dangers")
    inline_code = LazyModule("toolkit.safety.commands.inline_code")
    printed_texts = LazyModule("toolkit.safety.commands.printed_texts")
    unknown_programs = LazyModule("toolkit.safety.commands.unknown_programs")
    written_scripts = LazyModule("toolkit.safety.commands.written_scripts")
    computed_options = LazyModule("toolkit.safety.commands.computed_options")
    composed_texts = LazyModule("toolkit.safety.shell.composed_texts")
    evaluation = LazyModule("toolkit.safety.shell.evaluation")
    records = LazyModule("toolkit.safety.shell.records")
    known_input = LazyModule("toolkit.safety.shell.known_input")
    parser = LazyModule("toolkit.safety.shell.parser")

__all__ = ["CommandPattern", "commands_allowed", "commands_concerned", "find_redirected_paths", "why_unreadable"]

_FOLDER_COMMANDS = ("cd", "pushd", "popd")
# Each `cd` may succeed or fail, so the number of folders doubles with each `cd`; beyond this any folder is possible.
_MAX_FOLDERS = 64

_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_FEEDERS = ("xargs", "parallel")
_NAME_ENDS = re.compile(r"""[][{}\s;|&!()<>=:,%'"`$]+""")
_SYNTAX = re.compile(r"[|;&<>$`()\n\r\0]")


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """
    A pattern that matches a set of simple commands.

    Attributes:
        words: The words that the commands begin with.
        allows_more_words: Whether other words may follow.
    """

    words: tuple[str, ...]
    allows_more_words: bool = False

    @classmethod
    def read(cls, text: str) -> CommandPattern:
        """Return the pattern that *text* writes; raise `ValueError` with the mistake if *text* is wrong."""
        return _parse_pattern(text)

    def allows(self, command: SimpleCommand) -> bool:
        """Return whether *command* certainly matches the pattern."""
        count = len(self.words)
        is_same = command.words[:count] == self.words and (self.allows_more_words or len(command.words) == count)
        return is_same and all(command.literal)

    def concerns(self, command: SimpleCommand) -> bool:
        """Return whether *command* could match the pattern."""
        # `places` holds how many words of the pattern may have been matched before the current word. There may be
        # several numbers, because an option may or may not take the word after it.
        places = {0}
        after_option: set[int] = set()
        for index, (word, is_literal) in enumerate(_words(command)):
            if self.allows_more_words and len(self.words) in places:
                return True
            if not is_literal:
                return True
            stepped = {place + 1 for place in places if self._fits(place, word)}
            skipped = {place for place in places if index and 0 < place < len(self.words)} if word[:1] == "-" else set()
            places, after_option = stepped | skipped | after_option, skipped
            if not places:
                return False
        return len(self.words) in places

    def concerns_choice(self, command: SimpleCommand) -> bool:
        """Return whether *command* runs a program that one of its words names, and that could be the pattern's."""
        if not self.words:
            return True
        program = _program_name(self.words[0])
        texts = (*command.plain[1:], printed_texts.input_text(command))
        parts = [_program_name(part) for text in texts for part in _NAME_ENDS.split(text)]
        # The program may be joined to a letter: `-erm`.
        is_named = any(part == program or (part.startswith("-") and part.endswith(program)) for part in parts)
        if not is_named:
            return False
        # Code names many programs, so that the other words have to be there as well.
        is_whole = all(_program_name(word) in parts for word in self.words[1:])
        runs_code = is_whole and (inline_code.runs_harmful_code(command) or unknown_programs.may_run_code(command))
        return runs_code or dangers.chooses_program(command)

    def _fits(self, place: int, word: str) -> bool:
        if place >= len(self.words):
            return False
        expected = self.words[place]
        return expected == word or (place == 0 and expected.casefold() in (word.casefold(), _program_name(word)))


def commands_allowed(text: str, patterns: Sequence[str]) -> bool:
    """
    Return whether every simple command in *text* is allowed by one of *patterns*.

    A text that cannot be parsed is not allowed.
    """
    try:
        script = _parse_script(text)
    except parser.CannotParse:
        return False
    if script.has_redirection or script.has_assignment or script.has_substitution or script.functions:
        return False
    parsed_patterns = tuple(map(_parse_pattern, patterns))
    top_ids = set(map(id, script.top))
    inner = [command for command in script.commands if id(command) not in top_ids]
    inner_patterns = [pair for pattern in patterns for pair in _read_inner_patterns(pattern)] if inner else []
    return (
        bool(script.top)
        and all(any(pattern.allows(command) for pattern in parsed_patterns) for command in script.top)
        and all(
            any(
                pattern.allows(command)
                for pattern in parsed_patterns
                if pattern.allows_more_words or not _has_added_words(command)
            )
            or any(command.nesting == via and pattern.allows(command) for via, pattern in inner_patterns)
            for command in inner
        )
    )


def commands_concerned(text: str, pattern: str) -> bool:
    """Return whether any part of *text* could match *pattern*. A text that cannot be parsed could match."""
    parsed_pattern = _parse_pattern(pattern)
    try:
        return _script_concerned(_parse_script(text), pattern, parsed_pattern)
    except parser.CannotParse:
        return True


def _script_concerned(script: Script, pattern: str, parsed_pattern: CommandPattern) -> bool:
    if any(map(evaluation.runs_unseen_text, script.commands)) or any(composed_texts.find_composed_texts(script)):
        return True
    if any(computed_options.find_computed_options(script)):
        return True
    if any(
        parsed_pattern.concerns(reading)
        for command in script.commands
        for reading in _readings(_mark_unknown_words(command))
    ):
        return True
    if any(unknown_programs.find_changed_words(script)):
        return True
    if any(map(parsed_pattern.concerns, unknown_programs.find_possible_commands(script))):
        return True
    if any(map(parsed_pattern.concerns_choice, script.commands)):
        return True
    return any(
        not isinstance(outcome, written_scripts.WrittenText) or commands_concerned(outcome.text, pattern)
        for _, outcome in written_scripts.find_runs_of_written_files(script)
    )


def _readings(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """Yield the command, and for a shell the command that its script may be: `bash npm test`, `source npm test`."""
    yield command
    if command.words and command.name in (*known_input.SHELLS, "source", "."):
        for at in range(1, len(command.words)):
            yield replace(command, words=command.words[at:], literal=command.literal[at:])
            # An option may take the next word, so the script may be a later word.
            if not command.words[at].startswith(("-", "+")) and not command.words[at - 1].startswith(("-", "+")):
                break


def _mark_unknown_words(command: SimpleCommand) -> SimpleCommand:
    """
    Return the command as a wrapper such as `xargs` runs it.

    The words that the wrapper fills in or adds are marked as not literal, because they are not known.
    """
    holes = known_input.find_placeholders(command)
    literal = [is_literal and not any(hole in word for hole in holes) for word, is_literal in _words(command)]
    if _has_added_words(command):
        return replace(command, words=(*command.words, "..."), literal=(*literal, False))
    return replace(command, literal=tuple(literal)) if holes else command


def _has_added_words(command: SimpleCommand) -> bool:
    """Return whether a wrapper such as `xargs` adds further words to the command."""
    return any(wrapper in _FEEDERS for wrapper in command.nesting)


def _words(command: SimpleCommand) -> Iterable[tuple[str, bool]]:
    return zip(command.words, command.literal, strict=True)


def why_unreadable(text: str) -> str | None:
    """Return why it is unknown what *text* would run; return None if it is known."""
    try:
        _parse_script(text)
    except parser.CannotParse as error:
        return f"the command cannot be read ({error})"
    return None


@functools.lru_cache(maxsize=4)
def _parse_script(text: str) -> Script:
    # The cache helps because many rules look at the same command.
    return parser.parse_script(text)


@functools.lru_cache(maxsize=1024)
def _parse_pattern(text: str) -> CommandPattern:
    if text in ("*", ":*"):
        return CommandPattern((), allows_more_words=True)
    more = text.endswith(":*")
    bare = _QUOTED.sub("", text[:-2] if more else text)
    if match := _SYNTAX.search(bare):
        raise ValueError(f"a rule is about one simple command, without {match[0]!r}; write a rule for each")
    if "*" in bare:
        raise ValueError("`*` stands only at the end, as `:*`: `git push:*` is every command that begins so")
    try:
        words = tuple(shlex.split(text[:-2] if more else text))
    except ValueError:
        raise ValueError("its quotes are not closed") from None
    if not words:
        raise ValueError("the command is missing; write `*` for any")
    return CommandPattern(words, more)


@functools.lru_cache(maxsize=1024)
def _read_inner_patterns(text: str) -> tuple[tuple[tuple[str, ...], CommandPattern], ...]:
    """
    Return the patterns for the inner commands of a pattern that begins with a wrapper, each with its wrappers.

    The pattern `xargs grep:*` says `grep:*` about the command that `xargs` runs.
    """
    pattern = _parse_pattern(text)
    try:
        script = parser.parse_script(shlex.join(pattern.words))
    except parser.CannotParse:
        return ()
    inside = [command for command in script.commands if command.nesting and command.words and all(command.literal)]
    return tuple((command.nesting, CommandPattern(command.words, pattern.allows_more_words)) for command in inside)


def _program_name(word: str) -> str:
    return records.program_name(word.casefold())


@functools.lru_cache(maxsize=16)  # because several rules look at the same command
def find_redirected_paths(command: str, *, writes: bool) -> tuple[str | None, ...]:
    """
    Return the paths that *command* redirects to if *writes* is true, or else the paths that it redirects from.

    The shell itself certainly reads and writes these files; what programs do with files is not known. None stands for
    any file, and is the only path of a command line that cannot be read.
    """
    try:
        script = parser.parse_script(command)
    except parser.CannotParse:
        return (None,)
    if any(composed_texts.find_composed_texts(script)):
        return (None,)
    return tuple(dict.fromkeys(_paths(script, writes)))


def _paths(script: Script, writes: bool) -> Iterator[str | None]:
    folders = _folders(script)
    for redirection in script.redirections:
        reads = "<" in redirection.operator and not redirection.operator.startswith(("<<", "<&"))
        if not (redirection.writes if writes else reads):
            continue
        if not redirection.is_literal:
            yield None
            continue
        yield redirection.target
        if not os.path.isabs(redirection.target):
            for folder in folders:
                yield None if folder is None else os.path.join(folder, redirection.target)


def _folders(script: Script) -> Sequence[str | None]:
    """
    Return the folders that relative paths may start from because of a `cd`; `[None]` if they are not known.

    A `cd` may fail, may be skipped, and may apply only inside parentheses. So each `cd` starts from every folder that
    the earlier ones may have led to.
    """
    if any(assignment.name == "CDPATH" for assignment in script.assignments):
        return [None]
    folders = {"": None}  # a dictionary, because it keeps the order
    for command in script.commands:
        if not command.words or command.name not in _FOLDER_COMMANDS:
            continue
        words = [word for word in command.words[1:] if word not in ("-P", "-L", "--")]
        is_known = len(words) == 1 and all(command.literal) and words[0] != "-"
        if not is_known or len(folders) >= _MAX_FOLDERS:
            return [None]
        folders |= {os.path.join(folder, words[0]): None for folder in folders}
    return list(folders)[1:]
