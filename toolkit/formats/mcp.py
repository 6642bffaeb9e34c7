"""The Model Context Protocol from the side of a server: it lists tools, reads a call, and returns results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..content import ResourcePart
from ..results import ToolCall, ToolResult
from ..session import Session
from ..spec import Tool
from ..values.part_texts import describe_resource, render_part
from ..values.schemas.vocabulary import map_subschemas
from .base import Definitions, Naming, Note, Offering, WireObject, list_offered_tools
from .mcp_content import build_block, read_content
from .responses import build_call, build_response_error, get_field, has_field
from .result_content import check_results, text_of
from .schemas.merging import types_of

__all__ = ["calls", "definitions", "read_content", "results"]

NAMING = Naming(provider="MCP", allows_dots=True, max_chars=128)

_WRAPPER_KEY = "result"


def definitions(catalog: Offering, session: Session | None = None, *, strict: bool = False) -> Definitions:
    """
    Return the `tools` of a `tools/list` result.

    MCP has no strict tools: *strict* changes nothing, and a note says so.
    """
    notes = [Note("", "MCP has no strict tools; the schemas are sent as usual")] if strict else []
    return Definitions([_tool(tool) for tool in list_offered_tools(catalog, session, NAMING)], notes)


def calls(request: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """
    Return the one call in *request*: a `CallToolRequest`, its `params`, or the JSON of either.

    The list always has exactly one call.
    """
    params = get_field(request, "params") if has_field(request, "params") else request
    if not has_field(params, "name"):
        raise build_response_error("mcp", request, "name")
    number = None if params is request else get_field(request, "id")
    return [
        build_call(NAMING, catalog, name=get_field(params, "name"), arguments=get_field(params, "arguments"), id=number)
    ]


def results(results: Sequence[ToolResult]) -> list[WireObject]:
    """
    Return a `CallToolResult` for each result, in the same order.

    Values are sent as `structuredContent`. A value that is not an object is wrapped in one. Images, sound, resources
    and files follow the text as blocks of their own.
    """
    return [_answer(result) for result in check_results(results)]


def _tool(tool: Tool) -> dict[str, Any]:
    facts = tool.facts
    definition: dict[str, Any] = {"name": tool.name, "description": tool.description, "inputSchema": tool.schema}
    if tool.output_schema is not None:
        definition["outputSchema"] = _wrap_output_schema(tool.output_schema)
    definition["annotations"] = {
        "readOnlyHint": facts.read_only,
        "destructiveHint": facts.destructive,
        "idempotentHint": facts.idempotent,
        "openWorldHint": facts.open_world,
    }
    return definition


def _wrap_output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of `structuredContent`, which has to be an object for clients before 2026."""
    definitions = schema.get("$defs", {})
    types = types_of(schema, definitions)
    if types == ["object"]:
        return {**schema, "type": "object"}
    if not types or "object" in types:
        return {"type": "object"}  # the value may or may not be wrapped: no more can be promised
    moved = _move_references(schema)
    # A schema with an address of its own is the root of its references wherever it stands.
    definitions = moved.pop("$defs", {}) if "$id" not in moved else {}
    wrapper: dict[str, Any] = {"type": "object", "properties": {_WRAPPER_KEY: moved}, "required": [_WRAPPER_KEY]}
    return {**wrapper, "$defs": definitions} if definitions else wrapper


def _move_references(schema: Any) -> Any:
    """Return *schema*, whose `$defs` move to the root of the wrapper and the rest to its place there."""
    if not isinstance(schema, Mapping):
        return schema
    if "$id" in schema:
        return dict(schema)
    moved = map_subschemas(schema, _move_references)
    reference = moved.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        is_definition = reference.startswith("#/$defs/")
        moved["$ref"] = reference if is_definition else f"#/properties/{_WRAPPER_KEY}{reference[1:]}"
    return moved


def _answer(result: ToolResult) -> dict[str, Any]:
    blocks = [block for part in result.parts if (block := build_block(part)) is not None]
    content: list[dict[str, Any]] = [{"type": "text", "text": _text(result)}, *blocks]
    answer: dict[str, Any] = {"content": content, "isError": result.is_error}
    value = result.value
    if result.kind == "ok" and not (value is None and result.parts):
        answer["structuredContent"] = value if isinstance(value, dict) else {_WRAPPER_KEY: value}
    return answer


def _text(result: ToolResult) -> str:
    """Return the text of *result* without the texts of its resources, which are blocks of their own."""
    text = text_of(result, None)
    for part in result.parts:
        if isinstance(part, ResourcePart) and isinstance(part.content, str):
            text = text.replace(render_part(part), describe_resource(part), 1)
    return text
