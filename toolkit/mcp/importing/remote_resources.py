"""
The resources of other servers, for a server of ours that passes them on.

A list is asked for when a client wants it, so it is never old. A read is a call like any other: of the tool
`read_resource` of the server that has the resource, with the facts and the origin of that server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import mcp_types as types

from ...catalog import Catalog
from ...catalogs.foreign_names import make_legal_name
from ...catalogs.foreign_text import clean_text, explain_address
from ...context import Context
from ...errors import ToolError
from ...facts import FactOptions
from ...results import ToolResult
from ...spec import Tool
from .imported_tool import read_contents, read_facts
from .remote_server import RemoteServer
from .remote_tools import RemoteTool
from .servers import Servers

__all__ = ["RemoteResources"]

_log = logging.getLogger("toolkit")

_TOOL = "read_resource"
_URI = {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}
_TEXTS = ("name", "title", "description")


class RemoteResources:
    """
    The resources of all servers in *groups*. Of two servers with the same URI, the first one counts.

    Attributes:
        catalog: For each server, the tool that reads its resources.
    """

    def __init__(self, groups: Sequence[Servers]) -> None:
        self._sources = [(servers, server) for servers in groups for server in servers.servers]
        self._readers = {server.name: _build_reader(servers, server) for servers, server in self._sources}
        self.catalog = Catalog(*self._readers.values())
        self._owners: dict[str, dict[str, str]] = {"uri": {}, "uriTemplate": {}}  # the server of each URI and template

    async def list_fixed(self) -> list[dict[str, Any]]:
        """Return the entries of `resources/list`."""
        return await self._list(types.ListResourcesRequest, types.ListResourcesResult, "resources", "uri")

    async def list_templates(self) -> list[dict[str, Any]]:
        """Return the entries of `resources/templates/list`."""
        answer = types.ListResourceTemplatesResult
        return await self._list(types.ListResourceTemplatesRequest, answer, "resource_templates", "uriTemplate")

    async def find_reader(self, uri: str) -> tuple[Tool, dict[str, str]] | None:
        """Return the tool that reads *uri*, and its arguments; None if no server lists the URI or a template for it."""
        owner = self._find_owner(uri)
        if owner is None:
            await asyncio.gather(self.list_fixed(), self.list_templates())
            owner = self._find_owner(uri)
        return None if owner is None else (self._readers[owner], {"uri": uri})

    def _find_owner(self, uri: str) -> str | None:
        if uri in self._owners["uri"]:
            return self._owners["uri"][uri]
        # The text before the first variable decides: only the server can tell what its variables may hold.
        starts = {template.partition("{")[0]: owner for template, owner in self._owners["uriTemplate"].items()}
        fitting = [start for start in starts if uri.startswith(start)]
        return starts[max(fitting, key=len)] if fitting else None

    async def _list(self, request: Any, answer: Any, field: str, key: str) -> list[dict[str, Any]]:
        lists = await asyncio.gather(*(_list_all(*source, request, answer, field) for source in self._sources))
        entries: dict[str, dict[str, Any]] = {}
        owners: dict[str, str] = {}
        for (_, server), items in zip(self._sources, lists, strict=True):
            for item in items:
                data = item.model_dump(mode="json", by_alias=True, exclude_none=True)
                if any(explain_address(data[label]) for label in (key, "mimeType") if label in data):
                    _log.warning("MCP server %s: a resource is left out: its URI or type is unusable", server.name)
                elif data[key] not in entries:
                    texts = {name: clean_text(data[name], 1000) for name in _TEXTS if name in data}
                    kept = {name: data[name] for name in (key, "mimeType", "size") if name in data}
                    entries[data[key]], owners[data[key]] = {**kept, **texts}, server.name
        self._owners[key] = owners
        return list(entries.values())


async def _list_all(servers: Servers, server: RemoteServer, request: Any, answer: Any, field: str) -> list[Any]:
    """Return all pages of a list; what there is of it if the server fails."""
    items: list[Any] = []
    cursor: str | None = None
    try:
        async with asyncio.timeout(server.limits.connect_seconds):
            for _ in range(int(server.limits.max_pages)):
                params = types.PaginatedRequestParams(cursor=cursor)
                page = await servers.request(server.name, request(params=params), answer)
                items += [] if page is None else getattr(page, field)
                cursor = None if page is None else page.next_cursor
                if not cursor or len(items) > server.limits.max_tools:
                    break
    except (ToolError, TimeoutError) as error:
        _log.warning("MCP server %s: its resources cannot be listed: %s", server.name, error)
    return items[: int(server.limits.max_tools)]


def _build_reader(servers: Servers, server: RemoteServer) -> Tool:
    async def read(arguments: dict[str, Any], context: Context) -> ToolResult:
        request = types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=arguments["uri"]))
        answer = await servers.request(server.name, request, types.ReadResourceResult)
        if answer is None:
            raise ToolError(f"the server {server.name} has no resources any more")
        return ToolResult("", None, parts=[read_contents(contents, server.name) for contents in answer.contents])

    facts: FactOptions = {
        **read_facts(server, RemoteTool(_TOOL, "", {}, hints={"readOnlyHint": True})),
        "group": server.name,
        "timeout_seconds": server.timeout_seconds,
    }
    description = f"Read a resource of the MCP server {server.name}."
    tool = Tool.from_schema(_TOOL, description, _URI, read, origin=server.origin, **facts)
    return tool.renamed(make_legal_name(_TOOL, f"{server.name}_"))
