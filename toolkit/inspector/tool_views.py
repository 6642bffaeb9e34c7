"""What a page is told about tools: rows, one tool in full, what decides about a call, and what a search finds."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from ..builtin.tool_search_tool import tool_search_for
from ..catalogs.search.finder import group_of
from ..catalogs.tool_reports import define_tool, describe_facts, tool_to_json
from ..catalogs.views import CatalogView
from ..context import Context
from ..dispatcher import Dispatcher
from ..errors import BadArgs, DefinitionError, ToolkitError, UnknownTool
from ..formats import FORMATS
from ..hooks.shell.shell_hooks import name_hooks_before
from ..policies.audit import encode_line
from ..results import ToolCall
from ..session import Session
from ..spec import Tool
from ..values.text_limits import estimate_tokens

__all__ = ["count_tools", "describe_tool", "explain_call", "list_tools", "search_tools"]

_MAX_FOUND = 100
_MAX_DEFAULT_TOLD = 5


def list_tools(catalog: CatalogView) -> list[dict[str, Any]]:
    """Return a small row for each tool."""
    return [
        {
            "name": tool.name,
            "group": tool.facts.group,
            "origin": tool.origin,
            "facts": describe_facts(tool),
            "description": (tool.description.strip().splitlines() or [""])[0][:300],
        }
        for tool in catalog
    ]


def count_tools(catalog: CatalogView) -> dict[str, Any]:
    """Return how many tools there are, by group and by origin."""
    tools = list(catalog)
    groups, origins = Counter(map(group_of, tools)), Counter(tool.origin for tool in tools)
    return {"tools": len(tools), "groups": dict(groups), "origins": dict(origins)}


def describe_tool(catalog: CatalogView, name: str) -> dict[str, Any]:
    """
    Return all that is known about the tool *name*.

    Raises:
        UnknownTool: No tool has this name.
    """
    tool = catalog.get(name)
    if tool is None:
        raise UnknownTool(name, catalog.names())
    aliases = [alias for alias, own in catalog.table.aliases.items() if own == tool.name]
    about = {"aliases": aliases, "facts": tool.facts.as_json(), "words": describe_facts(tool)}
    try:
        return {
            **_rename(tool_to_json(tool)),
            **about,
            "secrets": sorted(tool.signature.secrets),
            "advice": _give_advice(tool),
            "formats": {format_: _define(catalog, tool.name, format_) for format_ in FORMATS},
        }
    except DefinitionError as error:
        fields = {"name": tool.name, "description": tool.description, "origin": tool.origin}
        return {**fields, **about, "problem": str(error)}


def _rename(data: dict[str, Any]) -> dict[str, Any]:
    """Return a definition with the names of the page: the schemas of the arguments and of the result."""
    schemas = {"schema": data.get("input_schema"), "output_schema": data.get("output_schema")}
    return {**{key: value for key, value in data.items() if not key.endswith("_schema")}, **schemas}


def _give_advice(tool: Tool) -> list[dict[str, Any]]:
    from ..testing.laws.lints import lint  # it takes long to load

    return [violation.to_json() for violation in lint([tool])]


def _define(catalog: CatalogView, name: str, format_: str) -> dict[str, Any]:
    """Return what the provider of *format_* gets, or why it cannot get the tool."""
    try:
        definitions = define_tool(catalog, name, format_)
    except ToolkitError as error:
        return {"error": str(error)}
    definition = definitions[0]
    tokens = estimate_tokens(len(encode_line({"": definition}).encode()))
    return {"definition": definition, "tokens": tokens, "notes": [str(note) for note in definitions.notes]}


async def explain_call(dispatcher: Dispatcher, name: str, arguments: Any, session: Session) -> dict[str, Any]:
    """
    Return which rule, check, fact or mode decides about a call, or what is wrong with its arguments.

    Raises:
        UnknownTool: No tool has this name.
    """
    try:
        verdict = await dispatcher.explain(name, arguments, session=session)
    except BadArgs as error:
        problems = [{"message": problem.message, "path": list(problem.path)} for problem in error.problems]
        return {"problems": problems, "error": str(error)}
    plan = dispatcher.find_plan(name)
    data = asdict(verdict)
    if plan is not None:
        hooks = name_hooks_before(dispatcher.settings.chain.hooks, plan.tool)
        notes = [f"hooks are not run here; {hook} may still deny or change the call" for hook in hooks]
        data = plan.redaction(arguments).mask_value({**data, "warnings": [*data["warnings"], *notes]})
    return {"verdict": data}


def search_tools(catalog: CatalogView, query: str, limit: int, group: str | None) -> dict[str, Any]:
    """Return what a search finds, with scores and matching words, and what `tool_search` tells a model."""
    results = catalog.search(query, min(limit, _MAX_FOUND), group=group)
    rows = [
        {
            "name": result.tool.name,
            "score": round(result.score, 4),
            "words": list(result.words),
            "description": (result.tool.description.strip().splitlines() or [""])[0],
        }
        for result in results
    ]
    search: Any = tool_search_for(catalog)
    context = Context(facts=search.facts, call=ToolCall("tool_search", session=Session()))
    told = search.function(query, limit=_MAX_DEFAULT_TOLD, group=group or "", context=context)
    return {"results": rows, "advice": results.advice, "told": told}
