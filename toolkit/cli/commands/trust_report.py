"""
What trust in a project would cover: the settings that would begin to count, and the files that they come from.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...settings import SettingPart, SettingsError, load_settings
from ...settings.loading import load_layers
from ...settings.project_files import ProjectFiles
from ...settings.trust import Trust, configuration_folder, read_all_instructions
from ...skills.skill_files import read_project_contents
from ..settings_options import read_assignments

__all__ = ["TrustReport", "read_report"]

KINDS = ("rules", "hooks", "skills", "settings")
"""The kinds of settings that count only with trust; the last one is for all that have no section of their own."""


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
    Return what trust in *folder* would cover; raise `TrustError` if a part of its content cannot be covered.

    *assignments* are the texts of `--set`, which may name further instruction files.
    """
    # Everything is read once, so that the digest is about what is shown.
    project = ProjectFiles(os.path.realpath(folder))
    digest = project.digest
    problems: list[str] = []
    instructions = read_all_instructions(project, names=_find_instruction_names(project, trust, assignments, problems))
    settings = _read_settings(project, problems)
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


def _read_settings(project: ProjectFiles, problems: list[str]) -> dict[str, list[str]]:
    """
    Return the settings of an untrusted project that do not count, by their kind.

    Mistakes in the user's files must not hide a setting, so the settings are compared with the defaults first.
    """
    settings: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
    with tempfile.TemporaryDirectory() as nowhere:
        trust = Trust(Path(nowhere, "trust.json"))
        for user in (Path(nowhere), configuration_folder()):
            try:
                merged = load_settings(project, user=user, trust=trust, environ={})
            except SettingsError as error:
                problems.extend(problem for problem in error.problems if problem not in problems)
                continue
            for part in merged.parts:
                if part.layer == "project" and part.why_ignored:
                    settings[_find_kind(part)][part.as_ignored().what] = None
    skills = [str(path) for path in read_project_contents(project)[0]]
    return {**{kind: list(texts) for kind, texts in settings.items()}, "skills": skills}


def _find_kind(part: SettingPart) -> str:
    table = part.key.partition(".")[0]
    return {"mode": "rules", "commands": "rules"}.get(table, table if table in KINDS else "settings")


def _find_state(project: ProjectFiles, trust: Trust, instructions: dict[str, bytes]) -> str:
    """Return the state of the folder; an instruction file that the trust does not cover is a change too."""
    state = trust.state(project)
    is_covered = all(trust.covers_file(project.root, name, content) for name, content in instructions.items())
    return state if state != "trusted" or is_covered else "changed"
