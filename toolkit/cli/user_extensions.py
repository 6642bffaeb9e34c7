"""
The hooks, the skills and the MCP servers of the user and of the project in the current folder.

A program decides itself which hooks, skills and servers its dispatcher has. The command line has no such program, so it
uses the files in the usual places, and what the settings name. A project's files count only if the user trusts the
folder.

A model gets the tools of all servers that the settings switch on. A command for one tool, such as `toolkit call`, works
on its target alone; there the target `mcp:NAME` is a server of the settings.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..catalogs.views import CatalogView
from ..errors import ToolkitError
from ..settings.trust import PROJECT_FOLDER, Trust, configuration_folder
from ..values.visible import make_visible
from .output import Output
from .server_targets import SETTINGS_PREFIX
from .targets import Target, open_target, split_targets

if TYPE_CHECKING:  # it loads the agent, which most commands do not need
    from ..settings import MergedSettings

__all__ = ["open_extended_target"]


@contextlib.contextmanager
def open_extended_target(
    name: str,
    output: Output,
    *,
    unless: str | None = None,
    settings: MergedSettings | None = None,
    starts_servers: bool = False,
    undecorated: bool = False,
) -> Iterator[Target]:
    """
    Yield the tools of the target *name* with the user's skills and servers beside them, until the end of the block.

    A skill or a server that cannot be used is left out, and a note says why. All servers have ended after the block.

    If the target has the tool *unless*, the skills are not needed, and left out. With *starts_servers*, there are the
    tools of the servers of the settings, without those that are part of the target already. With *undecorated*, public
    functions of a module count as tools.
    """
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(open_target(name, undecorated=undecorated, settings=settings))
        catalog = target.catalog
        if starts_servers and settings is not None:
            catalog = _add_servers(name, catalog, settings, output, stack)
        # The skills stand above the servers, because a skill may list the tools of a server.
        if unless is None or catalog.get(unless) is None:
            catalog = _add_skills(catalog, target, output, settings)
        yield replace(target, catalog=catalog)


def _add_servers(
    name: str, catalog: CatalogView, settings: MergedSettings, output: Output, stack: contextlib.ExitStack
) -> CatalogView:
    """Return *catalog* with the tools of the servers, which are closed with *stack*."""
    opened = {part.removeprefix(SETTINGS_PREFIX) for part in split_targets(name) if part.startswith(SETTINGS_PREFIX)}
    entries = settings["mcp_servers"].items()
    names = [server for server, entry in entries if entry.enabled and server not in opened]
    if not names:
        return catalog
    output.note(f"starting MCP servers: {', '.join(names)}", "dim")
    try:
        from ..mcp import Servers  # here, because it needs a package that only servers need

        servers = Servers.from_settings(settings, catalog, names=names)
    except ToolkitError as error:
        output.note(f"MCP servers are not started: {error}")
        return catalog
    tools = stack.enter_context(servers)
    for problem in tools.problems:
        output.note(f"MCP server {make_visible(problem, keep_lines=False)}")
    return tools


def _add_skills(catalog: CatalogView, target: Target, output: Output, settings: MergedSettings | None) -> CatalogView:
    """Return *catalog* with the skills of the user and of the project, unless *target* is a catalog with skills."""
    own_folder, project = configuration_folder() / "skills", Path.cwd()
    parts = () if settings is None else settings.parts_of("skills.folders")
    further = [Path(part.value) for part in parts if part.layer != "project" and Path(part.value) != own_folder]
    usual = [folder for folder in (own_folder, project / PROJECT_FOLDER / "skills") if os.path.isdir(folder)]
    folders = [*usual, *further]
    if not folders:
        return catalog
    from ..skills import Skills  # here, because it loads the whole agent, and most users have no skills

    if isinstance(target.catalog, Skills):
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
