"""
The tools as `tools/list` shows them, in pages.

Facts become annotations. The facts that the protocol has no word for go into `_meta`, under a key of this package.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any
from weakref import WeakKeyDictionary

from mcp import MCPError
from mcp_types import INVALID_PARAMS

from ..._plumbing.distribution import DISTRIBUTION
from ...catalogs.views import CatalogView
from ...formats import mcp as mcp_format
from ...formats.base import list_all_tools, list_offered_tools
from ...formats.schemas.merging import types_of
from ...session import Session
from ...spec import Tool

__all__ = ["FACTS_KEY", "ToolListing", "has_structured_output"]

FACTS_KEY = f"{DISTRIBUTION}/facts"
"""The key in `_meta` under which a definition has the facts that are no annotations."""

_ANNOTATED_FACTS = ("read_only", "destructive", "idempotent", "open_world")


class ToolListing:
    """The lists of tools that a server sends. `ServerOptions` explains the options."""

    def __init__(self, *, page_size: int = 2_000, lists_deferred: bool = True) -> None:
        if not (isinstance(page_size, int) and page_size > 0):
            raise ValueError(f"page_size is a whole number above 0, got {page_size!r}")
        self._page_size = page_size
        self._lists_deferred = lists_deferred
        # A tool never changes. Users may see different tools, but the definition of a tool is the same for all of them.
        self._definitions: WeakKeyDictionary[Tool, dict[str, Any]] = WeakKeyDictionary()

    def build_page(self, catalog: CatalogView, session: Session, cursor: str | None) -> dict[str, Any]:
        """Return the tools of *catalog* after *cursor*; raise `MCPError` if this server gave no such cursor."""
        if self._lists_deferred:
            tools = list_all_tools(catalog, mcp_format.NAMING, [])  # no notes: MCP takes every name of a catalog
        else:
            tools = list_offered_tools(catalog, session, mcp_format.NAMING, [])
        start = 0 if cursor is None else _find_start([tool.name for tool in tools], cursor)
        end = start + self._page_size
        # Other users, or the same user a moment later, may see other tools.
        page: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        page["tools"] = [self._find_definition(tool) for tool in tools[start:end]]
        if end < len(tools):
            page["nextCursor"] = base64.urlsafe_b64encode(f"after:{tools[end - 1].name}".encode()).decode()
        return page

    def _find_definition(self, tool: Tool) -> dict[str, Any]:
        if tool not in self._definitions:
            self._definitions[tool] = _define(tool)
        return self._definitions[tool]


_promises: WeakKeyDictionary[Tool, bool] = WeakKeyDictionary()


def has_structured_output(tool: Tool) -> bool:
    """
    Return whether the results of *tool* have an output schema for clients.

    A tool that returns text has none: its text would be sent twice.
    """
    promise = _promises.get(tool)
    if promise is None:
        schema = tool.output_schema
        types = [] if schema is None else types_of(schema, schema.get("$defs", {}))
        promise = _promises[tool] = schema is not None and (not types or not set(types) <= {"string", "null"})
    return promise


def _define(tool: Tool) -> dict[str, Any]:
    definition = mcp_format.build_definition(tool)
    if not has_structured_output(tool):
        definition.pop("outputSchema", None)
    facts = {name: value for name, value in tool.facts.as_json().items() if value and name not in _ANNOTATED_FACTS}
    return {**definition, "_meta": {FACTS_KEY: facts}} if facts else definition


def _find_start(names: list[str], cursor: str) -> int:
    try:
        kind, _, name = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
    except (binascii.Error, UnicodeError):
        kind = name = ""
    if kind != "after" or name not in names:
        raise MCPError(INVALID_PARAMS, "this cursor is unknown, or the tools have changed; list them from the start")
    return names.index(name) + 1
