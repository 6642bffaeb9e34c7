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
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from .._option_checks import explain_unknown_choice
from .._plumbing.wording import in_backticks
from ..hooks.shell.records import ShellHook, find_mistakes
from .hook_scripts import MAX_HOOK_CHARS, are_too_long, why_unresolved
from .project_files import PROJECT_FOLDER
from .records import SettingPart
from .toml_files import TomlFile
from .trust import Trust
from .trusted_scripts import TrustedScripts

__all__ = ["read_hook_tables"]

_MAX_HOOKS = 100
_KEYS = ("on", "tools", "command", "timeout_seconds", "on_failure", "env", "files")
_REQUIRED_KEYS = {"on": "when it runs, such as before, after, agent_start or person_asked", "command": "what runs"}
_ASSIGNMENT = re.compile(r"\w+=")


def read_hook_tables(
    tables: Any, file: TomlFile, project: Path | None, trust: Trust, problems: list[str]
) -> Iterator[SettingPart]:
    """
    Yield the hooks in *tables*, the value of the key `hooks` in *file*. A hook with a mistake is left out.

    *project* is the folder of the project, if the file is the project's; it is None for the user's file.
    """
    if mistake := _find_list_mistake(tables):
        problems.append(f"{file.place_of('hooks')}: hooks: {mistake}")
        return
    scope: Literal["user", "project"] = "user" if project is None else "project"
    prepare = None if project is None else TrustedScripts(trust, project, file).prepare
    # A user's hook runs in the folder of its file, because the open project may be the work of others.
    cwd = file.path.parent if project is None else project
    for index, table in enumerate(tables):
        place = file.place_of("hooks", index)
        mistakes = _find_mistakes(table, project)
        problems.extend(f"{place}: hooks[{index}]: {mistake}" for mistake in mistakes)
        if not mistakes:
            fields = {key: value for key, value in table.items() if key != "files"}
            source = f"{scope} hooks, hooks[{index}] in {file.path}"
            hook = ShellHook(**fields, cwd=cwd, source=source, prepare=prepare)
            yield SettingPart(key="hooks", value=hook, layer=scope, place=place)


def _find_list_mistake(tables: Any) -> str | None:
    if not isinstance(tables, list):
        return "has to be a list; write [[hooks]] above each hook"
    if len(tables) > _MAX_HOOKS:
        return f"has more than {_MAX_HOOKS} hooks; remove some"
    if are_too_long([table for table in tables if isinstance(table, dict)]):
        return f"their commands and files have more than {MAX_HOOK_CHARS:,} characters; put commands into scripts"
    return None


def _find_mistakes(table: Any, project: Path | None) -> list[str]:
    if not isinstance(table, dict):
        return ["has to be a table; write [[hooks]] above each hook"]
    # Twenty mistakes end the reading, so no more are looked for.
    unknown_keys = itertools.islice((key for key in table if key not in _KEYS), 20)
    mistakes = [explain_unknown_choice(key, _KEYS) for key in unknown_keys]
    mistakes += [f"{key}: is missing; say {hint}" for key, hint in _REQUIRED_KEYS.items() if key not in table]
    mistakes += find_mistakes({key: value for key, value in table.items() if key in _KEYS and key != "files"})
    if "files" in table:
        mistakes += _check_files(table["files"], project)
    return mistakes or _check_program_place(table["command"], project) or _check_command_files(table, project)


def _check_program_place(command: str | list[str], project: Path | None) -> list[str]:
    program = _find_program(command)
    shown = in_backticks(program[:80])
    if "/" not in program or program.startswith(("/", "~", "$")):
        return []
    if project is None:
        return [f"command: {shown} is no whole path; write one, so that no other user chooses what runs"]
    # The user trusted the content of that folder. In other folders a tool may write.
    if os.path.normpath(program).split("/")[0] != PROJECT_FOLDER:
        return [f"command: {shown} lies outside {PROJECT_FOLDER}, where tools may write; put it in there"]
    return []


def _check_files(files: Any, project: Path | None) -> list[str]:
    """Return the mistakes in the list of files that a hook runs."""
    if project is None:
        return ["files: is for the hooks of a project, where trust has to cover what they run; leave it out"]
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        return ['files: has to be a list of paths in the project: files = ["tools/check.py"]']
    root = os.path.realpath(project)
    problems = []
    for name in files:
        path = os.path.realpath(os.path.join(root, name))
        if os.path.isabs(name) or not Path(path).is_relative_to(root):
            problems.append(f"files: {in_backticks(name[:80])} is not in the project; write a path relative to it")
        elif not os.path.isfile(path):
            problems.append(f"files: there is no file {in_backticks(name[:80])} in the project; correct its name")
    return problems


def _check_command_files(table: dict[str, Any], project: Path | None) -> list[str]:
    """Return why trust cannot cover the files that a project's hook runs; a hook that lists its files is fine."""
    why = None if project is None or "files" in table else why_unresolved(table["command"], project)
    if why is None:
        return []
    remedy = 'files = ["tools/check.py"], or files = [] if it runs none'
    return [f"command: {why}, so trust cannot cover that; list the project's files that it runs: {remedy}"]


def _find_program(command: str | list[str]) -> str:
    """Return the program that a command runs: its first word that sets no variable."""
    if not isinstance(command, str):
        return command[0]
    try:
        return next((word for word in shlex.split(command) if not _ASSIGNMENT.match(word)), "")
    except ValueError:  # The quotes do not close; the shell reports that.
        return ""
