"""
Patterns for commands, compared word by word after parsing.

    npm test        exactly these words
    git push:*      these words, and whatever follows: `git push origin`, not `git pushx`
    *               any command

Quotes and spaces do not matter: `"git"  push` is `git push`. An allow holds for
a command line only if every simple command in it is allowed and all is known:
no redirection, assignment, substitution or function, and no word that the shell
would still change. What a wrapper runs (`find -exec`, `xargs`, `sudo`) has to be
allowed as well, or to stand in the pattern itself: `xargs grep:*`.

A deny holds if any part could match, wherever it stands. Programs are
compared without their folder (`/bin/rm`), and options that stand before the next
word do not hide it (`git -C x push`). Words are compared, not what they mean:
`rm -fr` is not `rm -rf`, so deny `rm:*`. A text that nobody has seen when a shell runs it
(`echo $x | sh`, `sh -c "$(cat f)"`) could be any command, so every deny holds for it. A script that the line
writes and then runs is read as a part of it.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...safety.commands.written_scripts import WrittenText, written_and_run
from ...safety.shell.evaluation import runs_unseen_text
from ...safety.shell.parser import CannotParse, Script, SimpleCommand, parsed
from ...safety.shell.wrappers import SHELLS

__all__ = ["CommandPattern", "commands_allowed", "commands_concerned", "unreadable"]

_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""")
_REPLACES = re.compile(r"-[A-Za-z0-9]*?[Ii](.*)|--rep[a-z]*(?:=(.*))?", re.DOTALL)
_FEEDERS = ("xargs", "parallel")
_FINDERS = ("find", "fd", "fdfind")
_SYNTAX = re.compile(r"[|;&<>$`()\n\r\0]")


@dataclass(frozen=True, slots=True)
class CommandPattern:
    """
    Some commands.

    Attributes:
        words: What they begin with.
        more: Whether anything may follow.
    """

    words: tuple[str, ...]
    more: bool = False

    @classmethod
    def read(cls, text: str) -> CommandPattern:
        """The pattern that *text* writes; `ValueError` says what is wrong with it."""
        return _read(text)

    def allows(self, command: SimpleCommand) -> bool:
        """Whether *command* is certainly one of these."""
        count = len(self.words)
        same = command.words[:count] == self.words and (self.more or len(command.words) == count)
        return same and all(command.literal)

    def concerns(self, command: SimpleCommand) -> bool:
        """Whether *command* could be one of these."""
        # How many words of the pattern can have been found before the word at hand: one command has several readings,
        # because an option may or may not take the word after it.
        places = {0}
        after_option: set[int] = set()
        for index, (word, is_literal) in enumerate(_words(command)):
            if self.more and len(self.words) in places:
                return True
            if not is_literal:
                return True
            stepped = {place + 1 for place in places if self._fits(place, word)}
            skipped = {place for place in places if index and 0 < place < len(self.words)} if word[:1] == "-" else set()
            places, after_option = stepped | skipped | after_option, skipped
            if not places:
                return False
        return len(self.words) in places

    def _fits(self, place: int, word: str) -> bool:
        if place >= len(self.words):
            return False
        ours = self.words[place]
        return ours == word or (place == 0 and ours.casefold() in (word.casefold(), _program(word)))


def commands_allowed(text: str, patterns: Sequence[str]) -> bool:
    """Whether every simple command in *text* is allowed by one of *patterns*; what cannot be parsed is not."""
    try:
        script = _script(text)
    except CannotParse:
        return False
    if script.has_redirection or script.has_assignment or script.has_substitution or script.functions:
        return False
    read = tuple(map(_read, patterns))
    seen = set(map(id, script.top))
    inner = [command for command in script.commands if id(command) not in seen]
    spelled = [pair for each in patterns for pair in _spelled_out(each)] if inner else []
    return (
        bool(script.top)
        and all(any(each.allows(command) for each in read) for command in script.top)
        and all(
            any(each.allows(command) for each in read if each.more or not _is_fed(command))
            or any(command.via == via and each.allows(command) for via, each in spelled)
            for command in inner
        )
    )


def commands_concerned(text: str, pattern: str) -> bool:
    """Whether any part of *text* could match *pattern*; what cannot be parsed does."""
    try:
        script = _script(text)
    except CannotParse:
        return True
    own = _read(pattern)
    if any(map(runs_unseen_text, script.commands)):
        return True
    if any(own.concerns(each) for command in script.commands for each in _readings(_as_run(command))):
        return True
    return any(
        not isinstance(outcome, WrittenText) or commands_concerned(outcome.text, pattern)
        for _, outcome in written_and_run(script)
    )


def _readings(command: SimpleCommand) -> Iterator[SimpleCommand]:
    """A command, and the program that a shell takes for its script: `bash npm test`, `source npm test`."""
    yield command
    if command.words and command.name in (*SHELLS, "source", "."):
        for at in range(1, len(command.words)):
            yield replace(command, words=command.words[at:], literal=command.literal[at:])
            # Of an option nobody knows whether it takes the next word.
            if not command.words[at].startswith(("-", "+")) and not command.words[at - 1].startswith(("-", "+")):
                break


def _as_run(command: SimpleCommand) -> SimpleCommand:
    """With the words that `xargs` and the like fill in or add, which nobody knows."""
    holes: list[str] = []
    inside, outer = command, command.outer
    while outer is not None:
        if outer.name in (*_FEEDERS, *_FINDERS):
            options = outer.words[: len(outer.words) - len(inside.words)]
            found = [(at, match) for at, word in enumerate(options) if (match := _REPLACES.fullmatch(word))]
            holes += ["{", *(match[1] or match[2] or "".join(options[at + 1 : at + 2]) for at, match in found)]
        inside, outer = outer, outer.outer
    literal = [known and not any(hole in word for hole in holes) for word, known in _words(command)]
    if _is_fed(command):
        return replace(command, words=(*command.words, "..."), literal=(*literal, False))
    return replace(command, literal=tuple(literal)) if holes else command


def _is_fed(command: SimpleCommand) -> bool:
    """Whether further words are added to it."""
    return any(each in _FEEDERS for each in command.via)


def _words(command: SimpleCommand) -> Iterable[tuple[str, bool]]:
    return zip(command.words, command.literal, strict=True)


def unreadable(text: str) -> str | None:
    """Why nobody can tell what *text* would run; None if that is known."""
    try:
        _script(text)
    except CannotParse as error:
        return f"the command cannot be read ({error})"
    return None


@functools.lru_cache(maxsize=4)
def _script(text: str) -> Script:
    # Ten rules look at one command.
    return parsed(text)


@functools.lru_cache(maxsize=1024)
def _read(text: str) -> CommandPattern:
    if text in ("*", ":*"):
        return CommandPattern((), more=True)
    more = text.endswith(":*")
    bare = _QUOTED.sub("", text[:-2] if more else text)
    if found := _SYNTAX.search(bare):
        raise ValueError(f"a rule is about one simple command, without {found[0]!r}; write a rule for each")
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
def _spelled_out(text: str) -> tuple[tuple[tuple[str, ...], CommandPattern], ...]:
    """What a pattern that begins with a wrapper says of the command inside: `xargs grep:*` is about `grep:*`."""
    pattern = _read(text)
    try:
        script = parsed(shlex.join(pattern.words))
    except CannotParse:
        return ()
    inside = [command for command in script.commands if command.via and command.words and all(command.literal)]
    return tuple((command.via, CommandPattern(command.words, pattern.more)) for command in inside)


def _program(word: str) -> str:
    return word.rsplit("/", 1)[-1].casefold()
