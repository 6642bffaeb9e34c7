"""The content of a catalog at one moment, and the difference between two such moments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from .._option_checks import describe_type
from .._plumbing.forks import unlock_properties_in_children
from .._plumbing.records import record
from ..errors import DuplicateTool
from ..functions.callables import find_source_location
from ..spec import Tool

__all__ = [
    "Change",
    "Listener",
    "Table",
    "check_listener",
    "describe_place",
    "diff_tables",
    "has_foreign",
    "is_foreign",
    "merge_tables",
    "names_of",
]


@unlock_properties_in_children
@record(frozen=True, eq=False)  # without slots, because the cached property needs a place
class Table:
    """The content of a catalog at one moment. A table is never changed, only replaced."""

    tools: Mapping[str, Tool]
    aliases: Mapping[str, str]

    def find(self, name: object) -> Tool | None:
        """
        Return the tool with this name or alias, or None.

        The name may be any object, because names come from models.
        """
        if not isinstance(name, str):
            return None
        tool = self.tools.get(name)
        return self.tools.get(self.aliases.get(name, "")) if tool is None else tool

    def resolve(self, name: object) -> Tool | None:
        """
        Return the tool with this name or alias; otherwise the tool that has this name in a provider's format.

        Some formats forbid dots, so there `a.b` is called `a--b`. Return None if no tool matches.
        """
        match = self.find(name)
        if match is None and isinstance(name, str) and ("." in name or "--" in name):
            wire_name = _to_wire_name(name)
            match = next((tool for own, tool in self.tools.items() if _to_wire_name(own) == wire_name), None)
        return match

    @cached_property
    def undeferred(self) -> tuple[Tool, ...]:
        """The tools that are not deferred, in their order."""
        return tuple(tool for tool in self.tools.values() if not tool.facts.defer)

    def extended(self, tools: Mapping[str, Tool], aliases: Mapping[str, str]) -> Table:
        """Return this table with more *tools* and *aliases*, whose names are new, after its own."""
        return LongerTable(self.tools, tools, {**self.aliases, **aliases} if aliases else self.aliases)

    def selected(self, keep: Callable[[Tool], bool]) -> Table:
        """Return the part of the table with the tools for which *keep* returns true, and their aliases."""
        tools = {name: tool for name, tool in self.tools.items() if keep(tool)}
        return Table(tools, {alias: name for alias, name in self.aliases.items() if name in tools})

    @cached_property
    def _aliases_by_name(self) -> dict[str, list[str]]:
        aliases: dict[str, list[str]] = {}
        for alias, name in self.aliases.items():
            aliases.setdefault(name, []).append(alias)
        return aliases

    def aliases_of(self, name: str) -> Sequence[str]:
        """Return the aliases of the tool *name*."""
        return self._aliases_by_name.get(name, ())

    def names_of(self, tool: Tool) -> frozenset[str]:
        """Return every name that *tool* has here or had."""
        return names_of(tool).union(self.aliases_of(tool.name))


class LongerTable(Table):
    """
    The tools *older* and then the tools *newest*, with *aliases*.

    The dictionary of all tools is made when it is first read. So a tool that is added to thousands costs a copy of the
    newest tools only, until some code reads the table.
    """

    _older: Mapping[str, Tool]
    _newest: Mapping[str, Tool]

    def __init__(self, older: Mapping[str, Tool], newest: Mapping[str, Tool], aliases: Mapping[str, str]) -> None:
        vars(self).update(_older=older, _newest=newest, aliases=aliases)

    def __getattr__(self, name: str) -> Any:
        if name != "tools":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        vars(self)["tools"] = tools = {**self._older, **self._newest}  # two threads may make two equal dictionaries
        return tools

    def find(self, name: object) -> Tool | None:
        if not isinstance(name, str):
            return None
        tool = self._find_own(name)
        return self._find_own(self.aliases.get(name, "")) if tool is None else tool

    def _find_own(self, name: str) -> Tool | None:
        tool = self._older.get(name)
        return self._newest.get(name) if tool is None else tool

    def extended(self, tools: Mapping[str, Tool], aliases: Mapping[str, str]) -> Table:
        newest = {**self._newest, **tools}
        if len(newest) > _MAX_NEWEST:
            return super().extended(tools, aliases)
        return LongerTable(self._older, newest, {**self.aliases, **aliases} if aliases else self.aliases)


_MAX_NEWEST = 128
"""The most tools that are copied with each addition. With more, the next addition copies all tools."""


@record(frozen=True, slots=True)
class Change:
    """
    The tools that were added and removed, as a catalog reports them to its listeners.

    A replaced tool is in both fields.

    Attributes:
        added: The tools that the catalog has now.
        removed: The tools that it had before.
    """

    added: tuple[Tool, ...]
    removed: tuple[Tool, ...]


Listener: TypeAlias = Callable[[Change], object]


def check_listener(listener: object) -> None:
    """Raise `TypeError` unless *listener* can be called with a `Change`."""
    if not callable(listener):
        raise TypeError(
            f"subscribe wants a function that is called with each change, got {describe_type(listener)}; "
            f"write catalog.subscribe(lambda change: print(change.added, change.removed))"
        )


def merge_tables(*tables: Table) -> Table:
    """
    Return one table with the content of all *tables*.

    Raises:
        DuplicateTool: Two tables use one name for different tools.
    """
    tools: dict[str, Tool] = {}
    aliases: dict[str, str] = {}
    for table in tables:
        so_far = Table(tools, aliases)
        for name, tool in table.tools.items():
            existing = so_far.find(name)
            if existing is not None and existing is not tool:
                raise DuplicateTool(
                    f"`{name}` is in both catalogs: {describe_place(existing)} and {describe_place(tool)}; "
                    f"use `prefixed` on one, or `filtered`"
                )
        for alias, name in table.aliases.items():
            existing = so_far.find(alias)
            if existing is not None and existing is not table.tools[name]:
                raise DuplicateTool(f"`{alias}` is in both catalogs, as an alias of `{name}` and as `{existing.name}`")
        tools.update(table.tools)
        aliases.update(table.aliases)
    return Table(tools, aliases)


def _to_wire_name(name: str) -> str:
    return name.replace(".", "--")


def diff_tables(before: Table, after: Table, names: Collection[str] | None = None) -> Change:
    """
    Return the tools that have to be added and removed to turn the table *before* into *after*.

    If *names* are given, the tables differ in no tools but those with these names.
    """
    old, new = before.tools, after.tools
    if names is not None:
        old, new = ({name: tools[name] for name in names if name in tools} for tools in (old, new))
    return Change(added=_missing(new, old), removed=_missing(old, new))


def _missing(tools: Mapping[str, Tool], others: Mapping[str, Tool]) -> tuple[Tool, ...]:
    """Return those of *tools* that do not have the same name in *others*."""
    return tuple(tool for name, tool in tools.items() if others.get(name) is not tool)


def describe_place(tool: Tool) -> str:
    """Return where a tool was written, for a person who has to choose between two tools."""
    if tool.origin.startswith("mcp:"):  # it was written at the server
        return f"{tool.about.subject} from {tool.origin}"
    file, line = find_source_location(tool.function)
    origin = "" if tool.origin == "python" else f" from {tool.origin}"
    return f"{tool.about.subject}{origin} ({file}:{line})"


def is_foreign(tool: Tool) -> bool:
    """Return whether *tool* comes from outside the program: its `origin` is not "python"."""
    return tool.origin != "python"


def has_foreign(tools: Iterable[Tool]) -> bool:
    """Return whether any of *tools* comes from outside the program."""
    return any(map(is_foreign, tools))


def names_of(tool: Tool) -> frozenset[str]:
    """Return every name that *tool* has or had by itself. Its catalog may have added aliases; see `Table.names_of`."""
    return frozenset((tool.name, *tool.former, *tool.facts.aliases, *(tool.options.get("aliases") or ())))
