"""
What a catalog holds at one moment, and how two such moments differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import compress
from operator import is_not
from typing import TypeAlias

from ..errors import DuplicateTool
from ..functions.callables import place_of
from ..spec import Tool

__all__ = ["Change", "Listener", "Table", "described_place", "difference", "merged"]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The content of a catalog at one moment: never changed, only replaced."""

    tools: Mapping[str, Tool]
    aliases: Mapping[str, str]

    def find(self, name: object) -> Tool | None:
        """The tool of this name or alias. Names come from models, so anything may be asked for."""
        if not isinstance(name, str):
            return None
        found = self.tools.get(name)
        return self.tools.get(self.aliases.get(name, "")) if found is None else found

    def called(self, name: object) -> Tool | None:
        """The tool of this name; else the one that is called so where dots are forbidden, and `a.b` is `a--b`."""
        found = self.find(name)
        if found is None and isinstance(name, str) and ("." in name or "--" in name):
            meant = _on_the_wire(name)
            found = next((tool for own, tool in self.tools.items() if _on_the_wire(own) == meant), None)
        return found


@dataclass(frozen=True, slots=True)
class Change:
    """What a catalog's listeners are told: the tools that came and went. A replaced tool does both."""

    added: tuple[Tool, ...]
    removed: tuple[Tool, ...]


Listener: TypeAlias = Callable[[Change], object]


def merged(*tables: Table) -> Table:
    """All of them in one; `DuplicateTool` if two mean different tools by one name."""
    tools: dict[str, Tool] = {}
    aliases: dict[str, str] = {}
    for table in tables:
        so_far = Table(tools, aliases)
        for name, tool in table.tools.items():
            taken = so_far.find(name)
            if taken is not None and taken is not tool:
                raise DuplicateTool(
                    f"`{name}` is in both catalogs: {described_place(taken)} and {described_place(tool)}; "
                    f"use `prefixed` on one, or `filtered`"
                )
        for alias, name in table.aliases.items():
            taken = so_far.find(alias)
            if taken is not None and taken is not table.tools[name]:
                raise DuplicateTool(f"`{alias}` is in both catalogs, as an alias of `{name}` and as `{taken.name}`")
        tools.update(table.tools)
        aliases.update(table.aliases)
    return Table(tools, aliases)


def _on_the_wire(name: str) -> str:
    return name.replace(".", "--")


def difference(before: Table, after: Table) -> Change:
    """Return what has to come and go to make one table of the other."""
    return Change(added=_missing(after.tools, before.tools), removed=_missing(before.tools, after.tools))


def _missing(tools: Mapping[str, Tool], others: Mapping[str, Tool]) -> tuple[Tool, ...]:
    """Return those of *tools* that do not stand under the same name in *others*."""
    # Maps instead of a loop: after each change, all tools of a catalog are compared in the thread that made it.
    return tuple(compress(tools.values(), map(is_not, map(others.get, tools), tools.values())))


def described_place(tool: Tool) -> str:
    """Where a tool was written, for a person who has to choose between two."""
    file, line = place_of(tool.function)
    origin = "" if tool.origin == "python" else f" from {tool.origin}"
    return f"{tool.about.subject}{origin} ({file}:{line})"
