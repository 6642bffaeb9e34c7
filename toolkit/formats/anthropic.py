"""
The format of Anthropic's Messages API.

Use `tools=definitions(catalog)`, then `calls(response)`, then `messages += results(...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from .base import (
    SEARCH_TOOL_NAME,
    CacheOption,
    Definitions,
    Naming,
    Note,
    Offering,
    WireObject,
    check_cache,
    check_offering,
    list_all_tools,
    list_offered_tools,
)
from .call_ids import sent_id
from .media import IMAGE_FORMATS, ResultMedia
from .responses import build_call, build_response_error, get_field, get_list, has_field
from .result_content import check_results, describe_further_findings, get_found_names, media_of, text_of
from .schemas.anthropic_budget import StrictBudget, strict_schemas
from .schemas.property_names import use_plain_names
from .schemas.remarks import prepare_schema

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="Anthropic", any_property_names=False)

MEDIA_FORMATS = IMAGE_FORMATS | {"pdf"}

_SEARCH_TOOL = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


def definitions(
    catalog: Offering,
    session: Session | None = None,
    *,
    strict: bool = False,
    budget: StrictBudget = StrictBudget(),  # noqa: B008 -- a frozen record
    native_loading: bool = False,
    undeferred: Sequence[str] = (),
    cache: CacheOption = True,
) -> Definitions:
    """
    Return the value for `tools`.

    Args:
        catalog: The tools to describe.
        session: The session whose loaded tools are described as well.
        strict: Whether the provider makes the model keep to the schemas, as far as the schemas and *budget* allow.
            `notes` names the tools that are not strict.
        budget: The limits for strict tools in one request.
        native_loading: Whether deferred tools are sent too. The provider keeps them out of the prompt until they are
            found. Our `tool_search` finds them if it is in the catalog (then pass the same value to `results`);
            otherwise the provider's search does.
        undeferred: With *native_loading*, the deferred tools that are in the prompt all the same, because no result in
            the conversation refers to them.
        cache: Whether to mark the last definition that is not deferred, so that the provider caches the prompt up to
            it. "5m" or "1h" also sets how long the cache lives.
    """
    check_cache(cache)
    notes: list[Note] = []
    if native_loading:
        tools = list_all_tools(catalog, NAMING, notes, undeferred)
    else:
        tools = list_offered_tools(catalog, session, NAMING, notes)
    schemas = strict_schemas(tools, budget, notes) if strict else {}
    entries: list[dict[str, Any]] = []
    for tool in tools:
        definition: dict[str, Any] = {"name": NAMING.wire(tool.name), "description": tool.description}
        schema = schemas[tool.name] if tool.name in schemas else prepare_schema(tool, notes)
        definition["input_schema"] = use_plain_names(schema, tool, notes)
        if tool.name in schemas:
            definition["strict"] = True
        if native_loading and tool.facts.defer and tool.name not in undeferred:
            definition["defer_loading"] = True
        entries.append(definition)
    stable = sum(not tool.facts.defer for tool in tools)
    if native_loading and stable < len(tools) and not any(tool.name == SEARCH_TOOL_NAME for tool in tools):
        entries.insert(0, dict(_SEARCH_TOOL))
        stable += 1
    if cache and stable:
        entries[stable - 1]["cache_control"] = build_cache_mark(cache)
    return Definitions(entries, notes)


def build_cache_mark(cache: CacheOption) -> dict[str, Any]:
    """Return the value of `cache_control`. A text in *cache* is the lifetime of the cache."""
    return {"type": "ephemeral"} if cache is True else {"type": "ephemeral", "ttl": cache}


def calls(response: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """
    Return the calls in *response*, a `Message` or its JSON, in order.

    With *catalog*, names are resolved exactly, and nulls that strict mode forced are removed.
    """
    if not has_field(response, "content"):
        raise build_response_error("anthropic", response, "content")
    content = get_field(response, "content")
    blocks = [] if isinstance(content, str) else get_list(response, "content", "anthropic")
    # The caller must not answer calls that belong to one of Anthropic's own toolsets.
    ours = [
        block for block in blocks if get_field(block, "type") == "tool_use" and not get_field(block, "toolset_name")
    ]
    return [
        build_call(NAMING, catalog, get_field(block, "name"), get_field(block, "input"), get_field(block, "id"))
        for block in ours
    ]


def results(
    results: Sequence[ToolResult], catalog: Offering | None = None, *, native_loading: bool = False
) -> list[WireObject]:
    """
    Return one user message with all results of a turn.

    With *native_loading*, the tools that our `tool_search` found are sent as references, and what it answered besides
    as a text after all results. With *catalog*, only tools that it still has are sent.
    """
    if catalog is not None:
        check_offering(catalog)
    blocks, texts = [], []
    for result in check_results(results):
        names = (get_found_names(result) or []) if native_loading else []
        names = [name for name in names if catalog is None or NAMING.find_sent(name, catalog) is not None]
        blocks.append(_block(result, names))
        if names and (text := describe_further_findings(result)):
            texts.append({"type": "text", "text": text})
    return [{"role": "user", "content": [*blocks, *texts]}] if blocks else []


def _block(result: ToolResult, names: Sequence[str]) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": sent_id(result.call_id)}
    media = media_of(result, MEDIA_FORMATS)
    if names:
        block["content"] = [{"type": "tool_reference", "tool_name": NAMING.wire(name)} for name in names]
    else:
        text = text_of(result, MEDIA_FORMATS)
        block["content"] = [{"type": "text", "text": text}, *map(build_media_block, media)] if media else text
    if result.is_error:
        block["is_error"] = True
    return block


def build_media_block(media: ResultMedia) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media.media_type, "data": media.base64}
    return {"type": media.kind, "source": source}
