"""
The format of Ollama's own chat API.

Use `tools=definitions(catalog)`, then `calls(response)`, then `messages += results(...)`.

Ollama's client keeps only the type, the description, the choices and the items of a parameter. The rest of the schema
is written in the description.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from ..spec import Tool
from .base import Definitions, Naming, Note, Offering, WireObject, list_offered_tools
from .openai import chat_calls
from .responses import build_response_error, get_field, has_field
from .result_content import check_results, get_provider_id, media_of, text_of
from .schemas.merging import definition_of, types_of
from .schemas.remarks import add_remarks, prepare_schema

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="Ollama", allows_dots=True)

_KEPT_KEYWORDS = ("type", "items", "description", "enum")
_EXPRESSED_KEYWORDS = ("type", "properties", "required", "$defs", "additionalProperties", "description", "title")
_MAX_VALUE_CHARS = 2000


def definitions(catalog: Offering, session: Session | None = None, *, strict: bool = False) -> Definitions:
    """Return the value for `tools`. Ollama has no strict tools: *strict* changes nothing, and a note says so."""
    notes = [Note("", "Ollama has no strict tools; the schemas are sent as usual")] if strict else []
    tools = list_offered_tools(catalog, session, NAMING, notes)
    return Definitions([_function(tool, notes) for tool in tools], notes)


def calls(response: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """Return the calls in *response*: a `ChatResponse`, its message, or the JSON of either. Most calls have no id."""
    message = get_field(response, "message") if has_field(response, "message") else response
    if not has_field(message, "tool_calls", "role"):
        raise build_response_error("ollama", response, "message")
    return chat_calls(message, catalog, NAMING, "ollama")


def results(results: Sequence[ToolResult]) -> list[WireObject]:
    """
    Return one message for each result, with images next to the text.

    The messages are in the order of the calls, because Ollama matches results to calls by their order.
    """
    messages = []
    for result in check_results(results):
        message: dict[str, Any] = {"role": "tool", "tool_name": NAMING.wire(result.tool), "content": text_of(result)}
        call_id = get_provider_id(result)
        if call_id is not None:
            message["tool_call_id"] = call_id
        pictures = media_of(result)
        if pictures:
            message["images"] = [picture.base64 for picture in pictures]
        messages.append(message)
    return messages


def _function(tool: Tool, notes: list[Note]) -> dict[str, Any]:
    schema = prepare_schema(tool, notes)
    shared = schema.get("$defs", {})
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: _property(property_schema, shared) for name, property_schema in schema.get("properties", {}).items()
        },
        "required": list(schema.get("required", ())),
    }
    if shared:
        parameters["$defs"] = shared
    dropped = {key: value for key, value in schema.items() if key not in _EXPRESSED_KEYWORDS}
    texts = [tool.description, schema.get("description", "")]
    function = add_remarks({"name": NAMING.wire(tool.name), "description": " ".join(filter(None, texts))}, dropped)
    return {"type": "function", "function": {**function, "parameters": parameters}}


def _property(schema: Any, shared: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        return {}
    reduced = {key: schema[key] for key in _KEPT_KEYWORDS if key in schema}
    target = definition_of(schema.get("$ref"), shared)
    dropped = {key: value for key, value in schema.items() if key not in _KEPT_KEYWORDS}
    if isinstance(target, Mapping):
        del dropped["$ref"]
        dropped = {**{key: value for key, value in target.items() if key not in reduced and key != "type"}, **dropped}
    types = types_of(schema, shared)
    if types and "type" not in reduced:
        reduced["type"] = types[0] if len(types) == 1 else types
    return add_remarks(reduced, dropped, max_chars=_MAX_VALUE_CHARS)
