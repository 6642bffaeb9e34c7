"""
The types and functions that every format uses.

A format reads a catalog and returns definitions with notes. `Naming` says how a provider wants the names of the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Any, Protocol, TypeAlias

from .._option_checks import OptionTypes, check_option_types, describe_type
from .._plumbing.records import record
from ..errors import CatalogError
from ..session import Session
from ..spec import Tool

__all__ = [
    "SEARCH_TOOL_NAME",
    "Definitions",
    "Naming",
    "Note",
    "Offering",
    "WireObject",
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
    A list of definitions that can be sent to a provider as it is.

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

    def check(self, tools: Iterable[Tool]) -> None:
        """Raise `CatalogError` if two of *tools* would be sent under one name, or if a name is too long."""
        own_names: dict[str, str] = {}
        for name in (tool.name for tool in tools):
            wire = self.wire(name)
            if len(wire) > self.max_chars:
                sent_as = "" if wire == name else f"; it is sent as `{wire}`, {len(wire)} characters"
                raise CatalogError(
                    f"tool `{name}`: {self.provider} takes names of at most {self.max_chars} characters{sent_as}; "
                    f"give it a shorter name"
                )
            if own_names.setdefault(wire, name) != name:
                raise CatalogError(
                    f"tools `{own_names[wire]}` and `{name}`: {self.provider} takes no dots in names, so both would be "
                    f"sent as `{wire}`; rename one of them, or leave one out with `filtered`"
                )

    def resolve(self, name: str, catalog: Offering | None) -> tuple[str, Tool | None]:
        """Return the catalog's name for the sent *name*, and the tool if *catalog* has it."""
        dotted_name = name if self.allows_dots else name.replace(_DOT, ".")
        if catalog is None:
            return dotted_name, None
        for candidate in dict.fromkeys((name, dotted_name)):
            match = catalog.get(candidate)
            if match is not None and self.wire(match.name) == name:
                return match.name, match
        # The name has both dots and dashes, or it is also an alias of another tool.
        match = next((tool for tool in catalog if self.wire(tool.name) == name), None)
        if match is not None:
            return match.name, match
        alias = catalog.get(name)
        return (dotted_name, None) if alias is None else (name, alias)


def list_offered_tools(catalog: Offering, session: Session | None, naming: Naming) -> list[Tool]:
    """
    Return the tools that are not deferred, then those that *session* has loaded.

    Raises:
        CatalogError: Two tools of the catalog would be sent under one name, even if only one of them is offered now.
    """
    check_offering(catalog)
    check_option_types({"session": session}, _OPTION_TYPES)
    naming.check(catalog)
    return catalog.offered(session)


def list_all_tools(catalog: Offering, naming: Naming) -> list[Tool]:
    """Return every tool, the deferred tools last, for a provider that keeps them out of the prompt itself."""
    check_offering(catalog)
    naming.check(catalog)
    return sorted(catalog, key=lambda tool: tool.facts.defer)
