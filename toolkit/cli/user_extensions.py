"""
The hooks and the skills of the user and of the project in the current folder.

A program decides itself which hooks and skills its dispatcher has. The command line has no such program, so it uses
the files in the usual places, and those that the settings name. A project's files count only if the user trusts the
folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalogs.snapshot import names_of
from ..catalogs.views import CatalogView
from ..errors import ToolkitError
from ..hooks import ShellHooks
from ..settings.trust import PROJECT_FOLDER, Trust, configuration_folder
from ..spec import Tool
from .output import Output
from .targets import Target

if TYPE_CHECKING:  # it loads the agent, which most commands do not need
    from ..settings import MergedSettings

__all__ = ["name_hooks_before", "with_skills"]


def name_hooks_before(hooks: Iterable[Any], tool: Tool) -> Iterator[str]:
    """Yield the name of each of *hooks* that runs before a call of *tool*, and may block or change the call."""
    names = names_of(tool, {})
    for hook in hooks:
        if not isinstance(hook, ShellHooks):
            if hasattr(hook, "before"):
                yield f"the hook {type(hook).__name__}"
            continue
        for shell_hook in hook.hooks:
            if "before" in shell_hook.on and shell_hook.is_about(names, tool.facts.group, tool.origin):
                yield shell_hook.source or "a shell hook"


def with_skills(
    target: Target, output: Output, *, unless: str | None = None, settings: MergedSettings | None = None
) -> Target:
    """
    Return *target* with the skills of the user and of the project beside its tools.

    Write a note for each skill that is left out, and for each one that does not count.

    Args:
        target: The tools.
        output: Where notes are written.
        unless: The name of a tool. If *target* has it, the skills are not needed, and the result is *target* itself.
        settings: The settings, which may name further folders with skills.
    """
    if unless is not None and target.catalog.get(unless) is not None:
        return target
    return replace(target, catalog=_add_skills(target.catalog, output, settings))


def _add_skills(catalog: CatalogView, output: Output, settings: MergedSettings | None) -> CatalogView:
    own_folder, project = configuration_folder() / "skills", Path.cwd()
    parts = () if settings is None else settings.parts_of("skills.folders")
    further = [Path(part.value) for part in parts if part.layer != "project" and Path(part.value) != own_folder]
    usual = [folder for folder in (own_folder, project / PROJECT_FOLDER / "skills") if os.path.isdir(folder)]
    folders = [*usual, *further]
    if not folders:
        return catalog
    from ..skills import Skills  # here, because it loads the whole agent, and most users have no skills

    if isinstance(catalog, Skills):
        return catalog
    try:
        skills = Skills(catalog, own_folder, *further, project=project, trust=Trust())
    except ToolkitError as error:  # the package that reads skills is not installed
        output.note(f"ignored: the skills in {' and '.join(map(str, folders))}: {error}")
        return catalog
    for entry in skills.ignored:
        output.note(f"ignored: {entry}")
    for problem in skills.problems:
        output.note(f"a skill is left out: {problem}")
    return skills
