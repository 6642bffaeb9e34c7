"""The form of functions and calls in OpenAI's Chat Completions, which other providers use too."""

from __future__ import annotations

from typing import Any

from ..results import ToolCall
from ..spec import Tool
from .base import Note, Offering
from .responses import called, field, has_field, listed, no_response
from .schemas.dialects import OPENAI
from .schemas.rewriting import rewritten
from .schemas.top_level import shown_schema
from .wire_names import Naming

__all__ = ["chat_calls", "chat_function", "parameters_of"]


def parameters_of(tool: Tool, notes: list[Note], *, strict: bool) -> tuple[dict[str, Any], bool]:
    """
    Return the schema of *tool* as it is sent, and whether it is strict.

    A note is added to *notes* if the schema differs from what the caller asked for.
    """
    if strict:
        rewriting = rewritten(tool.schema, OPENAI)
        if not rewriting.obstacles:
            return rewriting.schema, True
        notes.append(Note(tool.name, f"not strict: {rewriting.why_not}"))
    return shown_schema(tool, notes), False


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
        choices = listed(response, "choices", provider)
        message = field(choices[0], "message") if choices else {"tool_calls": []}
    if not has_field(message, "tool_calls", "role"):
        raise no_response(provider, response, "choices")
    return [_call(tool_call, catalog, naming) for tool_call in listed(message, "tool_calls", provider)]


def _call(tool_call: Any, catalog: Offering | None, naming: Naming) -> ToolCall:
    function_key, arguments_key = (
        ("function", "arguments") if field(tool_call, "custom") is None else ("custom", "input")
    )
    function = field(tool_call, function_key)
    return called(
        naming,
        catalog,
        name=field(function, "name"),
        arguments=field(function, arguments_key),
        id=field(tool_call, "id"),
    )
