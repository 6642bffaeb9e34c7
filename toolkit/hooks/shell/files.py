"""
Shell hooks in TOML: the user's file, then the project's file.

    # ~/.config/toolkit/hooks.toml, or .toolkit/hooks.toml in a project
    [[hooks]]
    on = "before"
    tools = ["bash", "fs_*"]
    command = ".toolkit/check.sh"
    timeout_seconds = 30
    on_failure = "block"
    files = []                      # a project's files that it runs, if its command does not name them

A project's hooks run only while the user trusts the folder with its present content. The hooks that do not count are
listed. Every mistake in every file is reported at once. A missing file is no problem. A file that cannot be used is an
error, because its hooks are missing.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ..._option_checks import explain_unknown_choice
from ..._plumbing.wording import in_backticks
from ...permissions.hook_scripts import why_unresolved
from ...permissions.project_files import ProjectFiles
from ...permissions.rule_files import Problems, RuleFileError
from ...permissions.toml_files import TomlFile
from ...permissions.trust import (
    PROJECT_FOLDER,
    IgnoredSetting,
    Project,
    Trust,
    configuration_folder,
    read_project,
    why_not_trusted,
)
from ...values.visible import make_visible
from .records import ShellHook, find_mistakes
from .trusted_scripts import TrustedScripts

__all__ = ["HOOKS_FILE", "HookFileError", "HookSet", "read_hook_tables", "read_hooks", "user_hooks"]

HOOKS_FILE = "hooks.toml"
_Scope: TypeAlias = Literal["user", "project"]
_KEYS = ("on", "tools", "command", "timeout_seconds", "on_failure", "env", "files")


class HookFileError(RuleFileError):
    """Hooks that cannot be read. No call should run without them. `problems` lists every mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSet:
    """
    The hooks that count, and those that do not.

    Attributes:
        hooks: The user's hooks, then the project's; each says where it was written.
        ignored: The hooks of a project that do not count, each with the reason.
        files: The files that were read.
    """

    hooks: tuple[ShellHook, ...] = ()
    ignored: tuple[IgnoredSetting, ...] = ()
    files: tuple[Path, ...] = ()


def user_hooks() -> Path:
    """Return the path of the user's own hooks; the file need not exist."""
    return configuration_folder() / HOOKS_FILE


def read_hooks(
    *,
    user: str | os.PathLike[str] | None = None,
    project: Project | None = None,
    trust: Trust | None = None,
) -> HookSet:
    """
    Return the hooks of both files.

    Args:
        user: The user's file; `user_hooks()` returns its usual path. Its hooks run in the folder of the file.
        project: The project's folder, whose file is `.toolkit/hooks.toml`. The project's hooks run in that folder.
        trust: The folders that the user trusts; without it, the project is not trusted.

    Raises:
        HookFileError: There are mistakes; the error lists all of them.
    """
    problems: list[str] = Problems(HookFileError)
    files = None if project is None else read_project(project)
    folder = None if files is None else files.folder
    from_user = _HookFile("user", TomlFile(None if user is None else Path(user), problems), problems, folder)
    project_file = None if folder is None else folder / PROJECT_FOLDER / HOOKS_FILE
    from_project = _HookFile("project", TomlFile(project_file, problems, project=files), problems, folder)
    if problems:
        raise HookFileError(problems)
    hooks = [ShellHook(**fields) for fields in from_user.hooks]
    ignored: list[IgnoredSetting] = []
    if files is not None and from_project.hooks:
        scripts = TrustedScripts(trust, files.folder, from_project.file)
        why = why_not_trusted(trust, files)
        if why is None:
            hooks += [ShellHook(**fields, prepare=scripts.prepare) for fields in from_project.hooks]
        else:
            ignored = [IgnoredSetting(_describe_hook(fields), why) for fields in from_project.hooks]
    return HookSet(
        hooks=tuple(hooks),
        ignored=tuple(ignored),
        files=tuple(
            source.file.path
            for source in (from_user, from_project)
            if source.file.path is not None and source.file.exists
        ),
    )


def read_hook_tables(
    file: TomlFile,
    scope: _Scope,
    *,
    project: ProjectFiles,
    trust: Trust,
    problems: list[str],
    has_other_keys: bool = True,
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
        has_other_keys: Whether the file may have keys that are not about hooks.
    """
    hooks = _HookFile(scope, file, problems, project.folder, has_other_keys=has_other_keys).hooks
    if scope == "user" or not hooks:
        return [(ShellHook(**fields), None) for fields in hooks]
    scripts = TrustedScripts(trust, project.folder, file)
    why = why_not_trusted(trust, project)
    return [(ShellHook(**fields, prepare=scripts.prepare), why) for fields in hooks]


class _HookFile:
    """The hooks of one file, as checked fields; its mistakes are added to *problems*."""

    def __init__(
        self,
        scope: _Scope,
        file: TomlFile,
        problems: list[str],
        project: Path | None,
        *,
        has_other_keys: bool = False,
    ) -> None:
        self.file = file
        self.hooks: list[dict[str, Any]] = []
        self._scope = scope
        self._problems = problems
        self._project = project
        for key, value in file.data.items():
            if key == "hooks":
                self._read_tables(value)
            elif not has_other_keys:
                problems.append(f"{file.path}: {explain_unknown_choice(key, ('hooks',))}")

    def _read_tables(self, tables: Any) -> None:
        path = self.file.path
        if not isinstance(tables, list):
            self._problems.append(f"{path}: hooks: has to be a list; write [[hooks]] above each hook")
            return
        for index, table in enumerate(tables):
            location = f"{path}: hooks[{index}]"
            if not isinstance(table, dict):
                self._problems.append(f"{location}: has to be a table; write [[hooks]] above each hook")
                continue
            problems = self._find_mistakes(table)
            self._problems += [f"{location}: {mistake}" for mistake in problems]
            if not problems:
                source = f"{self._scope} hooks, hooks[{index}] in {path}"
                # A user's hook runs in the folder of its file, because the open project may be the work of others.
                cwd = self._project if self._scope == "project" or path is None else path.parent
                fields = {key: value for key, value in table.items() if key != "files"}
                self.hooks.append({**fields, "cwd": cwd, "source": source})

    def _find_mistakes(self, table: dict[str, Any]) -> list[str]:
        unknown = [explain_unknown_choice(key, _KEYS) for key in table if key not in _KEYS]
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
        if self._scope == "user" or self._project is None:
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
        if self._scope == "user" or self._project is None or "files" in table:
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


def _describe_hook(fields: dict[str, Any]) -> str:
    """Return the whole command of a hook. The variables that it gets come first, where the command cannot hide them."""
    command, env = fields["command"], fields.get("env", ())
    text = command if isinstance(command, str) else shlex.join(command)
    variables = [env] if isinstance(env, str) else env
    gets = f", which gets {', '.join(variables)}" if variables else ""
    return f"{fields['source']}{gets}: {make_visible(text, keep_lines=False)}"
