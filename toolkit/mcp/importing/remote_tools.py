"""
The definitions of tools as a server sends them, and the list of them.

A definition is foreign text: its description is cleaned and cut before a model or a person reads it. The list has a
limited number of pages and tools, whatever the server says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio.lowlevel
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from ..._plumbing.wording import format_count
from ...catalogs.foreign_text import clean_schema, clean_text, explain_name, is_clean
from ...errors import DefinitionError
from ...formats.mcp import unwrap_output_schema
from ...values.strictjson.canonical import digest_parts, encode_canonical
from .remote_server import ServerLimits

__all__ = ["RemoteListing", "RemoteTool", "leave_out_unusable", "list_tools"]

_MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True, eq=False)
class RemoteTool:
    """
    A tool as its server defines it.

    Attributes:
        description: The description, cleaned and cut.
        hints: What the server says about the tool, by the protocol's names (`readOnlyHint`).
        digest: A digest of the whole definition, as the server sent it.
        problem: Why the tool cannot be used; None if nothing is known against it.
        is_task: Whether the server runs the tool as a task, and in no other way.
        is_wrapped: Whether the structured content is an object that only wraps the value.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    hints: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    problem: str | None = None
    is_task: bool = False
    is_wrapped: bool = False

    @classmethod
    def of(cls, tool: types.Tool, limits: ServerLimits) -> RemoteTool:
        """Return what *tool*, an object of the SDK, says."""
        max_chars = int(limits.max_description_chars)
        annotations = {} if tool.annotations is None else tool.annotations.model_dump(by_alias=True, exclude_none=True)
        hints = {name: value for name, value in annotations.items() if isinstance(value, bool) and is_clean(name)}
        title = tool.title or annotations.get("title") or ""
        text = clean_text(tool.description or "", max_chars) or clean_text(str(title), max_chars)
        is_task = tool.execution is not None and tool.execution.task_support == "required"
        schemas = [tool.input_schema, tool.output_schema]
        definition = [tool.name, tool.title, tool.description, *schemas, annotations, is_task]
        max_bytes = int(limits.max_schema_bytes)
        if problem := explain_name(tool.name):
            return cls(tool.name, text, {}, problem=f"its name {problem}")
        try:
            size = len(json.dumps(schemas))
            if size > max_bytes:  # it is not read any further, because that would take long
                return cls(
                    tool.name, text, {}, problem=f"its schema has {size:,} bytes; at most {max_bytes:,} are read"
                )
            output_schema, is_wrapped = unwrap_output_schema(tool.output_schema)
            cleaned, digest = (clean_schema(tool.input_schema), clean_schema(output_schema)), _digest(definition)
        except RecursionError:
            return cls(tool.name, text, {}, problem="its schema is nested too deeply to be enforced")
        except DefinitionError as error:
            return cls(tool.name, text, {}, problem=str(error), digest=_digest(definition))
        return cls(tool.name, text, *cleaned, hints, digest, is_task=is_task, is_wrapped=is_wrapped)

    def describe_definition(self) -> str:
        """Return the definition as text with short lines, so that two of them can be compared."""
        data = {
            "description": self.description.splitlines(),
            "arguments": self.input_schema,
            "result": self.output_schema,
            "hints": dict(self.hints),
        }
        return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False)


def _digest(definition: list[Any]) -> str:
    try:
        return digest_parts(encode_canonical(definition))
    except ValueError:  # a number or a text without an exact JSON form
        return digest_parts(json.dumps(definition, sort_keys=True))


@dataclass(frozen=True, slots=True)
class RemoteListing:
    """The tools of a server, in its order, and what is wrong with its list."""

    tools: tuple[RemoteTool, ...]
    problems: tuple[str, ...] = ()


def leave_out_unusable(result: dict[str, Any], version: str, limits: ServerLimits) -> list[str]:
    """
    Remove the tools that are no tools from *result*, the answer of a server to `tools/list`, and return the problems.

    The SDK checks the list as a whole, so that one such tool would make all others unusable.
    """
    # One tool beyond the limit is enough to notice that there are too many.
    tools, problems = result["tools"][: int(limits.max_tools) + 1], []
    result["tools"] = []
    for index, tool in enumerate(tools):
        try:
            validate_server_result("tools/list", version, {**result, "tools": [tool]})
            types.Tool.model_validate(tool, by_name=False)
            result["tools"].append(tool)
        except ValidationError as error:
            name = tool.get("name") if isinstance(tool, dict) else None
            label = f"`{clean_text(name, 80)}`" if isinstance(name, str) else f"tool number {index + 1}"
            entry = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(step) for step in entry["loc"] if step not in ("tools", 0)) or "the tool"
            reason = clean_text(f"{place}: {entry['msg']}", 200)
            problems.append(f"{label} is left out: {reason}")
    return problems


async def list_tools(session: Any, limits: ServerLimits) -> RemoteListing:
    """
    Return all tools of a server, page by page.

    What the server says about its abilities is not asked, because it is not known if the program chose a revision.
    """
    tools: dict[str, RemoteTool] = {}
    problems: list[str] = []
    cursors: set[str] = set()
    cursor: str | None = None
    end: str | None = None
    for _ in range(int(limits.max_pages)):
        page = await _list_page(session, cursor)
        for tool in page.tools:
            if tool.name in tools:
                problems.append(f"`{clean_text(tool.name, 100)}` is listed twice; the first one counts")
            elif len(tools) < limits.max_tools:
                tools[tool.name] = RemoteTool.of(tool, limits)
                # Other servers share the loop, and the time limit can end a long list.
                await anyio.lowlevel.checkpoint()
            else:
                end = f"it has more than {format_count(int(limits.max_tools), 'tool')}; the others are left out"
                break
        cursor = page.next_cursor
        if end is not None or not cursor:
            break
        if cursor in cursors:
            end = "its list of tools leads back to an earlier page; the rest is left out"
            break
        cursors.add(cursor)
    else:
        max_pages = format_count(int(limits.max_pages), "page")
        end = f"its list of tools has more than {max_pages}; the rest is left out"
    # Of many problems the first count, and the reason why the list ends too early always does.
    return RemoteListing(tuple(tools.values()), (*problems[:_MAX_PROBLEMS], *([] if end is None else [end])))


async def _list_page(session: Any, cursor: str | None) -> types.ListToolsResult:
    try:
        page: types.ListToolsResult = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
    except MCPError as error:
        if error.code != METHOD_NOT_FOUND or cursor is not None:
            raise
        return types.ListToolsResult(tools=[])  # a server of prompts or resources
    return page
