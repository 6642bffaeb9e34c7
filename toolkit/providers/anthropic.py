"""
The provider for Anthropic's Messages API.

The thinking of the model has a signature, and is sent back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..formats import anthropic
from ..formats.base import CacheOption, check_cache
from ..formats.media import ResultMedia
from ..formats.schemas.dialects import ANTHROPIC
from ..formats.schemas.remarks import prepare_schema
from ..formats.schemas.rewriting import rewrite_schema
from ..spec import Tool
from ..values.strictjson.checks import copy_json
from .base import Reply, Request, StopReason, Usage
from .messages import AssistantMessage, Native, ToolMessage
from .remote import Format, RemoteProvider
from .wire import (
    UNREADABLE,
    append_text,
    arguments_object,
    as_object_list,
    copy_native_content,
    find_ends,
    get_object,
    has_own_search,
    is_same_turn,
    list_unshown_tools,
    map_stop_reason,
    parse_arguments,
    read_token_count,
    wire_id,
    wire_name,
)

__all__ = ["AnthropicProvider"]

_STOPS: dict[str, StopReason] = {
    "end_turn": "answer",
    "stop_sequence": "answer",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "paused",
}
_LEGAL_ID = re.compile(r"[A-Za-z0-9_-]+")
_UNMARKED_BLOCKS = ("thinking", "redacted_thinking")
# The models from before the tool search. https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
_OLDER_MODEL = re.compile(r"claude-(?:instant|[123]|\w+-4-(?:[01](?!\d)|20))")
_MAX_TOOLS = 10_000
_ID_FIELDS = {"tool_use": "id", "tool_result": "tool_use_id"}


class AnthropicProvider(RemoteProvider):
    """
    The provider of Claude. Its key is in `ANTHROPIC_API_KEY`. Its arguments are those of `RemoteProvider`.

    An agent asks for a typed answer as a call of a tool, because every model of Claude can do that. With
    `output_by="provider"` it uses the API's structured output, which newer models have.

    Args:
        cache: Whether to mark the tools, the system text and the conversation for the API's prompt cache. "5m" or "1h"
            also sets how long the cache lives.
        native_loading: Whether the API keeps deferred tools out of the prompt until `tool_search` finds them, so that
            the definitions never change. If it is not given, newer models at Anthropic's own address do so.
    """

    name = "anthropic"
    _title = "Anthropic"
    _format = Format("anthropic", anthropic.NAMING, anthropic.MEDIA_FORMATS, anthropic.calls, anthropic.results)
    _address = "https://api.anthropic.com"
    _endpoint = "/v1/messages"
    _key_variables = ("ANTHROPIC_API_KEY",)
    _headers = {"anthropic-version": "2026-10-21"}  # noqa: RUF012 -- it is never changed
    _reserved_options = frozenset(["model", "messages", "tools", "system", "stream", "max_tokens", "cache_control"])
    # The API requires a number. A file that the model writes has to fit. More would take too long without a stream.
    _max_tokens = 16_000

    def __init__(
        self, model: str, *, cache: CacheOption = True, native_loading: bool | None = None, **options: Any
    ) -> None:
        check_cache(cache)
        super().__init__(model, **options)
        self.cache = cache
        is_able = self._is_own_address and not _OLDER_MODEL.match(model)
        self.native_loading = is_able if native_loading is None else native_loading

    def _body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        tools, messages = self._definitions(request), self._translate_messages(request)
        system: Any = request.system or None
        if self.cache:
            mark = anthropic.build_cache_mark(self.cache)
            if request.system.strip():  # a mark at a blank text is refused
                system = [{"type": "text", "text": request.system, "cache_control": mark}]
            for message in find_ends(messages, has_tools=bool(tools)):
                _mark_last_block(message, mark)
        return {
            "model": self.model,
            "max_tokens": request.max_tokens or self.max_tokens,
            "system": system,
            "messages": messages,
            "tools": tools,
            "output_config": None if request.output is None else _build_output(request.output),
            "stream": stream or None,
        }

    def _loads_natively(self, request: Request) -> bool:
        return self.native_loading and has_own_search(request) and len(request.catalog or ()) <= _MAX_TOOLS

    def _choose_definition_options(self, request: Request) -> dict[str, Any]:
        if not self._loads_natively(request):
            return {"cache": self.cache}
        return {"cache": self.cache, "native_loading": True, "undeferred": list_unshown_tools(request)}

    def _translate_results(self, message: ToolMessage, request: Request) -> list[dict[str, Any]]:
        return anthropic.results(message.results, request.catalog, native_loading=self._loads_natively(request))

    def _build_part(self, part: str | ResultMedia) -> dict[str, Any]:
        return {"type": "text", "text": part} if isinstance(part, str) else anthropic.build_media_block(part)

    def _translate_reply(self, message: AssistantMessage) -> list[dict[str, Any]]:
        content = as_object_list(copy_native_content(message, self.name))
        if content is None or not is_same_turn((block.get("id") for block in content if _is_call(block)), message):
            content = _build_content(message)
        content = [block for block in content if not _is_blank(block)]
        return [{"role": "assistant", "content": content}] if content else []

    def _replace_ids(self, item: dict[str, Any]) -> dict[str, Any]:
        for block in item["content"]:
            key = _ID_FIELDS.get(str(block.get("type")))  # a server may have sent any JSON as the type
            if key is not None:
                block[key] = wire_id(block.get(key), _LEGAL_ID)
        return item

    def _translate_response(self, response: dict[str, Any], request: Request) -> Reply:
        content = [block for block in response["content"] if isinstance(block, dict)]
        text = "".join(block["text"] for block in content if block.get("type") == "text")
        explanation = get_object(response, "stop_details").get("explanation")
        plain = AssistantMessage(
            text=text or (explanation if isinstance(explanation, str) else ""),
            calls=self._read_calls(response, request),
        )
        content = [_make_sendable(block) for block in content]
        native = None if content == _build_content(plain) else Native(self.name, content)
        return Reply(
            message=replace(plain, native=native),
            stop=map_stop_reason(response.get("stop_reason"), _STOPS),
            usage=_read_usage(get_object(response, "usage")),
        )

    def _assembler(self) -> _AnthropicAssembler:
        return _AnthropicAssembler()


def _mark_last_block(message: dict[str, Any], mark: dict[str, Any]) -> None:
    blocks = [block for block in message["content"] if block.get("type") not in _UNMARKED_BLOCKS]
    if blocks:
        blocks[-1]["cache_control"] = mark


def _build_output(tool: Tool) -> dict[str, Any]:
    rewriting = rewrite_schema(tool.schema, ANTHROPIC)
    schema = prepare_schema(tool, []) if rewriting.obstacles else rewriting.schema
    return {"format": {"type": "json_schema", "schema": schema}}


def _is_call(block: Mapping[str, Any]) -> bool:
    # Anthropic answers the calls of its own toolsets itself.
    return block.get("type") == "tool_use" and not block.get("toolset_name")


def _is_blank(block: Mapping[str, Any]) -> bool:
    """Return whether *block* is an empty text. The API sends such blocks, but refuses them in a request."""
    return block.get("type") == "text" and not str(block.get("text")).strip()


def _build_content(message: AssistantMessage) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text else []
    for call in message.calls:
        name = wire_name(anthropic.NAMING, call.name)
        content.append({"type": "tool_use", "id": call.id, "name": name, "input": arguments_object(call)})
    return content


def _make_sendable(block: dict[str, Any]) -> dict[str, Any]:
    """Return *block* as the API accepts it. Arguments that were cut off are not an object, and are put into one."""
    block = copy_json(block)
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
        block["input"] = {UNREADABLE: block["input"]} if block.get("input") is not None else {}
    return block


def _read_usage(usage: Mapping[str, Any]) -> Usage:
    cache_reads = read_token_count(usage, "cache_read_input_tokens")
    cache_writes = read_token_count(usage, "cache_creation_input_tokens")
    return Usage(
        input_tokens=read_token_count(usage, "input_tokens") + cache_reads + cache_writes,
        output_tokens=read_token_count(usage, "output_tokens"),
        cached_tokens=cache_reads,
        cache_write_tokens=cache_writes,
    )


class _AnthropicAssembler:
    """Builds the message from its events: the message starts, its blocks grow one after another, and it stops."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._citations: dict[int, list[Any]] = {}
        self.is_complete = False
        self.size = 0

    def feed(self, event: dict[str, Any]) -> str:
        kind = event.get("type")
        if kind == "message_start":
            self._message = dict(event["message"])
        elif kind == "content_block_start":
            self.size += event["index"] not in self._blocks
            self._blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            return self._grow(event["index"], event["delta"])
        elif kind == "message_delta":
            self._message.update(event["delta"])
            counts = {name: value for name, value in get_object(event, "usage").items() if value is not None}
            self._message["usage"] = {**get_object(self._message, "usage"), **counts}
        elif kind == "message_stop":
            self.is_complete = True
        return ""

    def response(self) -> dict[str, Any]:
        for index, pieces in self._inputs.items():
            self._blocks[index]["input"] = parse_arguments("".join(pieces))
        for index, citations in self._citations.items():
            self._blocks[index]["citations"] = citations
        return {**self._message, "content": [self._blocks[index] for index in sorted(self._blocks)]}

    def _grow(self, index: int, delta: Mapping[str, Any]) -> str:
        block, kind = self._blocks[index], delta["type"]
        if kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(delta["partial_json"])
            self.size += len(delta["partial_json"])
        elif kind == "citations_delta":
            self._citations.setdefault(index, list(block.get("citations") or ())).append(delta["citation"])
            self.size += 1
        elif kind in _TEXT_FIELDS:
            append_text(block, _TEXT_FIELDS[kind], delta[_TEXT_FIELDS[kind]])
            self.size += len(delta[_TEXT_FIELDS[kind]])
        return str(delta["text"]) if kind == "text_delta" else ""


_TEXT_FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
