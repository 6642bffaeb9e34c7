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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..permissions.rules import Rule
from .keys import KEYS, SettingKey, is_stricter_mode, write_command_rule
from .layers import FileLayer, read_environment, read_overrides, read_session_rules
from .project_files import ProjectFiles
from .records import Layer, MergedSettings, ProblemList, SettingPart, SettingsError, shown_value
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
    Return the merged settings of the files, the environment and a last layer; raise `SettingsError` for all mistakes.

    *read_last_layer* returns the parts of the command line or of a program, and adds its problems to a list.
    """
    folder = project.folder
    problems = ProblemList()
    from_user = FileLayer(user_folder, trust, problems)
    from_project = FileLayer(project, trust, problems)
    parts = [
        *_find_skill_folders(user_folder, project),
        *from_user.parts,
        *from_project.parts,
        *read_environment(environ, folder, problems),
        *read_last_layer(problems),
    ]
    if problems:
        raise SettingsError(problems)
    judged, values = _merge_parts(parts, functools.cache(lambda: why_not_trusted(trust, project)))
    return MergedSettings(
        folder=folder,
        user_folder=user_folder,
        values_by_key=values,
        parts=tuple(judged),
        rules=tuple(_build_rules(judged)),
        trust=trust,
        files=tuple(layer.file.path for layer in (from_user, from_project) if layer.file.exists),
    )


def _find_skill_folders(user_folder: Path, project: ProjectFiles) -> Iterator[SettingPart]:
    """Yield the folders of skills that need no setting, if they exist: the user's, and the project's."""
    folders: dict[Layer, Path] = {"user": user_folder, "project": project.folder / PROJECT_FOLDER}
    for layer, folder in folders.items():
        if os.path.isdir(folder / "skills"):
            yield SettingPart(key="skills.folders", value=str(folder / "skills"), layer=layer)


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


def _merge_parts(
    parts: Iterable[SettingPart], explain_distrust: Callable[[], str | None]
) -> tuple[list[SettingPart], dict[str, Any]]:
    """
    Return *parts*, which are in the order of their layers, with the reason on each that does not count, and the values.

    *explain_distrust* returns why the user does not trust the project, or None if the user does. It is called only if a
    part of the project needs the trust.
    """
    judged: list[SettingPart] = []
    values: dict[str, Any] = {}
    for key in KEYS.values():
        value = key.default
        judged.append(SettingPart(key=key.name, value=value, layer="default"))
        for part in parts:
            if part.key != key.name:
                continue
            why = part.why_ignored or _find_objection(key, part, value, explain_distrust)
            judged.append(replace(part, why_ignored=why))
            if not why:
                value = _combine(key, value, part)
        values[key.name] = value
    judged += [part for part in parts if part.key not in KEYS]
    return [part for part in judged if part.layer != "default" or part.value not in ((), {})], values


def _find_objection(key: SettingKey, part: SettingPart, value: Any, explain_distrust: Callable[[], str | None]) -> str:
    """Return why *part* does not count after *value*; the text is empty if it counts."""
    if part.layer != "project" or key.project == "adds":
        return ""
    is_tighter = (key.project == "smaller" and _is_at_most(part.value, value)) or (
        key.project == "stricter" and is_stricter_mode(part.value, value)
    )
    why = None if is_tighter else explain_distrust()
    if why is None or key.project in ("trusted", "never"):
        return why or ""
    return f"it is not stricter than {shown_value(value)}; {why}"


def _is_at_most(limit: float | None, other: float | None) -> bool:
    """Return whether *limit* is as small as *other* or smaller; None is no limit."""
    return other is None or (limit is not None and limit <= other)


def _combine(key: SettingKey, value: Any, part: SettingPart) -> Any:
    if isinstance(key.default, dict):
        return {**value, part.name: part.value}
    if key.kind in ("list", "tables"):
        return value if part.value in value else (*value, part.value)
    return part.value
