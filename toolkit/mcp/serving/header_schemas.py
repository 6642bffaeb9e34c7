"""
The schemas that say which arguments are repeated in HTTP headers, with the keyword `x-mcp-header`.

The SDK compares such headers with the arguments of every call. Few tools have any, so the others are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...catalogs.views import CatalogView
from ...spec import Tool

__all__ = ["HeaderSchemas"]

_KEYWORD = "x-mcp-header"


class HeaderSchemas:
    """The schemas of the tools in *catalog* that have headers."""

    def __init__(self, catalog: CatalogView) -> None:
        self._catalog = catalog
        self._schemas: dict[str, tuple[Tool, Mapping[str, Any] | None]] = {}

    def find(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema of the tool *name* if some of its arguments are in headers; otherwise None."""
        tool = self._catalog.get(name)
        if tool is None:
            return None
        known_tool, schema = self._schemas.get(tool.name, (None, None))
        if known_tool is not tool:
            schema = tool.schema if _has_keyword(tool.schema) else None
            self._schemas[tool.name] = tool, schema
        return schema


def _has_keyword(part: Any) -> bool:
    if isinstance(part, Mapping):
        return _KEYWORD in part or any(map(_has_keyword, part.values()))
    return isinstance(part, list) and any(map(_has_keyword, part))
