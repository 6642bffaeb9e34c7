"""
The format of Amazon Bedrock's Converse.

Use `toolConfig={"tools": definitions(catalog)}`, then `calls(response)`, then `results(...)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from .base import CacheOption, Definitions, Naming, Note, Offering, WireObject, check_cache, list_offered_tools
from .call_ids import sent_id
from .media import IMAGE_FORMATS, ResultMedia
from .responses import build_call, build_response_error, get_field, get_list, has_field
from .result_content import check_results, media_of, text_of, value_of
from .schemas.anthropic_budget import StrictBudget, strict_schemas
from .schemas.property_names import use_plain_names
from .schemas.remarks import prepare_schema

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="Bedrock", any_property_names=False)

MEDIA_FORMATS = IMAGE_FORMATS | {"pdf"}
_ILLEGAL_IN_DOCUMENT_NAME = re.compile(r"[^A-Za-z0-9]+")
_MAX_DOCUMENT_NAME_CHARS = 200


def definitions(
    catalog: Offering,
    session: Session | None = None,
    *,
    strict: bool = False,
    budget: StrictBudget = StrictBudget(),  # noqa: B008 -- a frozen record
    cache: CacheOption = False,
) -> Definitions:
    """
    Return the value for `toolConfig["tools"]`. If it is empty, leave `toolConfig` out.

    Args:
        catalog: The tools to describe.
        session: The session whose loaded tools are described as well.
        strict: The same as for `anthropic`. Bedrock uses the same subset of JSON Schema and the same budget.
        budget: The limits for strict tools in one request.
        cache: Whether to put a cache point after the last definition that is not deferred. Not every model accepts one.
            "5m" or "1h" also sets how long the cache lives.
    """
    check_cache(cache)
    notes: list[Note] = []
    tools = list_offered_tools(catalog, session, NAMING, notes)
    schemas = strict_schemas(tools, budget, notes) if strict else {}
    entries: list[dict[str, Any]] = []
    for tool in tools:
        spec: dict[str, Any] = {"name": NAMING.wire(tool.name), "description": tool.description}
        schema = schemas[tool.name] if tool.name in schemas else prepare_schema(tool, notes)
        spec["inputSchema"] = {"json": use_plain_names(schema, tool, notes)}
        if tool.name in schemas:
            spec["strict"] = True
        entries.append({"toolSpec": spec})
    stable = sum(not tool.facts.defer for tool in tools)
    if cache and stable:
        entries.insert(stable, build_cache_point(cache))
    return Definitions(entries, notes)


def build_cache_point(cache: CacheOption) -> dict[str, Any]:
    """Return the block that has the provider cache what stands before it. A text in *cache* is its lifetime."""
    return {"cachePoint": {"type": "default"} if cache is True else {"type": "default", "ttl": cache}}


def calls(response: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """Return the calls in *response*, the value that `converse` returned or its message, in order."""
    message = response
    if has_field(response, "output"):
        message = get_field(get_field(response, "output"), "message")
    if not has_field(message, "content"):
        raise build_response_error("bedrock", response, "output")
    uses = [get_field(block, "toolUse") for block in get_list(message, "content", "bedrock")]
    # A call that the provider ran itself has a type.
    ours = [use for use in uses if use is not None and get_field(use, "type") is None]
    return [
        build_call(NAMING, catalog, get_field(use, "name"), get_field(use, "input"), get_field(use, "toolUseId"))
        for use in ours
    ]


def results(results: Sequence[ToolResult]) -> list[WireObject]:
    """Return one user message with all results of a turn. An object is sent as JSON, and any other value as text."""
    blocks = [{"toolResult": _answer(result)} for result in check_results(results)]
    return [{"role": "user", "content": blocks}] if blocks else []


def _answer(result: ToolResult) -> dict[str, Any]:
    value = value_of(result, MEDIA_FORMATS)
    text = text_of(result, MEDIA_FORMATS)
    call_id = sent_id(result.call_id)
    content: list[dict[str, Any]] = [{"json": value} if isinstance(value, dict) else {"text": text}]
    content += [
        build_media_block(media, f"document-{number}-{call_id}")
        for number, media in enumerate(media_of(result, MEDIA_FORMATS), 1)
    ]
    return {"toolUseId": call_id, "content": content, "status": "error" if result.is_error else "success"}


def build_media_block(media: ResultMedia, name: str) -> dict[str, Any]:
    """Return the block for an image or a document. *name* is the name of a document."""
    block: dict[str, Any] = {"format": media.name, "source": {"bytes": media.data}}
    if media.kind == "document":
        block["name"] = _ILLEGAL_IN_DOCUMENT_NAME.sub("-", name)[:_MAX_DOCUMENT_NAME_CHARS]
    return {media.kind: block}
