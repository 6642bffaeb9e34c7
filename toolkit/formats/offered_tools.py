"""
Which tools are sent, in which order, checked for their names.
"""

from __future__ import annotations

from types import NoneType

from .._option_checks import Kinds, check_kinds
from ..session import Session
from ..spec import Tool
from .base import Offering, check_offering
from .wire_names import Naming

__all__ = ["SEARCH", "all_tools", "offered"]

SEARCH = "tool_search"
"""What our own tool that finds deferred ones is called."""


_KINDS: Kinds = {"session": ((Session, NoneType), "Session(), or None")}


def offered(catalog: Offering, session: Session | None, naming: Naming) -> list[Tool]:
    """The tools that are not deferred, then those that were loaded; a clash of any two in the catalog is refused."""
    check_offering(catalog)
    check_kinds({"session": session}, _KINDS)
    naming.check(catalog)
    return catalog.offered(session)


def all_tools(catalog: Offering, naming: Naming) -> list[Tool]:
    """Every tool, the deferred ones last: for a provider that keeps them out of the prompt itself."""
    check_offering(catalog)
    naming.check(catalog)
    return sorted(catalog, key=lambda tool: tool.facts.defer)
