"""The form of functions and calls in OpenAI's Chat Completions, which other providers use too."""

from __future__ import annotations

from typing import Any

from ..results import ToolCall
from ..spec import Tool
from .base import Naming, Note, Offering
from .responses import build_call, build_response_error, get_field, get_list, has_field
from .schemas.dialects import OPENAI
from .schemas.remarks import prepare_schema
from .schemas.rewriting import rewrite_schema

__all__ = ["chat_calls", "chat_function", "parameters_of"]


def parameters_of(tool: Tool, notes: list[Note], *, strict: bool) -> tuple[dict[str, Any], bool]:
    """
    Return the schema of *tool* as it is sent, and whether it is strict.

    A note is added to *notes* if the schema differs from what the caller asked for.
    """
    if strict:
        rewriting = rewrite_schema(tool.schema, OPENAI)
        if not rewriting.obstacles:
            return rewriting.schema, True
        notes.append(Note(tool.name, f"not strict: {rewriting.why_not}"))
    return prepare_schema(tool, notes), False


def chat_function(tool: Tool, naming: Naming, notes: list[Note], *, strict: bool) -> dict[str, Any]:
    """Return *tool* as a function of Chat Completions."""
    parameters, is_strict = parameters_of(tool, notes, strict=strict)
    function: dict[str, Any] = {
        "name": naming.wire(tool.name),
        "description": tool.description,
        "parameters": parameters,
    }
    if is_strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def chat_calls(response: Any, catalog: Offering | None, naming: Naming, provider: str) -> list[ToolCall]:
    """Return the calls of the first choice in *response*, or of *response* itself if it is a message."""
    message = response
    if has_field(response, "choices"):
        choices = get_list(response, "choices", provider)
        message = get_field(choices[0], "message") if choices else {"tool_calls": []}
    if not has_field(message, "tool_calls", "role"):
        raise build_response_error(provider, response, "choices")
    return [_call(tool_call, catalog, naming) for tool_call in get_list(message, "tool_calls", provider)]


def _call(tool_call: Any, catalog: Offering | None, naming: Naming) -> ToolCall:
    function_key, arguments_key = (
        ("function", "arguments") if get_field(tool_call, "custom") is None else ("custom", "input")
    )
    function = get_field(tool_call, function_key)
    return build_call(
        naming,
        catalog,
        name=get_field(function, "name"),
        arguments=get_field(function, arguments_key),
        id=get_field(tool_call, "id"),
    )
