"""
The `tool_search` tool, with which a model finds tools that are not in its prompt.

The tool loads the tools that it finds into the session. The next definitions then contain them, after all others. It
finds only tools that the rules and the mode of the session could ever allow.
"""

from __future__ import annotations

import logging
from typing import NotRequired

from typing_extensions import TypedDict

from ..catalogs.search import Ranker
from ..catalogs.search.embeddings import EmbeddingRanker
from ..catalogs.search.finder import SearchResults, clean_description, group_of, is_imported, shorten_description
from ..catalogs.summaries import describe_fitting_tools
from ..catalogs.tool_reports import is_resolved
from ..catalogs.views import CatalogView
from ..context import Context
from ..decorator import tool
from ..errors import BadArgs, UnknownTool
from ..session import Session
from ..spec import Tool
from ..values.codecs.base import Schema

__all__ = ["tool_search_for"]

_log = logging.getLogger("toolkit")

_SELECT = "select:"
_MAX_TOOLS = 50
_MAX_FURTHER = 15
_MAX_SUGGESTIONS = 3


class FoundTool(TypedDict):
    """One tool, as a model needs it to call it."""

    name: str
    description: str
    input_schema: NotRequired[Schema]
    group: NotRequired[str]
    origin: NotRequired[str]
    already_loaded: NotRequired[bool]


class Answer(TypedDict):
    """What was found, and what to do if that is nothing."""

    tools: list[FoundTool]
    further: NotRequired[dict[str, str]]
    note: NotRequired[str]


def tool_search_for(catalog: CatalogView, *, ranker: Ranker | EmbeddingRanker | None = None) -> Tool:
    """
    Return the tool that finds the deferred tools of *catalog*: `catalog.add(tool_search_for(catalog))`.

    Args:
        ranker: The caller's own ranker; see `catalog.search`. If it raises, the words alone count.
    """

    @tool(
        catalog=None,
        read_only=True,
        concurrency_safe=False,  # tools are loaded in the order in which they are found
        group="search",
        search_hint="find discover load more tools by what they do",
        summary=lambda arguments: arguments["query"],
    )
    # Every word costs tokens in each request of an agent with deferred tools.
    def tool_search(query: str, *, limit: int = 5, group: str = "", context: Context) -> Answer:
        """Find and load tools that are not in your list.

        Args:
            query: Task, or `select:name,name`.
            limit: Up to 50.
            group: Search only in it.
        """
        if not 1 <= limit <= _MAX_TOOLS:
            raise BadArgs(f"limit: expected 1 to {_MAX_TOOLS}, got {limit}")
        permitted: CatalogView = context.permissions.permitted(catalog)
        view = permitted.filtered(lambda candidate: candidate.function is not tool_search)
        further: list[Tool] = []
        if query.strip().startswith(_SELECT):
            tools, note = _select_by_name(view, query.strip().removeprefix(_SELECT))
        else:
            request = None if context.session is None else context.session.last_prompt
            findings = _search(view, query, limit + _MAX_FURTHER, group or None, ranker, request)
            tools, further, note = findings.tools[:limit], findings.tools[limit:], findings.advice
        tools, broken = _separate_broken(tools)
        known_names = _load_tools(tools, context.session)
        note = "; ".join(filter(None, (note, broken)))
        answer = Answer(tools=[_describe_tool(candidate, candidate.name in known_names) for candidate in tools])
        if further:
            answer["further"] = {candidate.name: shorten_description(candidate) for candidate in further}
        if note:
            answer["note"] = note
        return answer

    return Tool.of(tool_search)


def _search(
    view: CatalogView,
    query: str,
    count: int,
    group: str | None,
    ranker: Ranker | EmbeddingRanker | None,
    request: str | None,
) -> SearchResults:
    """Search with *ranker*. If it raises, that is logged, and the words alone count: a model cannot mend a ranker."""
    try:
        return view.search(query, count, group=group, ranker=ranker, request=request)
    except Exception:
        if ranker is None:
            raise
        _log.warning("the ranker of `tool_search` failed, and the words alone count", exc_info=True)
        return view.search(query, count, group=group, request=request)


def _select_by_name(view: CatalogView, names: str) -> tuple[list[Tool], str]:
    """Return the tools that *names* lists, and a note on the names that no tool has."""
    selected: dict[str, Tool] = {}
    missing: list[str] = []
    for name in [name.strip() for name in names.split(",") if name.strip()][:_MAX_TOOLS]:
        tool = view.get(name)
        if tool is None:
            # The suggestions compare a name with all names, which is slow, so only the first few missing names get
            # them.
            if len(missing) < _MAX_SUGGESTIONS:
                fitting = describe_fitting_tools(view.search(name, _MAX_SUGGESTIONS))
                missing.append(f"{UnknownTool(name, view.names())}{fitting}")
            else:
                missing.append(str(UnknownTool(name)))
        else:
            selected[tool.name] = tool
    if not selected and not missing:
        missing.append(f"`{_SELECT}` is followed by names: `{_SELECT}read,write`")
    return list(selected.values()), "; ".join(missing)


def _separate_broken(tools: list[Tool]) -> tuple[list[Tool], str]:
    """Return the tools whose schema can be built, and a note on the others, which would end every conversation."""
    broken = [candidate.name for candidate in tools if not is_resolved(candidate)]
    note = "; ".join(f"`{name}` cannot be called: its author has to mend it" for name in broken)
    return [candidate for candidate in tools if candidate.name not in broken], note


def _load_tools(tools: list[Tool], session: Session | None) -> set[str]:
    """Load the deferred tools among *tools*, and return the names of the tools that the model knew before."""
    known_names = {tool.name for tool in tools if not tool.facts.defer}
    if session is not None:
        known_names |= set(session.loaded)
        session.load(*(tool.name for tool in tools if tool.name not in known_names))
    return known_names


def _describe_tool(tool: Tool, is_known: bool) -> FoundTool:
    entry = FoundTool(name=tool.name, description=clean_description(tool))
    if tool.facts.group:
        entry["group"] = group_of(tool)
    if is_imported(tool):
        entry["origin"] = tool.origin
    if is_known:
        entry["already_loaded"] = True
    else:
        entry["input_schema"] = tool.schema
    return entry
