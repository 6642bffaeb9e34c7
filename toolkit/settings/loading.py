"""
Load the settings of all layers.

    settings = load_settings(".")
    settings["mode"], settings["budget.tokens"]

The layers are the defaults, the user's files, the project's files, the environment, and what a command or a program
gives. A later layer counts before an earlier one. Until the user trusts the project, its files can only tighten.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ..permissions.rules import Rule
from .hook_tables import read_hook_tables
from .key_checks import write_command_rule
from .layers import FileLayer, read_environment, read_overrides, read_session_rules
from .merge import merge_parts
from .project_files import ProjectFiles
from .records import MergedSettings, ProblemList, SettingPart, SettingsError
from .toml_files import TomlFile
from .trust import PROJECT_FOLDER, Project, Trust, configuration_folder, why_not_trusted

__all__ = ["load_layers", "load_settings"]


def load_settings(
    project: Project = ".",
    *,
    user: str | os.PathLike[str] | None = None,
    trust: Trust | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    rules: Sequence[Rule | str] = (),
) -> MergedSettings:
    """
    Return the merged settings of the user, a project, the environment and a program.

    Args:
        project: The project's folder, whose files are in `.toolkit`, or its files as they were read before.
        user: The folder of the user's files, if it is not the usual one, `~/.config/toolkit`.
        trust: The folders that the user trusts, if their file is not the usual one.
        environ: The variables; by default those of the process.
        overrides: Settings that count before all others, by name: `{"mode": "plan", "budget.tokens": 10_000}`.
        rules: Further rules, as objects or as texts: "deny bash(git push:*)".

    Raises:
        SettingsError: There are mistakes; the error lists up to 20 of them, each with its place and the remedy.
    """
    files = project if isinstance(project, ProjectFiles) else ProjectFiles(os.path.expanduser(project))
    user_folder = configuration_folder() if user is None else Path(os.path.abspath(os.path.expanduser(user)))

    def read_program(problems: list[str]) -> list[SettingPart]:
        parts = read_overrides(overrides or {}, "program", files.folder, problems)
        return parts + read_session_rules(rules, "program", problems)

    variables = os.environ if environ is None else environ
    return load_layers(files, user_folder, Trust() if trust is None else trust, variables, read_program)


def load_layers(
    project: ProjectFiles,
    user_folder: Path,
    trust: Trust,
    environ: Mapping[str, str],
    read_last_layer: Callable[[list[str]], list[SettingPart]],
) -> MergedSettings:
    """
    Return the merged settings of the files, the environment and a last layer.

    *read_last_layer* returns the parts of the command line or of a program, and adds its problems to a list.

    Raises:
        SettingsError: There are mistakes; the error lists all of them.
    """
    folder = project.folder
    problems = ProblemList()
    from_user = FileLayer("user", user_folder, user_folder, problems)
    from_project = FileLayer("project", folder / PROJECT_FOLDER, folder, problems, project=project)
    parts = [
        *_find_skill_folders(user_folder, project, trust),
        *from_user.parts,
        *from_project.parts,
        *_read_hooks("user", from_user.file, project, trust, problems),
        *_read_hooks("project", from_project.file, project, trust, problems),
        *read_environment(environ, folder, problems),
        *read_last_layer(problems),
    ]
    if problems:
        raise SettingsError(problems)
    judged, values = merge_parts(parts, functools.cache(lambda: why_not_trusted(trust, project)))
    return MergedSettings(
        folder=folder,
        user_folder=user_folder,
        values_by_key=values,
        parts=tuple(judged),
        rules=tuple(_build_rules(judged)),
        trust=trust,
        files=tuple(layer.file.path for layer in (from_user, from_project) if layer.file.exists and layer.file.path),
    )


def _read_hooks(
    layer: Literal["user", "project"], file: TomlFile, project: ProjectFiles, trust: Trust, problems: list[str]
) -> Iterator[SettingPart]:
    hooks = read_hook_tables(file, layer, project=project, trust=trust, problems=problems)
    for index, (hook, why) in enumerate(hooks):
        place = file.place_of("hooks", index)
        yield SettingPart(key="hooks", value=hook, layer=layer, place=place, why_ignored=why or "")


def _find_skill_folders(user_folder: Path, project: ProjectFiles, trust: Trust) -> list[SettingPart]:
    """Return the folders of skills that need no setting, if they exist: the user's, and the project's."""
    parts = []
    own = user_folder / "skills"
    if os.path.isdir(own):
        parts.append(SettingPart(key="skills.folders", value=str(own), layer="user"))
    theirs = project.folder / PROJECT_FOLDER / "skills"
    if os.path.isdir(theirs):
        why = why_not_trusted(trust, project) or ""
        parts.append(SettingPart(key="skills.folders", value=str(theirs), layer="project", why_ignored=why))
    return parts


def _build_rules(parts: Sequence[SettingPart]) -> list[Rule]:
    """Return the rules that count, with those that entries of `commands` stand for, in the order of the layers."""
    rules = []
    for part in parts:
        table, _, word = part.key.partition(".")
        if table in ("rules", "commands") and word in ("allow", "ask", "deny") and not part.why_ignored:
            text = part.value if table == "rules" else write_command_rule(word, part.value)
            # A rule without a source is meant for the tools of this program, so a misspelt name in it gives a warning.
            rules.append(Rule(word, text, part.origin if part.place else ""))  # type: ignore[arg-type]  # the line above proves the word
    return rules
