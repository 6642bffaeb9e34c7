"""The types that every format uses: a catalog as input, and definitions with notes as output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from .._option_checks import describe_type
from ..session import Session
from ..spec import Tool

__all__ = ["Definitions", "Note", "Offering", "check_offering"]


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


@dataclass(frozen=True, slots=True)
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


class Definitions(list[dict[str, Any]]):
    """
    A list of definitions that can be sent to a provider as it is.

    The caller may change the list. The schemas in it are shared with the tools, so copy a schema before you change it.

    Attributes:
        notes: What differs from what the caller asked for: tools that are not strict, schemas that had to be changed.
    """

    def __init__(self, definitions: Iterable[dict[str, Any]] = (), notes: Iterable[Note] = ()) -> None:
        super().__init__(definitions)
        self.notes = tuple(notes)
