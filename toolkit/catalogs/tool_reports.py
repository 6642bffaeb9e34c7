"""One tool as people look at it: its facts in words, its description as JSON, and what a provider gets of it."""

from __future__ import annotations

from typing import Any

from .._plumbing.wording import format_dollars
from ..errors import DefinitionError
from ..formats import Definitions, definitions_for
from ..session import Session
from ..spec import Tool
from .snapshot import describe_place
from .views import CatalogView

__all__ = ["define_tool", "describe_facts", "is_resolved", "tool_to_json"]


def describe_facts(tool: Tool) -> str:
    """Return in words the facts about *tool* that matter to its caller; "writes" if it states no effect."""
    facts = tool.facts
    is_trusted = (facts.metadata or {}).get("mcp", {}).get("trusted") is not False
    effects = {
        "not trusted": not is_trusted,
        "read-only": facts.read_only,
        "destructive": facts.destructive and is_trusted,
        "open world": facts.open_world and is_trusted,
        "deferred": facts.defer,
        "asks": facts.approval != "never",
    }
    cost = facts.cost or 0.0
    amount = "by its arguments" if callable(cost) else format_dollars(float(cost))
    manners = {
        "background": facts.background,
        "streaming": facts.streaming,
        f"costs {amount}": facts.cost is not None,
    }
    stated = [word for word, holds in effects.items() if holds] or ["writes"]
    return ", ".join([*stated, *(word for word, holds in manners.items() if holds)])


def is_resolved(tool: Tool) -> bool:
    """Return whether every name in the annotations of *tool* is defined, so that it has a schema."""
    try:
        _ = tool.signature
    except DefinitionError:
        return False
    return True


def tool_to_json(tool: Tool) -> dict[str, Any]:
    """Return *tool* as plain JSON: its definition, its examples, its origin and its place in the source code."""
    return {
        **tool.definition,
        "examples": [dict(example) for example in tool.facts.examples],
        "origin": tool.origin,
        "place": describe_place(tool),
    }


def define_tool(catalog: CatalogView, name: str, format_: str, *, strict: bool = False) -> Definitions:
    """Return the definition of the tool *name* that the provider of *format_* gets, even if the tool is deferred."""
    tool = catalog[name]
    session = Session()
    session.load(tool.name)
    return definitions_for(format_, catalog.filtered(lambda candidate: candidate is tool), session, strict=strict)
