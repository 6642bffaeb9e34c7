"""
Prompts: `prompts/list`, `prompts/get`, and the completion of arguments.

The skills among the tools are prompts, and so are the functions of a catalog of their own. A function that is a prompt
is a call like any other: its arguments are checked, the rules of the dispatcher hold, and it may ask the user with
`context.ask`. Each part of its result is a message.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcp import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    GetPromptRequestParams,
    ReadResourceRequestParams,
)

from ...catalogs.views import CatalogView
from ...content import Part, TextPart
from ...errors import BadArgs, ToolError
from ...formats.mcp import build_block
from ...formats.schemas.merging import definition_of, types_of
from ...results import ToolResult
from ...skills.prompts import prompt_of
from ...skills.records import skill_of
from ...spec import Tool
from ...values.part_texts import render_part
from ...values.strictjson.checks import loads
from .calling import ToolCaller
from .conversations import RequestContext

__all__ = [
    "FunctionCaller",
    "PromptCaller",
    "build_completion",
    "build_prompt",
    "describe_prompt",
    "find_skill",
    "list_skills",
]

_MAX_VALUES = 100
"""The protocol allows no more completions."""


def list_skills(catalog: CatalogView) -> list[Tool]:
    return [tool for tool in catalog if skill_of(tool) is not None]


def find_skill(catalog: CatalogView, name: str) -> Tool | None:
    tool = catalog.get(name)
    return None if tool is None or skill_of(tool) is None else tool


def describe_prompt(tool: Tool) -> dict[str, Any]:
    """Return *tool*, a skill or a function, as `prompts/list` shows it."""
    required = tool.schema.get("required", ())
    arguments = [
        {"name": name, "description": schema.get("description", ""), "required": name in required}
        for name, schema in tool.schema.get("properties", {}).items()
    ]
    return {"name": tool.name, "description": tool.description, "arguments": arguments}


def build_prompt(
    catalog: CatalogView, name: str, texts: Mapping[str, str] | None, *, other_names: Sequence[str] = ()
) -> dict[str, Any]:
    """
    Return the result of `prompts/get` for a skill; raise `MCPError` if there is none, or if *texts* do not fit it.

    The error about an unknown prompt names the skills, and the prompts with *other_names*.
    """
    tool = find_skill(catalog, name)
    skill = None if tool is None else skill_of(tool)
    if tool is None or skill is None:
        names = [*other_names, *(tool.name for tool in list_skills(catalog))]
        raise MCPError(INVALID_PARAMS, f"unknown prompt {name[:64]!r}; there are {', '.join(names) or 'none'}")
    try:
        text = prompt_of(skill, tool.check(_read_texts(tool, texts or {})))
    except (BadArgs, ToolError) as error:
        raise MCPError(INVALID_PARAMS, f"prompt `{name}`: {error}") from error
    return _build_messages(skill.description, [TextPart(text)])


def _build_messages(description: str, parts: Iterable[Part], roles: Iterable[str] = ()) -> dict[str, Any]:
    messages = [
        {"role": role, "content": _build_content(part)}
        for part, role in zip(parts, itertools.chain(roles, itertools.repeat("user")), strict=False)
    ]
    return {"resultType": "complete", "description": description, "messages": messages}


def _build_content(part: Part) -> dict[str, Any]:
    block = build_block(part)
    return {"type": "text", "text": render_part(part)} if block is None else block


class FunctionCaller(ToolCaller):
    """Answers requests whose arguments are texts and whose results have no place for an error."""

    async def _call_function(
        self,
        context: RequestContext,
        params: GetPromptRequestParams | ReadResourceRequestParams,
        name: str,
        texts: Mapping[str, str],
    ) -> dict[str, Any]:
        """Return the answer of the function *name*, or the question that it asks; raise `MCPError` if it fails."""
        plan = self._dispatcher.find_plan(name)
        call = CallToolRequestParams(
            name=name,
            arguments={} if plan is None else _read_texts(plan.tool, texts),
            input_responses=params.input_responses,
            request_state=params.request_state,
        )
        answer = await self.call(context, call)
        if answer.get("isError"):
            raise MCPError(INTERNAL_ERROR, "\n".join(block.get("text", "") for block in answer["content"]))
        return answer

    def _answer(self, name: str, result: ToolResult) -> dict[str, Any]:
        if result.kind == "bad_args":
            raise MCPError(INVALID_PARAMS, result.text)
        return super()._answer(name, result)


class PromptCaller(FunctionCaller):
    """Answers `prompts/get` requests with the functions of a dispatcher, as `ToolCaller` answers `tools/call`."""

    kind = "prompt"

    async def get(self, context: RequestContext, params: GetPromptRequestParams) -> dict[str, Any]:
        """Return the messages of the prompt, or the question that it asks first."""
        return await self._call_function(context, params, params.name, params.arguments or {})

    async def get_remote(
        self, context: RequestContext, params: GetPromptRequestParams, reader: Tool, name: str
    ) -> dict[str, Any]:
        """Return the messages of the prompt *name* of another server, which the tool *reader* gets."""
        texts = {"name": name, "arguments": json.dumps(params.arguments or {})}
        return await self._call_function(context, params, reader.name, texts)

    def _answer(self, name: str, result: ToolResult) -> dict[str, Any]:
        if result.is_error:
            return super()._answer(name, result)
        plan, remote = self._dispatcher.find_plan(name), result.metadata or {}
        description = remote.get("description", "" if plan is None else plan.tool.description)
        return _build_messages(description, result.parts or (TextPart(result.text),), remote.get("roles", ()))


def _read_texts(tool: Tool, texts: Mapping[str, str]) -> dict[str, Any]:
    """
    Return the arguments that *texts* state. The protocol sends each of them as text.

    A text for a parameter that takes no text is read as JSON. The check of the arguments says what is wrong with it.
    """
    return {name: _read_text(tool, name, text) for name, text in texts.items()}


def _read_text(tool: Tool, name: str, text: str) -> Any:
    schema = _find_parameter(tool, name)
    choices, types = schema.get("enum"), types_of(schema, tool.schema.get("$defs", {}))
    if text in choices if choices else not types or "string" in types:
        return text
    try:
        return loads(text)
    except ValueError:
        return text


def _find_parameter(tool: Tool, name: str) -> Mapping[str, Any]:
    """Return the schema of the parameter *name* of *tool*; an empty one if there is none."""
    schema: Mapping[str, Any] = tool.schema.get("properties", {}).get(name, {})
    return definition_of(schema.get("$ref"), tool.schema.get("$defs", {})) or schema


def build_completion(tool: Tool | None, name: str, text: str) -> dict[str, Any]:
    """Return the result of `completion/complete`: the choices of a parameter that begin with *text*, in any case."""
    schema = {} if tool is None else _find_parameter(tool, name)
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if schema.get("type") == "boolean":
        choices = ["true", "false"]
    texts = [str(choice) for choice in choices if choice is not None]
    values = [choice for choice in texts if choice.casefold().startswith(text.casefold())]
    completion = {"values": values[:_MAX_VALUES], "total": len(values), "hasMore": len(values) > _MAX_VALUES}
    return {"resultType": "complete", "completion": completion}
