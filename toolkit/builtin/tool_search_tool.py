"""
`tool_search`: the way from a few words to a tool that was not in the prompt.

What it finds is loaded into the session, so that the next definitions have it,
after all others. Only what the session's rules and mode could ever allow is found.
"""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from ..catalogs.search import Ranker
from ..catalogs.search.finder import cleaned_description, group_of, is_foreign
from ..catalogs.views import CatalogView
from ..context import Context
from ..decorator import tool
from ..errors import BadArgs, DefinitionError, UnknownTool
from ..session import Session
from ..spec import Tool
from ..values.codecs import Schema

__all__ = ["tool_search_for"]

_SELECT = "select:"
_MOST = 50
_MOST_HINTS = 3


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
    note: NotRequired[str]


def tool_search_for(catalog: CatalogView, *, ranker: Ranker | None = None) -> Tool:
    """
    The tool that finds the deferred tools of *catalog*: `catalog.add(tool_search_for(catalog))`.

    *ranker* is your own, see `catalog.search`.
    """

    @tool(
        catalog=None,
        read_only=True,
        concurrency_safe=False,  # what is found first is loaded first
        group="search",
        search_hint="find discover load more tools by what they do",
        summary=lambda arguments: arguments["query"],
    )
    def tool_search(query: str, *, limit: int = 5, group: str | None = None, context: Context) -> Answer:
        """Find further tools, which you can call from then on.

        Not every tool is in your list. Say in a few words what you want to do; the answer has the names,
        descriptions and argument schemas of the tools that fit.

        Args:
            query: What the tool should do ("send an email"), or `select:name,name` for tools whose names you know.
            limit: How many at most, up to 50.
            group: Look only among the tools of this group.
        """
        if not 1 <= limit <= _MOST:
            raise BadArgs(f"limit: expected 1 to {_MOST}, got {limit}")
        permitted: CatalogView = context.permissions.permitted(catalog)
        view = permitted.filtered(lambda each: each.function is not tool_search)
        if query.strip().startswith(_SELECT):
            tools, note = _selected(view, query.strip().removeprefix(_SELECT))
        else:
            findings = view.search(query, limit, group=group, ranker=ranker)
            tools, note = findings.tools, findings.advice
        tools, broken = _described(tools)
        loaded = _loaded(tools, context.session)
        note = "; ".join(filter(None, (note, broken)))
        answer = Answer(tools=[_shown(each, each.name in loaded) for each in tools])
        if note:
            answer["note"] = note
        return answer

    return Tool.of(tool_search)


def _selected(view: CatalogView, names: str) -> tuple[list[Tool], str]:
    """The tools that are named, and what to do about names that nobody has."""
    found: dict[str, Tool] = {}
    missing: list[str] = []
    for name in [name.strip() for name in names.split(",") if name.strip()][:_MOST]:
        tool = view.get(name)
        if tool is None:
            # What is near is looked for among all names, which takes its time.
            missing.append(str(UnknownTool(name, view.names() if len(missing) < _MOST_HINTS else ())))
        else:
            found[tool.name] = tool
    if not found and not missing:
        missing.append(f"`{_SELECT}` is followed by names: `{_SELECT}read,write`")
    return list(found.values()), "; ".join(missing)


def _described(tools: list[Tool]) -> tuple[list[Tool], str]:
    """The tools whose schema is there, and which ones have none: loaded, these would end every conversation."""
    whole, broken = [], []
    for each in tools:
        try:
            _ = each.schema
        except DefinitionError:
            broken.append(f"`{each.name}` cannot be called: its author has to mend it")
        else:
            whole.append(each)
    return whole, "; ".join(broken)


def _loaded(tools: list[Tool], session: Session | None) -> set[str]:
    """Load what is deferred; the names of what the model has been told of already."""
    known = {tool.name for tool in tools if not tool.facts.defer}
    if session is not None:
        known |= set(session.loaded)
        session.load(*(tool.name for tool in tools if tool.name not in known))
    return known


def _shown(tool: Tool, is_known: bool) -> FoundTool:
    shown = FoundTool(name=tool.name, description=cleaned_description(tool))
    if tool.facts.group:
        shown["group"] = group_of(tool)
    if is_foreign(tool):
        shown["origin"] = tool.origin
    if is_known:
        shown["already_loaded"] = True
    else:
        shown["input_schema"] = tool.schema
    return shown
