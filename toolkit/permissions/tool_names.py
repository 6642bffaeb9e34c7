"""
The names by which rules and hooks know a tool: those that it has, and those that it had.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..catalogs.views import CatalogView
from ..spec import Tool

__all__ = ["NamesByTool", "names_of"]


def names_of(tool: Tool, aliases: Mapping[str, str]) -> frozenset[str]:
    """Return every name that *tool* has or had; *aliases* are the aliases of its catalog."""
    current = {alias for alias, name in aliases.items() if name == tool.name}
    return frozenset({tool.name, *tool.former, *tool.facts.aliases, *(tool.options.get("aliases") or ()), *current})


class NamesByTool:
    """The names of each tool of a catalog, looked up once for as long as the catalog does not change."""

    def __init__(self, catalog: CatalogView) -> None:
        self._catalog = catalog
        self._cache: tuple[Mapping[str, str], dict[str, dict[str, str]]] | None = None

    def of(self, tool: Tool) -> frozenset[str]:
        """Return every name that *tool* has or had."""
        aliases, cached = self._catalog.table.aliases, self._cache
        if cached is None or cached[0] is not aliases:
            aliases_by_name: dict[str, dict[str, str]] = {}
            for alias, name in aliases.items():
                aliases_by_name.setdefault(name, {})[alias] = name
            self._cache = cached = aliases, aliases_by_name
        return names_of(tool, cached[1].get(tool.name, {}))
