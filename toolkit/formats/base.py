"""
The types and functions that every format uses.

A format reads a catalog and returns definitions with notes. `Naming` says how a provider wants the names of the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import NoneType
from typing import Any, Literal, Protocol, TypeAlias

from .._option_checks import OptionTypes, check_option_types, describe_type
from .._plumbing.records import record
from ..errors import CatalogError
from ..session import Session
from ..spec import Tool

__all__ = [
    "SEARCH_TOOL_NAME",
    "CacheOption",
    "Definitions",
    "Naming",
    "Note",
    "Offering",
    "WireObject",
    "check_cache",
    "check_offering",
    "list_all_tools",
    "list_offered_tools",
]

SEARCH_TOOL_NAME = "tool_search"
"""The name of our own tool that finds deferred tools."""

WireObject: TypeAlias = Any
"""
A JSON object in the form of a provider, which is a `dict`.

Each SDK has types of its own for these objects, which no other type fits. Type checkers accept this one wherever an SDK
wants its own, and also as `dict[str, Any]` in a program that has no SDK.
"""

CacheOption: TypeAlias = bool | Literal["5m", "1h"]
"""Whether a provider is asked to cache the prompt, and for how long: five minutes, which is usual, or an hour."""

_DOT = "--"
_OPTION_TYPES: OptionTypes = {"session": ((Session, NoneType), "Session(), or None")}


class Offering(Protocol):
    """The part of a catalog that a format uses."""

    def offered(self, session: Session | None = None) -> list[Tool]:
        """Return the tools that are not deferred, then the deferred tools that *session* has loaded."""
        ...

    def get(self, name: str) -> Tool | None: ...

    def __iter__(self) -> Iterator[Tool]: ...


def check_offering(catalog: Any) -> None:
    """Raise `TypeError` if *catalog* is not a catalog."""
    if isinstance(catalog, type) or not all(hasattr(catalog, method) for method in ("offered", "get", "__iter__")):
        raise TypeError(f"catalog cannot be {describe_type(catalog)}; give Catalog(function, ...)")


def check_cache(cache: CacheOption) -> None:
    """Raise `ValueError` if *cache* is no option of caching."""
    if cache not in (True, False, "5m", "1h"):
        raise ValueError(f'cache: expected True, False, "5m" or "1h", got {cache!r}')


@record(frozen=True, slots=True)
class Note:
    """
    A remark about a tool that is not sent as the caller asked for.

    Attributes:
        tool: The name of the tool in the catalog. It is empty if the note is about all tools.
        text: What was done, and why.
    """

    tool: str
    text: str

    def __str__(self) -> str:
        return f"`{self.tool}`: {self.text}" if self.tool else self.text


class Definitions(list[WireObject]):
    """
    A list of *definitions* that can be sent to a provider as it is.

    The caller may change the list. The schemas in it are shared with the tools, so copy a schema before you change it.

    Attributes:
        notes: What differs from what the caller asked for: tools that are not strict, schemas that had to be changed.
    """

    def __init__(self, definitions: Iterable[WireObject] = (), notes: Iterable[Note] = ()) -> None:
        super().__init__(definitions)
        self.notes = tuple(notes)


@record(frozen=True, slots=True, kw_only=True)
class Naming:
    """
    A provider's rules for names.

    A dot is legal in a catalog, but illegal at most providers. For these, a dot is sent as `--` and turned back into a
    dot in calls.

    Attributes:
        provider: The provider's name in messages.
        allows_dots: Whether a name may have dots.
        max_chars: The most characters of a name.
        any_property_names: Whether the names of parameters may have any characters.
    """

    provider: str
    allows_dots: bool = False
    max_chars: int = 64
    any_property_names: bool = True

    def wire(self, name: str) -> str:
        """Return *name* as it is sent."""
        return name if self.allows_dots else name.replace(".", _DOT)

    def find_unsendable(self, tools: Iterable[Tool], notes: list[Note]) -> set[str]:
        """
        Return the names of the deferred tools whose names cannot be sent. *notes* gets a note on each of them.

        Raises:
            CatalogError: A tool that is not deferred has a name that is too long, or two would be sent under one name.
        """
        # Two names become one only if a dot is sent as `--`. Among thousands of tools, few have either.
        max_chars, sends_dots = self.max_chars, self.allows_dots
        suspects = [
            tool for tool in tools if len(tool.name) > max_chars or not (sends_dots or tool.name.isidentifier())
        ]
        senders: dict[str, Tool] = {}
        unsendable: set[str] = set()
        for tool in sorted(suspects, key=self._rank):
            name, wire = tool.name, self.wire(tool.name)
            sender = senders.setdefault(wire, tool)
            if len(wire) > self.max_chars:
                sent_as = "" if wire == name else f"; it is sent as `{wire}`, {len(wire)} characters"
                limit = f"{self.provider} takes names of at most {self.max_chars} characters"
                problem = f"tool `{name}`: {limit}{sent_as}; give it a shorter name"
            elif sender is not tool:
                problem = (
                    f"tools `{sender.name}` and `{name}`: {self.provider} takes no dots in names, so both would be "
                    f"sent as `{wire}`; rename one of them, or leave one out with `filtered`"
                )
            else:
                continue
            if not tool.facts.defer:
                raise CatalogError(problem)
            notes.append(Note(name, f"left out, and cannot be loaded: {problem}"))
            unsendable.add(name)
        return unsendable

    def _rank(self, tool: Tool) -> tuple[bool, bool]:
        """Return which of several tools keeps a sent name: one that is not deferred, then one without a dot."""
        return tool.facts.defer, self.wire(tool.name) != tool.name

    def find_sent(self, name: str, catalog: Offering | None) -> Tool | None:
        """Return the tool *name* of *catalog* if it can be sent, so that a result can refer to it; otherwise None."""
        wire = self.wire(name)
        tool = self.resolve(wire, catalog)[1]
        return tool if tool is not None and tool.name == name and len(wire) <= self.max_chars else None

    def resolve(self, name: str, catalog: Offering | None) -> tuple[str, Tool | None]:
        """Return the catalog's name for the sent *name*, and the tool if *catalog* has it."""
        dotted_name = name if self.allows_dots else name.replace(_DOT, ".")
        if catalog is None:
            return dotted_name, None
        candidates = (catalog.get(candidate) for candidate in dict.fromkeys((name, dotted_name)))
        matches = [tool for tool in candidates if tool is not None and self.wire(tool.name) == name]
        if _DOT in name and all(tool.facts.defer for tool in matches):
            # The name has both dots and dashes, or is also an alias, or the name of a tool that is left out.
            matches = [tool for tool in catalog if self.wire(tool.name) == name]
        if matches:
            match = min(matches, key=self._rank)
            return match.name, match
        alias = catalog.get(name)
        return (dotted_name, None) if alias is None else (name, alias)


def list_offered_tools(catalog: Offering, session: Session | None, naming: Naming, notes: list[Note]) -> list[Tool]:
    """
    Return the tools that are not deferred, then those that *session* has loaded.

    A deferred tool whose name the provider cannot take is left out with a note. Any other one is a `CatalogError`.
    """
    check_offering(catalog)
    check_option_types({"session": session}, _OPTION_TYPES)
    unsendable = naming.find_unsendable(catalog, notes)
    return [tool for tool in catalog.offered(session) if tool.name not in unsendable]


def list_all_tools(catalog: Offering, naming: Naming, notes: list[Note], undeferred: Sequence[str] = ()) -> list[Tool]:
    """
    Return every tool for a provider that keeps deferred tools out of the prompt itself.

    The deferred tools come last, but those whose names are in *undeferred* before the others, in this order. As in
    `list_offered_tools`, a deferred tool whose name cannot be sent is left out.
    """
    check_offering(catalog)
    unsendable = naming.find_unsendable(catalog, notes)
    places = {name: place for place, name in enumerate(undeferred)}
    tools = [tool for tool in catalog if tool.name not in unsendable]
    return sorted(tools, key=lambda tool: (tool.facts.defer, places.get(tool.name, len(places))))
