"""
What every format takes and gives: a catalog, and definitions with notes on what could not be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from .._option_checks import kind_of
from ..session import Session
from ..spec import Tool

__all__ = ["Definitions", "Note", "Offering", "check_offering"]


class Offering(Protocol):
    """The tools of a catalog: what a format asks of one."""

    def offered(self, session: Session | None = None) -> list[Tool]:
        """The tools that are not deferred, then those that *session* has loaded."""
        ...

    def get(self, name: str) -> Tool | None: ...

    def __iter__(self) -> Iterator[Tool]: ...


def check_offering(catalog: Any) -> None:
    """Raise `TypeError` for what is no catalog."""
    if isinstance(catalog, type) or not all(hasattr(catalog, each) for each in ("offered", "get", "__iter__")):
        raise TypeError(f"catalog cannot be {kind_of(catalog)}; give Catalog(function, ...)")


@dataclass(frozen=True, slots=True)
class Note:
    """
    Something about a tool that is sent otherwise than it was asked for.

    Attributes:
        tool: Its name in the catalog; empty if it is about all of them.
        text: What was done, and why.
    """

    tool: str
    text: str

    def __str__(self) -> str:
        return f"`{self.tool}`: {self.text}" if self.tool else self.text


class Definitions(list[dict[str, Any]]):
    """
    A list as a provider wants it, to be sent as it is.

    The list is yours; the schemas in it are shared with the tools, so copy one before you change it.

    Attributes:
        notes: What is not as it was asked for: tools that are not strict, schemas that had to be changed.
    """

    def __init__(self, definitions: Iterable[dict[str, Any]] = (), notes: Iterable[Note] = ()) -> None:
        super().__init__(definitions)
        self.notes = tuple(notes)
