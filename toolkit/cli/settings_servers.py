"""
The MCP servers of the settings beside the tools of a target, for commands in which a model works.

A model gets the tools of all servers that the settings switch on, as it gets the user's skills. A command for one tool,
such as `toolkit call`, works on its target alone; there the target `mcp:NAME` is a server of the settings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import click

from ..errors import ToolkitError
from ..settings import MergedSettings
from ..skills import Skills
from ..values.visible import make_visible
from .output import Output
from .server_targets import SETTINGS_PREFIX
from .targets import Target, split_targets
from .user_extensions import with_skills

__all__ = ["open_extended_target", "servers_option"]

servers_option = click.option(
    "--servers/--no-servers",
    "starts_servers",
    default=True,
    help="Whether to start the MCP servers of your settings, whose tools the model gets too.",
)


@contextlib.contextmanager
def open_extended_target(
    name: str, target: Target, settings: MergedSettings, output: Output, *, starts_servers: bool
) -> Iterator[Target]:
    """
    Yield *target* with the tools of the servers of the settings and with the user's skills, until the end of the block.

    A server that cannot be used is left out, and a note says why. All servers have ended after the block.

    Args:
        name: What the user calls the target. A server that is part of it is not started again.
        target: The tools.
        settings: The settings.
        output: Where notes are written.
        starts_servers: Whether there are tools of servers.
    """
    with contextlib.ExitStack() as stack:
        extended = _add_servers(name, target, settings, output, stack) if starts_servers else target
        # The skills stand above the servers, because a skill may list the tools of a server.
        has_skills = isinstance(target.catalog, Skills)
        yield extended if has_skills else with_skills(extended, output, settings=settings)


def _add_servers(
    name: str, target: Target, settings: MergedSettings, output: Output, stack: contextlib.ExitStack
) -> Target:
    """Return *target* with the tools of the servers, which are closed with *stack*."""
    opened = {part.removeprefix(SETTINGS_PREFIX) for part in split_targets(name) if part.startswith(SETTINGS_PREFIX)}
    entries = settings["mcp_servers"].items()
    names = [server for server, entry in entries if entry.enabled and server not in opened]
    if not names:
        return target
    output.note(f"starting MCP servers: {', '.join(names)}", "dim")
    try:
        from ..mcp import Servers  # here, because it needs a package that only servers need

        servers = Servers.from_settings(settings, target.catalog, names=names)
    except ToolkitError as error:
        output.note(f"MCP servers are not started: {error}")
        return target
    tools = stack.enter_context(servers)
    for problem in tools.problems:
        output.note(f"MCP server {make_visible(problem, keep_lines=False)}")
    return replace(target, catalog=tools)
