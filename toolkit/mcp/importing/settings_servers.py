"""
The servers that the settings of a user name, `[mcp_servers.NAME]`, as servers that can be used.

A project's servers are among the settings only if the user trusts the project. In their texts `${NAME}` stands for a
variable of the environment, as in a file of servers.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...errors import DefinitionError
from ...settings.mcp_servers import McpServer, find_server_mistakes
from ...settings.records import MergedSettings
from .remote_server import RemoteServer, read_server
from .server_file import expand_variables

__all__ = ["PINS_FILE", "read_settings_servers"]

PINS_FILE = "mcp-pins.json"
"""The file in the user's configuration that keeps the definitions of the tools that were used."""

_EXPANDED = ("command", "args", "env", "cwd", "url", "headers")


def read_settings_servers(
    settings: MergedSettings, *, names: Collection[str] | None = None, environ: Mapping[str, str] | None = None
) -> tuple[dict[str, RemoteServer], tuple[str, ...]]:
    """
    Return the servers that *settings* name, by name, and what is wrong with those that are left out.

    Args:
        settings: The settings.
        names: Only these servers, also if they are switched off; all that are switched on unless given.
        environ: The variables; those of the process unless given.
    """
    servers: dict[str, RemoteServer] = {}
    problems: list[str] = []
    for part in settings.parts_of("mcp_servers"):
        entry: McpServer = part.value
        if part.name not in names if names is not None else not entry.enabled:
            continue
        try:
            servers[part.name] = read_server(
                part.name, _complete(entry, settings, os.environ if environ is None else environ)
            )
        except DefinitionError as error:
            problems.append(f"{error} ({part.origin})")
    return servers, tuple(problems)


def _complete(entry: McpServer, settings: MergedSettings, environ: Mapping[str, str]) -> McpServer:
    """Return *entry* with its variables replaced, and with the folder that it runs in."""
    fields: dict[str, Any] = {
        name: expand_variables(value, environ, f"{entry.name}: {name}")
        for name in _EXPANDED
        if (value := getattr(entry, name))
    }
    if mistakes := [mistake for _, mistake in find_server_mistakes(entry.name, _as_table(fields))]:
        raise DefinitionError(f"{entry.name}: {'; '.join(mistakes)}")
    if entry.command is not None:
        fields["command"] = os.path.expanduser(fields["command"])
        fields["cwd"] = str(settings.folder / fields.get("cwd", ""))
    return replace(entry, **fields)


def _as_table(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
