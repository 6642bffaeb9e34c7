"""
The shell hooks in `toolkit.toml`, the user's and the project's.

    [[hooks]]
    on = "before"
    tools = ["bash", "fs_*"]
    command = ".toolkit/check.sh"
    timeout_seconds = 30
    on_failure = "block"
    files = []                      # a project's files that it runs, if its command does not name them

A project's hooks run only while the user trusts the folder with its present content.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from pathlib import Path
from typing import Any, Literal, TypeAlias

from .._option_checks import explain_unknown_choice
from .._plumbing.wording import in_backticks
from ..hooks.shell.records import ShellHook, find_mistakes
from .hook_scripts import MAX_HOOK_CHARS, are_too_long, why_unresolved
from .project_files import PROJECT_FOLDER, ProjectFiles
from .toml_files import TomlFile
from .trust import Trust, why_not_trusted
from .trusted_scripts import TrustedScripts

__all__ = ["read_hook_tables"]

_Scope: TypeAlias = Literal["user", "project"]
_MAX_HOOKS = 100
_KEYS = ("on", "tools", "command", "timeout_seconds", "on_failure", "env", "files")


def read_hook_tables(
    file: TomlFile,
    scope: _Scope,
    *,
    project: ProjectFiles,
    trust: Trust,
    problems: list[str],
) -> list[tuple[ShellHook, str | None]]:
    """
    Return the hooks in the tables `[[hooks]]` of *file*.

    With each hook comes the reason if it does not count, because the user does not trust the project.

    Args:
        file: The file, which was read before.
        scope: Whether it is the user's file or the project's.
        project: The files of the project.
        trust: The folders that the user trusts.
        problems: The list to which the mistakes are added; a hook with a mistake is left out.
    """
    hooks = _HookTables(scope, file, problems, project.folder).hooks
    if scope == "user" or not hooks:
        return [(ShellHook(**fields), None) for fields in hooks]
    scripts = TrustedScripts(trust, project.folder, file)
    why = why_not_trusted(trust, project)
    return [(ShellHook(**fields, prepare=scripts.prepare), why) for fields in hooks]


class _HookTables:
    """The hooks of one file, as checked fields; their mistakes are added to *problems*."""

    def __init__(self, scope: _Scope, file: TomlFile, problems: list[str], project: Path) -> None:
        self.hooks: list[dict[str, Any]] = []
        self._scope = scope
        self._file = file
        self._problems = problems
        self._project = project
        tables = file.data.get("hooks", [])
        if isinstance(tables, list) and len(tables) > _MAX_HOOKS:
            problems.append(f"{file.place_of('hooks')}: hooks: has more than {_MAX_HOOKS} hooks; remove some")
            return
        if not isinstance(tables, list):
            problems.append(f"{file.place_of('hooks')}: hooks: has to be a list; write [[hooks]] above each hook")
            return
        if are_too_long([table for table in tables if isinstance(table, dict)]):
            why = f"their commands and files have more than {MAX_HOOK_CHARS:,} characters; put commands into scripts"
            problems.append(f"{file.place_of('hooks')}: hooks: {why}")
            return
        for index, table in enumerate(tables):
            self._read_table(index, table)

    def _read_table(self, index: int, table: Any) -> None:
        location = f"{self._file.place_of('hooks', index)}: hooks[{index}]"
        if not isinstance(table, dict):
            self._problems.append(f"{location}: has to be a table; write [[hooks]] above each hook")
            return
        mistakes = self._find_mistakes(table)
        self._problems.extend(f"{location}: {mistake}" for mistake in mistakes)
        if not mistakes:
            path = self._file.path
            # A user's hook runs in the folder of its file, because the open project may be the work of others.
            cwd = self._project if self._scope == "project" or path is None else path.parent
            fields = {key: value for key, value in table.items() if key != "files"}
            self.hooks.append({**fields, "cwd": cwd, "source": f"{self._scope} hooks, hooks[{index}] in {path}"})

    def _find_mistakes(self, table: dict[str, Any]) -> list[str]:
        # Twenty mistakes end the reading, so no more are looked for.
        unknown_keys = itertools.islice((key for key in table if key not in _KEYS), 20)
        unknown = [explain_unknown_choice(key, _KEYS) for key in unknown_keys]
        missing = [f"{key}: is missing; say {hint}" for key, hint in _REQUIRED_KEYS.items() if key not in table]
        invalid = find_mistakes({key: value for key, value in table.items() if key in _KEYS and key != "files"})
        if "files" in table:
            invalid += self._check_files(table["files"])
        return (
            unknown + missing + invalid
            or self._check_program_place(table["command"])
            or self._check_command_files(table)
        )

    def _check_program_place(self, command: Any) -> list[str]:
        program = _find_program(command)
        shown = in_backticks(program[:80])
        if "/" not in program or program.startswith(("/", "~", "$")):
            return []
        if self._scope == "user":
            return [f"command: {shown} is no whole path; write one, so that no other user chooses what runs"]
        # The user trusted the content of that folder. In other folders a tool may write.
        if os.path.normpath(program).split("/")[0] != PROJECT_FOLDER:
            return [f"command: {shown} lies outside {PROJECT_FOLDER}, where tools may write; put it in there"]
        return []

    def _check_files(self, files: Any) -> list[str]:
        """Return the mistakes in the list of files that a hook runs."""
        if self._scope == "user":
            return ["files: is for the hooks of a project, where trust has to cover what they run; leave it out"]
        if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
            return ['files: has to be a list of paths in the project: files = ["tools/check.py"]']
        root = os.path.realpath(self._project)
        problems = []
        for name in files:
            path = os.path.realpath(os.path.join(root, name))
            if os.path.isabs(name) or not Path(path).is_relative_to(root):
                problems.append(f"files: {in_backticks(name[:80])} is not in the project; write a path relative to it")
            elif not os.path.isfile(path):
                problems.append(f"files: there is no file {in_backticks(name[:80])} in the project; correct its name")
        return problems

    def _check_command_files(self, table: dict[str, Any]) -> list[str]:
        """Return why trust cannot cover the files that a project's hook runs; a hook that lists its files is fine."""
        if self._scope == "user" or "files" in table:
            return []
        why = why_unresolved(table["command"], self._project)
        if why is None:
            return []
        remedy = 'files = ["tools/check.py"], or files = [] if it runs none'
        return [f"command: {why}, so trust cannot cover that; list the project's files that it runs: {remedy}"]


_ASSIGNMENT = re.compile(r"\w+=")
_REQUIRED_KEYS = {"on": "when it runs: before, after, agent_start or agent_end", "command": "what runs"}


def _find_program(command: str | list[str]) -> str:
    """Return the program that a command runs: its first word that sets no variable."""
    if not isinstance(command, str):
        return command[0]
    try:
        return next((word for word in shlex.split(command) if not _ASSIGNMENT.match(word)), "")
    except ValueError:  # The quotes do not close; the shell reports that.
        return ""
