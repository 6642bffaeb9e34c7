"""The tools that are sent, in their order, after a check of their names."""

from __future__ import annotations

from types import NoneType

from .._option_checks import Kinds, check_kinds
from ..session import Session
from ..spec import Tool
from .base import Offering, check_offering
from .wire_names import Naming

__all__ = ["SEARCH", "all_tools", "offered"]

SEARCH = "tool_search"
"""The name of our own tool that finds deferred tools."""


_KINDS: Kinds = {"session": ((Session, NoneType), "Session(), or None")}


def offered(catalog: Offering, session: Session | None, naming: Naming) -> list[Tool]:
    """
    Return the tools that are not deferred, then those that *session* has loaded.

    `CatalogError` is raised if the names of any two tools in the catalog clash, even if they are not sent.
    """
    check_offering(catalog)
    check_kinds({"session": session}, _KINDS)
    naming.check(catalog)
    return catalog.offered(session)


def all_tools(catalog: Offering, naming: Naming) -> list[Tool]:
    """Return every tool, the deferred tools last, for a provider that keeps them out of the prompt itself."""
    check_offering(catalog)
    naming.check(catalog)
    return sorted(catalog, key=lambda tool: tool.facts.defer)
