"""
What trust in a project would cover: the settings that would begin to count, and the files that they come from.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import ToolkitError
from ...hooks.shell.files import HOOKS_FILE, read_hooks
from ...permissions.project_files import PROJECT_FOLDER, ProjectFiles, TrustError
from ...permissions.rule_files import read_rules
from ...permissions.trust import Trust, configuration_folder, read_all_instructions
from ...settings import SettingPart, SettingsError, load_settings
from ...settings.loading import load_layers
from ...skills.skill_files import read_project_contents
from ..settings_options import read_assignments

__all__ = ["TrustReport", "read_report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustReport:
    """
    What trust in a folder would cover.

    Attributes:
        folder: The folder of the project.
        state: Whether the user trusts it: "trusted", "changed" or "unknown".
        digest: The digest of the content that this report is about.
        instructions: The contents of the instruction files that this report is about, by name.
        settings: The settings that count only with trust, by their kind: "rules", "hooks" and others.
        files: The contents of the files that trust covers, by their path relative to the folder.
        problems: The mistakes in the files. A project with mistakes can be trusted, and its settings are refused.
    """

    folder: Path
    state: str
    digest: str
    instructions: dict[str, bytes]
    settings: dict[str, list[str]]
    files: dict[Path, bytes]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "folder": str(self.folder),
            "state": self.state,
            "digest": self.digest,
            **self.settings,
            "files": [str(path) for path in self.files],
            "problems": list(self.problems),
        }


def read_report(folder: str | os.PathLike[str], trust: Trust, assignments: Iterable[str] = ()) -> TrustReport:
    """
    Return what trust in *folder* would cover.

    *assignments* are the texts of `--set`, which may name further instruction files.

    Raises:
        SettingsError: There is a mistake in *assignments*.
        TrustError: The folder cannot be trusted, because a part of its content cannot be covered.
    """
    # Everything is read once, so that the digest is about what is shown.
    project = ProjectFiles(os.path.realpath(folder))
    digest = project.digest
    problems: list[str] = []
    instructions = read_all_instructions(project, names=_find_instruction_names(project, trust, assignments, problems))
    settings = {kind: _read_settings(readers, project, problems) for kind, readers in SETTINGS.items()}
    return TrustReport(
        folder=project.root,
        state=_find_state(project, trust, instructions),
        digest=digest,
        instructions=instructions,
        settings={**settings, "instructions": list(instructions)},
        files={
            **{Path(name): entry.data for name, entry in project.contents.items()},
            **{Path(name): content for name, content in instructions.items()},
        },
        problems=tuple(problems),
    )


def _find_instruction_names(
    project: ProjectFiles, trust: Trust, assignments: Iterable[str], problems: list[str]
) -> Sequence[str]:
    """Return the names of instruction files in the settings of all layers; none if there are mistakes in a layer."""
    mistakes: list[str] = []
    parts = read_assignments(assignments, project.folder, mistakes)
    if mistakes:
        raise SettingsError(mistakes)
    try:
        merged = load_layers(project, configuration_folder(), trust, os.environ, lambda _: parts)
    except SettingsError as error:
        problems.extend(error.problems)
        return ()
    names: Sequence[str] = merged["instructions.names"]
    return names


def _read_rules(project: ProjectFiles) -> list[str]:
    return [setting.what for setting in read_rules(project=project).ignored]


def _read_hooks(project: ProjectFiles) -> list[str]:
    return [setting.what for setting in read_hooks(project=project).ignored]


def _read_skills(project: ProjectFiles) -> list[str]:
    return [str(path) for path in read_project_contents(project)[0]]


def _read_other_settings(project: ProjectFiles, user: Path) -> list[str]:
    """
    Return the settings that have no section of their own, such as those of `toolkit.toml` and further rule files.

    These are the settings that would not count after the settings in the folder *user* if the project is not trusted.
    """
    with tempfile.TemporaryDirectory() as nowhere:
        merged = load_settings(project, user=user, trust=Trust(Path(nowhere, "trust.json")), environ={})
    parts = [part for part in merged.parts if part.layer == "project" and part.why_ignored]
    return [part.as_ignored().what for part in parts if not _has_own_section(part, project)]


def _read_settings_after_defaults(project: ProjectFiles) -> list[str]:
    with tempfile.TemporaryDirectory() as nowhere:
        return _read_other_settings(project, Path(nowhere))


def _read_settings_after_users(project: ProjectFiles) -> list[str]:
    return _read_other_settings(project, configuration_folder())


def _has_own_section(part: SettingPart, project: ProjectFiles) -> bool:
    """Return whether the report shows *part* among the rules, the hooks or the skills."""
    files = [str(project.folder / PROJECT_FOLDER / name) for name in ("permissions.toml", HOOKS_FILE)]
    return part.key == "skills.folders" or part.place in files or part.place.rpartition(":")[0] in files


def _find_state(project: ProjectFiles, trust: Trust, instructions: dict[str, bytes]) -> str:
    """Return the state of the folder; an instruction file that the trust does not cover is a change too."""
    state = trust.state(project)
    is_covered = all(trust.covers_file(project.root, name, content) for name, content in instructions.items())
    return state if state != "trusted" or is_covered else "changed"


SETTINGS: dict[str, tuple[Callable[[ProjectFiles], list[str]], ...]] = {
    "rules": (_read_rules,),
    "hooks": (_read_hooks,),
    "skills": (_read_skills,),
    # Mistakes in the user's files must not hide a setting, so the project's are compared with the defaults first.
    "settings": (_read_settings_after_defaults, _read_settings_after_users),
}
"""The functions that return the settings of an untrusted project that do not count, by the kind of setting."""


def _read_settings(
    readers: Iterable[Callable[[ProjectFiles], list[str]]], project: ProjectFiles, problems: list[str]
) -> list[str]:
    settings: list[str] = []
    for read in readers:
        try:
            settings += read(project)
        except TrustError:
            raise
        except ToolkitError as error:
            problems.extend(line for line in str(error).splitlines() if line not in problems)
    return list(dict.fromkeys(settings))
