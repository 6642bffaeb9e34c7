"""
Functions as prompts: `prompts/list` and `prompts/get` for a catalog of functions that return text or parts.

A prompt is a call like any other: its arguments are checked, the rules of the dispatcher hold, and it may ask the user
with `context.ask`. Each part of its result is a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp_types import INVALID_PARAMS, CallToolRequestParams, GetPromptRequestParams

from ...catalogs.views import CatalogView
from ...content import JsonPart, Part, TextPart
from ...formats.mcp_content import build_block
from ...results import ToolResult
from ...spec import Tool
from ...values.rendering import as_text
from ...values.strictjson.checks import loads
from .calling import ToolCaller

__all__ = ["PromptCaller", "describe_functions", "read_texts", "refuse_error"]


class PromptCaller(ToolCaller):
    """Answers `prompts/get` requests with the functions of a dispatcher, as `ToolCaller` answers `tools/call`."""

    def finds(self, name: str) -> bool:
        """Return whether there is a function *name*."""
        return self._dispatcher.find_plan(name) is not None

    async def get(self, context: ServerRequestContext[Any, Any], params: GetPromptRequestParams) -> dict[str, Any]:
        """
        Return the messages of the prompt, or the question that it asks first.

        Raises:
            MCPError: The arguments do not fit, or the function failed.
        """
        plan = self._dispatcher.find_plan(params.name)
        arguments = {} if plan is None else read_texts(plan.tool, params.arguments or {})
        call = CallToolRequestParams(
            name=params.name,
            arguments=arguments,
            input_responses=params.input_responses,
            request_state=params.request_state,
        )
        return refuse_error(await self.call(context, call))

    def _answer(self, name: str, result: ToolResult) -> dict[str, Any]:
        if result.is_error:
            return super()._answer(name, result)
        plan = self._dispatcher.find_plan(name)
        parts = result.parts or (TextPart(result.text),)
        return {
            "resultType": "complete",
            "description": "" if plan is None else plan.tool.description,
            "messages": [{"role": "user", "content": _build_content(part)} for part in parts],
        }


def _build_content(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case JsonPart(value=value):
            return {"type": "text", "text": as_text(value)}
        case _:
            block = build_block(part)
            return {"type": "text", "text": ""} if block is None else block


def refuse_error(answer: dict[str, Any]) -> dict[str, Any]:
    """
    Return *answer*, the answer to a request whose result has no place for an error.

    Raises:
        MCPError: *answer* is that of a call that failed.
    """
    if answer.get("isError"):
        raise MCPError(INVALID_PARAMS, "\n".join(block.get("text", "") for block in answer["content"]))
    return answer


def describe_functions(catalog: CatalogView) -> list[dict[str, Any]]:
    """Return the functions of *catalog* as `prompts/list` shows them."""
    return [
        {"name": tool.name, "description": tool.description, "arguments": _describe_arguments(tool)} for tool in catalog
    ]


def _describe_arguments(tool: Tool) -> list[dict[str, Any]]:
    required = tool.schema.get("required", ())
    return [
        {"name": name, "description": schema.get("description", ""), "required": name in required}
        for name, schema in tool.schema.get("properties", {}).items()
    ]


def read_texts(tool: Tool, texts: Mapping[str, str]) -> dict[str, Any]:
    """
    Return the arguments that *texts* state. The protocol sends each argument of a prompt as text.

    A text for a parameter that takes no text is read as JSON. The check of the arguments says what is wrong with it.
    """
    properties: Mapping[str, Any] = tool.schema.get("properties", {})
    return {name: _read_text(properties.get(name), text) for name, text in texts.items()}


def _read_text(schema: Mapping[str, Any] | None, text: str) -> Any:
    if (
        schema is None
        or schema.get("type") == "string"
        or all(isinstance(item, str) for item in schema.get("enum", ""))
    ):
        return text

    try:
        return loads(text)
    except ValueError:
        return text


def _has_texts(choices: Sequence[Any]) -> bool:
    return bool(choices) and all(isinstance(choice, str) for choice in choices)
