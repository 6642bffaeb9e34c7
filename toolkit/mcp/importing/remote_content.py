"""
The resources and prompts of other servers: for a program that uses them, and for a server of ours that passes them on.

    resources = RemoteResources([servers])
    await resources.list_fixed()
    Dispatcher(servers.merged(resources.catalog))       the tool `docs_read_resource` reads them

A list is asked for when it is wanted, so it is never old. A read is a call like any other: of the tool `read_resource`
or `get_prompt` of the server that has the resource or the prompt, with the facts and the origin of that server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import mcp_types as types

from ...catalog import Catalog
from ...catalogs.foreign_names import make_legal_name
from ...catalogs.foreign_text import clean_text, explain_address
from ...content import TextPart
from ...context import Context
from ...errors import ToolError
from ...facts import FactOptions
from ...results import ToolResult
from ...spec import Tool
from .connection import ResultT
from .imported_tool import NameBook, read_block, read_facts
from .questions import CallLink
from .remote_server import RemoteServer
from .remote_tools import RemoteTool
from .servers import Servers

__all__ = ["RemotePrompts", "RemoteResources"]

_log = logging.getLogger("toolkit")

_TEXTS = ("name", "title", "description")
_MAX_CHARS = 1000


class _RemoteContent:
    """
    One kind of content of all servers in *groups*, which are objects of `Servers`.

    Attributes:
        catalog: For each server, the tool that reads its content.
    """

    tool_name: ClassVar[str]
    description: ClassVar[str]
    schema: ClassVar[Mapping[str, Any]]

    def __init__(self, groups: Iterable[Servers]) -> None:
        self._sources = [(servers, server) for servers in groups for server in servers.servers]
        self._readers = {server.name: self._build_reader(servers, server) for servers, server in self._sources}
        self.catalog = Catalog(*self._readers.values())

    async def _read(self, servers: Servers, server: str, arguments: dict[str, Any], link: CallLink) -> ToolResult:
        raise NotImplementedError

    def _build_reader(self, servers: Servers, server: RemoteServer) -> Tool:
        async def read(arguments: dict[str, Any], context: Context) -> ToolResult:
            link = CallLink(context)
            try:
                result = await self._read(servers, server.name, arguments, link)
            except ToolError as error:
                if not link.unanswered:
                    raise
                raise ToolError(f"{error}\n{link.describe_unanswered(server.name)}") from error
            if link.unanswered:
                result.parts = [*result.parts, TextPart(link.describe_unanswered(server.name))]
            return result

        facts: FactOptions = {
            **read_facts(server, RemoteTool(self.tool_name, "", {}, hints={"readOnlyHint": True})),
            "group": server.name,
            "timeout_seconds": server.timeout_seconds,
        }
        description = f"{self.description} of the MCP server {server.name}."
        tool = Tool.from_schema(self.tool_name, description, self.schema, read, origin=server.origin, **facts)
        return tool.renamed(make_legal_name(self.tool_name, f"{server.name}_"))

    async def _list(self, request: Any, answer: Any, field: str) -> list[tuple[str, Any]]:
        """Return the entries of a list of all servers, each with the name of its server, as JSON data."""
        lists = await asyncio.gather(*(_list_all(*source, request, answer, field) for source in self._sources))
        return [
            (server.name, item.model_dump(mode="json", by_alias=True, exclude_none=True))
            for (_, server), items in zip(self._sources, lists, strict=True)
            for item in items
        ]


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
        _log.warning("MCP server %s: its %s cannot be listed: %s", server.name, field.replace("_", " "), error)
    return items[: int(server.limits.max_tools)]


async def _ask(servers: Servers, server: str, request: Any, answer: type[ResultT], link: CallLink) -> ResultT:
    content = await servers.request(server, request, answer, link)
    if content is None:
        raise ToolError(f"the server {server} does not know `{request.method}` any more")
    return content


class RemoteResources(_RemoteContent):
    """The resources of all servers in *groups*. Of two servers with the same URI, the first one counts."""

    tool_name = "read_resource"
    description = "Read a resource"
    schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"uri": {"type": "string"}},
        "required": ["uri"],
    }

    def __init__(self, groups: Iterable[Servers]) -> None:
        super().__init__(groups)
        self._owners: dict[str, dict[str, str]] = {"uri": {}, "uriTemplate": {}}  # the server of each URI and template

    async def list_fixed(self) -> list[dict[str, Any]]:
        """Return the entries of `resources/list`."""
        return await self._list_entries(types.ListResourcesRequest, types.ListResourcesResult, "resources", "uri")

    async def list_templates(self) -> list[dict[str, Any]]:
        """Return the entries of `resources/templates/list`."""
        answer = types.ListResourceTemplatesResult
        return await self._list_entries(types.ListResourceTemplatesRequest, answer, "resource_templates", "uriTemplate")

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

    async def _list_entries(self, request: Any, answer: Any, field: str, key: str) -> list[dict[str, Any]]:
        entries: dict[str, dict[str, Any]] = {}
        owners: dict[str, str] = {}
        for server, data in await self._list(request, answer, field):
            if any(explain_address(data[label]) for label in (key, "mimeType") if label in data):
                _log.warning("MCP server %s: a resource is left out: its URI or type is unusable", server)
            elif data[key] not in entries:
                kept = {name: data[name] for name in (key, "mimeType", "size") if name in data}
                entries[data[key]], owners[data[key]] = {**kept, **_clean_texts(data, _TEXTS)}, server
        self._owners[key] = owners
        return list(entries.values())

    async def _read(self, servers: Servers, server: str, arguments: dict[str, Any], link: CallLink) -> ToolResult:
        request = types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=arguments["uri"]))
        answer = await _ask(servers, server, request, types.ReadResourceResult, link)
        blocks = [types.EmbeddedResource(resource=contents) for contents in answer.contents]
        return ToolResult("", None, parts=[read_block(block, server) for block in blocks])


class RemotePrompts(_RemoteContent):
    """The prompts of all servers in *groups*. Their names begin as the names of the tools of their server do."""

    tool_name = "get_prompt"
    description = "Get the messages of a prompt"
    schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["name"],
    }

    def __init__(self, groups: Iterable[Servers]) -> None:
        super().__init__(groups)
        self._names = NameBook()
        self._prefixes = {server.name: server.tool_prefix for _, server in self._sources}
        self._owners: dict[str, tuple[str, str]] = {}  # the server of each prompt, and its name there

    async def list_all(self) -> list[dict[str, Any]]:
        """Return the entries of `prompts/list`."""
        entries: list[dict[str, Any]] = []
        owners: dict[str, tuple[str, str]] = {}
        for server, data in await self._list(types.ListPromptsRequest, types.ListPromptsResult, "prompts"):
            name, problem = self._names.claim(server, data["name"], prefix=self._prefixes[server])
            arguments = data.get("arguments", [])
            if problem is None and any(explain_address(argument["name"]) for argument in arguments):
                problem = "the name of an argument is unusable"
            if problem is not None or name in owners:
                _log.warning("MCP server %s: the prompt %r is left out: %s", server, name, problem or "it comes twice")
                continue
            owners[name] = server, data["name"]
            described = [
                {**_clean_texts(argument, _TEXTS), "required": bool(argument.get("required"))} for argument in arguments
            ]
            entries.append({**_clean_texts(data, _TEXTS), "name": name, "arguments": described})
        self._owners = owners
        return entries

    async def find_reader(self, name: str) -> tuple[Tool, str] | None:
        """Return the tool that gets the prompt *name*, and the name of the prompt there; None if no server lists it."""
        if name not in self._owners:
            await self.list_all()
        server, own_name = self._owners.get(name, (None, ""))
        return None if server is None else (self._readers[server], own_name)

    async def _read(self, servers: Servers, server: str, arguments: dict[str, Any], link: CallLink) -> ToolResult:
        params = types.GetPromptRequestParams(name=arguments["name"], arguments=arguments.get("arguments", {}))
        answer = await _ask(servers, server, types.GetPromptRequest(params=params), types.GetPromptResult, link)
        parts = [read_block(message.content, server) for message in answer.messages]
        roles = [message.role for message in answer.messages]
        metadata = {"roles": roles, "description": clean_text(answer.description or "", _MAX_CHARS)}
        return ToolResult("", None, parts=parts, metadata=metadata)


def _clean_texts(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {name: clean_text(data[name], _MAX_CHARS) for name in names if name in data}
