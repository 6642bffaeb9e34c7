"""The tools that are sent, in their order, after a check of their names."""

from __future__ import annotations

from types import NoneType

from .._option_checks import OptionTypes, check_option_types
from ..session import Session
from ..spec import Tool
from .base import Offering, check_offering
from .wire_names import Naming

__all__ = ["SEARCH_TOOL_NAME", "list_all_tools", "list_offered_tools"]

SEARCH_TOOL_NAME = "tool_search"
"""The name of our own tool that finds deferred tools."""


_KINDS: OptionTypes = {"session": ((Session, NoneType), "Session(), or None")}


def list_offered_tools(catalog: Offering, session: Session | None, naming: Naming) -> list[Tool]:
    """
    Return the tools that are not deferred, then those that *session* has loaded.

    `CatalogError` is raised if the names of any two tools in the catalog clash, even if they are not sent.
    """
    check_offering(catalog)
    check_option_types({"session": session}, _KINDS)
    naming.check(catalog)
    return catalog.offered(session)


def list_all_tools(catalog: Offering, naming: Naming) -> list[Tool]:
    """Return every tool, the deferred tools last, for a provider that keeps them out of the prompt itself."""
    check_offering(catalog)
    naming.check(catalog)
    return sorted(catalog, key=lambda tool: tool.facts.defer)
