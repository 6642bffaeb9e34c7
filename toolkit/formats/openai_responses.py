"""
The format of OpenAI's Responses API.

Use `tools=definitions(catalog)`, then `calls(response)`, then `input += results(...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from ..spec import Tool
from .base import (
    SEARCH_TOOL_NAME,
    Definitions,
    Naming,
    Note,
    Offering,
    WireObject,
    check_offering,
    list_all_tools,
    list_offered_tools,
)
from .call_ids import sent_id
from .media import IMAGE_FORMATS, ResultMedia
from .openai import parameters_of
from .responses import build_call, build_response_error, get_field, get_list, has_field
from .result_content import check_results, describe_further_findings, get_found_names, media_of, text_of

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="OpenAI")

MEDIA_FORMATS = IMAGE_FORMATS | {"pdf"}


def definitions(
    catalog: Offering,
    session: Session | None = None,
    *,
    strict: bool = False,
    native_loading: bool = False,
    undeferred: Sequence[str] = (),
) -> Definitions:
    """
    Return the value for `tools`.

    Args:
        catalog: The tools to describe.
        session: The session whose loaded tools are described as well.
        strict: The same as for `openai`.
        native_loading: Whether deferred tools are loaded in the provider's own way. If our `tool_search` is in the
            catalog, it searches, and its result describes the tools that it finds (pass the same value, and the
            catalog, to `results`). Otherwise the deferred tools are sent too, and the provider searches.
        undeferred: With *native_loading*, the deferred tools that are described at once, because nothing in the
            conversation describes them.
    """
    notes: list[Note] = []
    if native_loading:
        tools = list_all_tools(catalog, NAMING, notes, undeferred)
    else:
        tools = list_offered_tools(catalog, session, NAMING, notes)
    if not native_loading or not any(tool.facts.defer for tool in tools):
        return Definitions([_function(tool, notes, strict=strict) for tool in tools], notes)
    hidden = {tool.name for tool in tools if tool.facts.defer and tool.name not in undeferred}
    ours = next((tool for tool in tools if tool.name == SEARCH_TOOL_NAME), None)
    if ours is not None:
        shown = [tool for tool in tools if tool.name not in hidden and tool is not ours]
        entries = [_function(tool, notes, strict=strict) for tool in shown]
        search_options = {"execution": "client", "description": ours.description, "parameters": ours.schema}
        return Definitions([*entries, {"type": "tool_search", **search_options}], notes)
    entries = [_function(tool, notes, strict=strict, deferred=tool.name in hidden) for tool in tools]
    return Definitions([*entries, {"type": "tool_search"}], notes)


def calls(response: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """
    Return the calls in *response*, a `Response` or its JSON, in order.

    Arguments stay JSON text. With *catalog*, names are resolved exactly. If the text has nulls that strict mode forced,
    it is parsed and these nulls are removed.
    """
    if not has_field(response, "output"):
        raise build_response_error("openai", response, "output")
    return [call for item in get_list(response, "output", "openai") if (call := _call(item, catalog)) is not None]


def results(
    results: Sequence[ToolResult],
    catalog: Offering | None = None,
    *,
    strict: bool = False,
    native_loading: bool = False,
) -> list[WireObject]:
    """
    Return one item for each result, with images and PDF documents next to the text.

    With *native_loading*, the tools that our `tool_search` found in *catalog* are described as the provider wants it,
    and what it answered besides is a message after all results.
    """
    if catalog is not None:
        check_offering(catalog)
    items: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []
    for result in check_results(results):
        call_id = sent_id(result.call_id)
        if not native_loading or result.tool != SEARCH_TOOL_NAME:
            items.append({"type": "function_call_output", "call_id": call_id, "output": _output(result)})
            continue
        names = () if catalog is None else get_found_names(result) or ()
        tools = [NAMING.find_sent(name, catalog) for name in names]
        loaded = [_function(tool, [], strict=strict, deferred=True) for tool in tools if tool is not None]
        answer = {"type": "tool_search_output", "call_id": call_id, "execution": "client", "status": "completed"}
        items.append({**answer, "tools": loaded})
        if text := describe_further_findings(result):
            messages.append({"role": "user", "content": [{"type": "input_text", "text": text}]})
    return [*items, *messages]


def _function(tool: Tool, notes: list[Note], *, strict: bool, deferred: bool = False) -> dict[str, Any]:
    parameters, is_strict = parameters_of(tool, notes, strict=strict)
    function: dict[str, Any] = {
        "type": "function",
        "name": NAMING.wire(tool.name),
        "description": tool.description,
        "parameters": parameters,
        # `strict` is always sent: without it, the provider tries to make the function strict by itself.
        "strict": is_strict,
    }
    if deferred:
        function["defer_loading"] = True
    return function


def _call(item: Any, catalog: Offering | None) -> ToolCall | None:
    kind = get_field(item, "type")
    if kind == "tool_search_call" and get_field(item, "execution") == "client":
        name, arguments = SEARCH_TOOL_NAME, get_field(item, "arguments")
    elif kind == "function_call":
        name, arguments = _qualify_name(item), get_field(item, "arguments")
    elif kind == "custom_tool_call":
        name, arguments = _qualify_name(item), get_field(item, "input")
    else:
        return None
    return build_call(NAMING, catalog, name, arguments, get_field(item, "call_id"))


def _qualify_name(item: Any) -> Any:
    """
    Return the name of the called tool with its namespace.

    A tool that was loaded alone has a namespace with its own name. This namespace has no meaning, so it is left out.
    """
    name, namespace = get_field(item, "name"), get_field(item, "namespace")
    if not isinstance(name, str) or not isinstance(namespace, str) or namespace in ("", name):
        return name
    return NAMING.wire(f"{namespace}.{name}")


def _output(result: ToolResult) -> str | list[dict[str, Any]]:
    text, media = text_of(result, MEDIA_FORMATS), media_of(result, MEDIA_FORMATS)
    return [{"type": "input_text", "text": text}, *map(build_media_item, media)] if media else text


def build_media_item(media: ResultMedia) -> dict[str, Any]:
    if media.kind == "document":
        return {"type": "input_file", "filename": f"document.{media.name}", "file_data": media.url}
    return {"type": "input_image", "image_url": media.url}
