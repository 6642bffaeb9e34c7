"""
Makes a tool of the program from the definition of a server's tool.

The tool is destructive and open-world unless its server is trusted. Its schemas are enforced by this package.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types

from ...context import Context
from ...errors import DefinitionError
from ...facts import FactOptions
from ...results import ToolResult
from ...spec import Tool
from .call_errors import UnusableAnswer
from .pins import Pins
from .questions import CallLink
from .remote_server import RemoteServer
from .remote_tools import RemoteTool
from .results import build_result, build_unusable_result
from .tool_names import make_legal_name

__all__ = ["SendCall", "build_tool"]

_CHANGED = "its server has changed its definition since it was last used"

SendCall: TypeAlias = Callable[[RemoteTool, Mapping[str, Any], CallLink], Awaitable[types.CallToolResult]]
"""Sends a call to the server and returns its answer: the tool, the arguments, and the call that it is for."""


def build_tool(server: RemoteServer, remote: RemoteTool, name: str, send: SendCall, pins: Pins, *, defer: bool) -> Tool:
    """
    Return the tool called *name* that stands for *remote*.

    Raises:
        DefinitionError: The schema cannot be enforced, or is too large.
    """
    if remote.problem is not None:
        raise DefinitionError(remote.problem)
    identity = server.identity

    async def call_server(arguments: dict[str, Any], context: Context) -> ToolResult:
        pins.keep(identity, remote)
        try:
            return build_result(await send(remote, arguments, CallLink(context)), server.name)
        except UnusableAnswer as problem:
            return build_unusable_result(problem)

    facts: FactOptions = {
        **read_facts(server, remote),
        "defer": defer,
        "group": server.name,
        "timeout_seconds": server.timeout_seconds,
        "approval": lambda arguments: _CHANGED if pins.has_changed(identity, remote) else False,
        "preview": lambda arguments: _describe_change(pins, identity, remote),
        "metadata": {"mcp": {"server": server.name, "tool": remote.name}},
    }
    tool = Tool.from_schema(
        make_legal_name(remote.name),
        remote.description or f"The tool {remote.name[:100]} of the MCP server {server.name}.",
        remote.input_schema,
        call_server,
        output_schema=remote.output_schema,
        origin=server.origin,
        **facts,
    )
    return tool.renamed(name)


def read_facts(server: RemoteServer, remote: RemoteTool) -> FactOptions:
    """
    Return the facts about *remote*: those that the hints of a trusted server state, and the strictest for others.

    A hint that is left out has the default of the protocol, which is the stricter value.
    """
    if not server.trusted:
        return {"destructive": True, "open_world": True}
    hints = remote.hints
    read_only = hints.get("readOnlyHint") is True
    return {
        "read_only": read_only,
        "destructive": not read_only and hints.get("destructiveHint") is not False,
        "idempotent": read_only or hints.get("idempotentHint") is True,
        "open_world": hints.get("openWorldHint") is not False,
    }


def _describe_change(pins: Pins, identity: str, remote: RemoteTool) -> str | None:
    change = pins.describe_change(identity, remote)
    return f"The server has changed the definition of this tool since it was last used:\n{change}" if change else None
