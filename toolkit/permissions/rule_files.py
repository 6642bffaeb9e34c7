"""
Rule files in TOML: the user's file and the project's file, with the rules that the session adds.

    # ~/.config/toolkit/permissions.toml, or .toolkit/permissions.toml in a project
    mode = "default"
    allow = ["read", "bash(npm test)"]
    ask = ["bash(git push:*)"]
    deny = ["access:path(secrets/**)"]

A project's deny and ask rules always count. Its allow rules and its mode count only if the user trusts the folder.
The settings that do not count are listed. Every mistake in every file is reported at once. A missing file is no
problem. A file that exists and cannot be used is an error, because its rules are missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, get_args

from .._option_checks import explain_unknown_choice
from ..errors import ToolkitError
from ..values.visible import make_visible
from ..verdicts import Word
from .modes import FORMER_NAMES, MODES
from .project_files import ProjectFiles
from .rules import Rule, RuleError, read_rule
from .toml_files import TomlFile
from .trust import PROJECT_FOLDER, IgnoredSetting, Project, Trust, configuration_folder, read_project, why_not_trusted

__all__ = ["Problems", "RuleFile", "RuleFileError", "RuleSet", "read_rules", "user_rules"]

_FILE_NAME = "permissions.toml"
_WORDS: tuple[Word, ...] = get_args(Word)
_MAX_PROBLEMS = 20
_MAX_PROBLEM_CHARS = 1_000


class RuleFileError(ToolkitError, ValueError):
    """
    Rules that cannot be read. No call should run without them.

    Attributes:
        problems: The mistakes, each with its file, its place in the file, and the remedy. Each is one line, also if a
            key or a rule in the file has several.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(make_visible(problem, keep_lines=False) for problem in problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[RuleFileError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class Problems(list[str]):
    """
    The mistakes in settings so far. After 20 of them the reading ends with *error*.

    So a project that the user does not trust cannot keep a command busy with mistakes.
    """

    def __init__(self, error: type[RuleFileError]) -> None:
        super().__init__()
        self._error = error

    def append(self, problem: str) -> None:
        is_long = len(problem) > _MAX_PROBLEM_CHARS
        super().append(f"{problem[:_MAX_PROBLEM_CHARS]}..." if is_long else problem)
        if len(self) >= _MAX_PROBLEMS:
            raise self._error([*self, f"there may be more; reading ended after {_MAX_PROBLEMS} mistakes"])

    def extend(self, problems: Iterable[str]) -> None:
        for problem in problems:
            self.append(problem)

    def __iadd__(self, problems: Iterable[str]) -> Self:  # type: ignore[misc,override]  # the list is the same one
        self.extend(problems)
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """
    The rules that count, and the settings that do not count.

    Attributes:
        rules: The user's rules, then the project's, then the session's; each says where it was written.
        mode: The last mode that counts; None if no file names one.
        ignored: The settings of a project that do not count, each with the reason.
        files: The files that were read.
    """

    rules: tuple[Rule, ...] = ()
    mode: str | None = None
    ignored: tuple[IgnoredSetting, ...] = ()
    files: tuple[Path, ...] = ()


def user_rules() -> Path:
    """Return the path of the user's own rules; the file need not exist."""
    return configuration_folder() / _FILE_NAME


def read_rules(
    *,
    user: str | os.PathLike[str] | None = None,
    project: Project | None = None,
    trust: Trust | None = None,
    session: Sequence[Rule | str] = (),
) -> RuleSet:
    """
    Return the rules of all files and of the session.

    Args:
        user: The user's file; `user_rules()` returns its usual path.
        project: The project's folder, whose file is `.toolkit/permissions.toml`.
        trust: The folders that the user trusts; without it, the project is not trusted.
        session: Rules as objects, or as text: "deny bash(git push:*)".

    Raises:
        RuleFileError: There are mistakes; the error lists all of them.
    """
    problems: list[str] = Problems(RuleFileError)
    from_user = RuleFile("user", None if user is None else Path(user), problems)
    files = None if project is None else read_project(project)
    project_file = None if files is None else files.folder / PROJECT_FOLDER / _FILE_NAME
    from_project = RuleFile("project", project_file, problems, files)
    session_rules = _read_session_rules(session, problems)
    if problems:
        raise RuleFileError(problems)
    why = why_not_trusted(trust, files) if files is not None and from_project.loosening_settings else None
    counted_rules = [rule for rule in from_project.rules if why is None or rule.word != "allow"]
    ignored = [] if why is None else [IgnoredSetting(setting, why) for setting in from_project.loosening_settings]
    modes = [from_user.mode, from_project.mode if why is None else None]
    return RuleSet(
        rules=(*from_user.rules, *counted_rules, *session_rules),
        mode=next((mode for mode in reversed(modes) if mode is not None), None),
        ignored=tuple(ignored),
        files=tuple(
            source.file.path
            for source in (from_user, from_project)
            if source.file.path is not None and source.file.exists
        ),
    )


def _read_session_rules(session: Sequence[Rule | str], problems: list[str]) -> list[Rule]:
    rules = []
    for index, rule in enumerate([session] if isinstance(session, (str, Rule)) else session):
        try:
            rules.append(rule if isinstance(rule, Rule) else read_rule(rule, source=f"session rules, [{index}]"))
        except RuleError as error:
            problems.append(f"session rules, [{index}]: {error}")
    return rules


class RuleFile:
    """The rules of one file; its mistakes are added to *problems*."""

    def __init__(self, whose: str, path: Path | None, problems: list[str], project: ProjectFiles | None = None) -> None:
        self.file = TomlFile(path, problems, project=project)
        self.mode: str | None = None
        self.rules: list[Rule] = []
        self._whose = whose
        self._problems = problems
        for key, value in self.file.data.items():
            self._add_setting(key, value)

    @property
    def loosening_settings(self) -> list[str]:
        """The settings in the file that only a trusted project may make."""
        mode = [] if self.mode is None else [f'mode = "{self.mode}"']
        return mode + [str(rule) for rule in self.rules if rule.word == "allow"]

    def _add_setting(self, key: str, value: Any) -> None:
        if key in _WORDS:
            self._add_rules(key, value)
        elif key != "mode":
            self._problems.append(f"{self.file.path}: {explain_unknown_choice(key, ('mode', *_WORDS))}")
        elif isinstance(value, str) and value in (*MODES, *FORMER_NAMES):
            self.mode = FORMER_NAMES.get(value, value)
        else:
            self._problems.append(f"{self.file.path}: mode: {explain_unknown_choice(value, MODES)}")

    def _add_rules(self, word: Word, texts: Any) -> None:
        if not isinstance(texts, list):
            self._problems.append(f'{self.file.path}: {word}: has to be a list of rules: {word} = ["bash(npm test)"]')
            return
        for index, text in enumerate(texts):
            try:
                self.rules.append(Rule(word, text, f"{self._whose} rules, {word}[{index}] in {self.file.path}"))
            except RuleError as error:
                self._problems.append(f"{self.file.path}: {word}[{index}]: {error}")
