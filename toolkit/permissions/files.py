"""
Rule files in TOML: the user's, the project's, and what the session adds.

    # ~/.config/toolkit/permissions.toml, or .toolkit/permissions.toml in a project
    mode = "default"
    allow = ["read", "bash(npm test)"]
    ask = ["bash(git push:*)"]
    deny = ["write(path=secrets/**)"]

A project's deny and ask rules always count; its allow rules and its mode only
if the user trusts the folder, and what did not count is listed. Every mistake in
every file is reported at once. A file that is not there is fine; one that is
there and cannot be used is an error, because the rules in it are missing.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args

from ..errors import ToolkitError, nearest
from ..verdicts import Word
from .rules import Rule, RuleError, read_rule
from .trust import PROJECT_FOLDER, Trust, configuration_folder

__all__ = ["Ignored", "RuleFileError", "RuleSet", "read_rules", "user_rules"]

_NAME = "permissions.toml"
_MODES = ("plan", "default", "auto", "dont_ask", "bypass")
_WORDS: tuple[Word, ...] = get_args(Word)
_MOST_BYTES = 1_000_000
_MOST_SHOWN = 20


class RuleFileError(ToolkitError, ValueError):
    """
    Rules that cannot be read; nothing should run without them.

    Attributes:
        problems: Each with its file, its place in it, and the remedy.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - _MOST_SHOWN
        lines = [*self.problems[:_MOST_SHOWN], *([f"and {more} more"] if more > 0 else [])]
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[RuleFileError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class Ignored(NamedTuple):
    """Something that a project wrote and that does not count, and why."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """
    The rules that count, and those that do not.

    Attributes:
        rules: The user's, then the project's, then the session's; each says where it was written.
        mode: The last one that counts; None if none was given.
        ignored: What a project wrote and did not count, and why.
        files: The files that were read.
    """

    rules: tuple[Rule, ...] = ()
    mode: str | None = None
    ignored: tuple[Ignored, ...] = ()
    files: tuple[Path, ...] = ()


def user_rules() -> Path:
    """Where the user's own rules are, whether or not there are any."""
    return configuration_folder() / _NAME


def read_rules(
    *,
    user: str | os.PathLike[str] | None = None,
    project: str | os.PathLike[str] | None = None,
    trust: Trust | None = None,
    session: Sequence[Rule | str] = (),
) -> RuleSet:
    """
    Everything that was written down, or one `RuleFileError` with every mistake in it.

    Args:
        user: The user's file; `user_rules()` says where it usually is.
        project: The project's folder, whose file is `.toolkit/permissions.toml`.
        trust: Who knows whether the user trusts the project; without it, nobody does.
        session: Rules as objects, or as text: "deny bash(git push:*)".
    """
    problems: list[str] = []
    own = _File("user", None if user is None else Path(user), problems)
    within = None if project is None else Path(project)
    theirs = _File("project", None if within is None else within / PROJECT_FOLDER / _NAME, problems, within)
    added = _session_rules(session, problems)
    if problems:
        raise RuleFileError(problems)
    why = _distrust(trust, within, theirs) if theirs.loosens else None
    counts = [rule for rule in theirs.rules if why is None or rule.word != "allow"]
    ignored = [] if why is None else [Ignored(each, why) for each in theirs.loosens]
    modes = [own.mode, theirs.mode if why is None else None]
    return RuleSet(
        rules=(*own.rules, *counts, *added),
        mode=next((each for each in reversed(modes) if each is not None), None),
        ignored=tuple(ignored),
        files=tuple(file.path for file in (own, theirs) if file.path is not None and file.is_there),
    )


def _distrust(trust: Trust | None, project: Path | None, file: _File) -> str | None:
    """Why a project may not loosen anything; None if the user trusts it."""
    state = "unknown" if trust is None or project is None else trust.state(project)
    if state == "trusted":
        # What was read before is what is trusted now: nobody swapped the file in between.
        return None if file.is_unchanged() else f"{file.path} changed while it was read; try again"
    problem = None if trust is None else trust.problem
    if problem is not None:
        return problem
    if state == "changed":
        return f"{project} has changed since you trusted it; look at its {PROJECT_FOLDER} folder, then trust it again"
    return f"you have not trusted {project}; look at its {PROJECT_FOLDER} folder, then trust it"


def _session_rules(session: Sequence[Rule | str], problems: list[str]) -> list[Rule]:
    rules = []
    for index, each in enumerate([session] if isinstance(session, (str, Rule)) else session):
        try:
            rules.append(each if isinstance(each, Rule) else read_rule(each, source=f"session rules, [{index}]"))
        except RuleError as error:
            problems.append(f"session rules, [{index}]: {error}")
    return rules


class _File:
    """One file with the rules in it; its mistakes go to *problems*."""

    def __init__(self, whose: str, path: Path | None, problems: list[str], within: Path | None = None) -> None:
        self.path = path
        self.mode: str | None = None
        self.rules: list[Rule] = []
        self.is_there = False
        self._content = b""
        self._whose = whose
        self._problems = problems
        try:
            data = {} if path is None else self._data(path, within)
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: cannot be used ({_worded(error)}); correct it, or move it away")
            return
        for key, value in data.items():
            self._take(key, value)

    @property
    def loosens(self) -> list[str]:
        """What in it only a trusted project may say."""
        mode = [] if self.mode is None else [f'mode = "{self.mode}"']
        return mode + [str(rule) for rule in self.rules if rule.word == "allow"]

    def is_unchanged(self) -> bool:
        """Whether the file still holds what was read from it."""
        try:
            return self.path is not None and self.path.read_bytes() == self._content
        except OSError:
            return False

    def _data(self, path: Path, within: Path | None) -> dict[str, Any]:
        if within is not None and os.path.lexists(path):
            end, home = (Path(os.path.realpath(each)) for each in (path, within))
            if not end.is_relative_to(home):
                raise ValueError(f"it is a link that leads out of {within}")
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            if path.is_symlink():
                raise ValueError("it is a link that leads nowhere") from None
            return {}
        self.is_there = True
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ValueError("it is not a file")
            with open(handle, "rb", closefd=False) as file:
                content = file.read(_MOST_BYTES + 1)
        finally:
            os.close(handle)
        if len(content) > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES:,} bytes")
        self._content = content
        return tomllib.loads(content.decode("utf-8-sig"))

    def _take(self, key: str, value: Any) -> None:
        if key in _WORDS:
            self._take_rules(key, value)
        elif key != "mode":
            self._problems.append(f"{self.path}: {_unknown(key, ('mode', *_WORDS))}")
        elif isinstance(value, str) and value in _MODES:
            self.mode = value
        else:
            self._problems.append(f"{self.path}: mode: {_unknown(value, _MODES)}")

    def _take_rules(self, word: Word, texts: Any) -> None:
        if not isinstance(texts, list):
            self._problems.append(f'{self.path}: {word}: has to be a list of rules: {word} = ["bash(npm test)"]')
            return
        for index, text in enumerate(texts):
            try:
                self.rules.append(Rule(word, text, f"{self._whose} rules, {word}[{index}] in {self.path}"))
            except RuleError as error:
                self._problems.append(f"{self.path}: {word}[{index}]: {error}")


def _unknown(given: Any, known: Sequence[str]) -> str:
    hint = nearest(given, known, most=1) if isinstance(given, str) else []
    remedy = f"did you mean `{hint[0]}`?" if hint else f"write one of {', '.join(known)}"
    return f"{given!r:.80} is not known; {remedy}"


def _worded(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return error.strerror or "it cannot be opened" if isinstance(error, OSError) else str(error)
