"""
The provider for OpenAI's Responses API, without storage: every request has the whole conversation.

The reasoning of the model arrives encrypted, and is sent back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..formats import openai_responses
from ..formats.media import ResultMedia
from ..spec import Tool
from .base import Reply, Request, StopReason
from .messages import AssistantMessage, Native, ToolMessage
from .openai import build_output, can_structure
from .remote import Format, RemoteProvider
from .wire import (
    arguments_text,
    as_object_list,
    build_cache_key,
    copy_native_content,
    get_object,
    has_own_search,
    is_same_turn,
    list_unshown_tools,
    map_stop_reason,
    read_openai_usage,
    wire_id,
    wire_name,
)

__all__ = ["OpenAIResponsesProvider"]

_STOPS: dict[str, StopReason] = {"completed": "answer", "max_output_tokens": "length", "content_filter": "refusal"}
_CALL_TYPES = frozenset(["function_call", "custom_tool_call"])
_END_EVENTS = frozenset(["response.completed", "response.incomplete"])
_MESSAGE_SEPARATOR = "\n\n"
# These models do not reason, and the API refuses a request for their reasoning.
_NOT_REASONING = re.compile(r"(?:ft:)?(?:chatgpt|gpt-[34]|gpt-[\d.]+-chat)")
_LEGAL_ID = re.compile(r".{1,64}", re.DOTALL)
# https://developers.openai.com/api/docs/guides/tools says that gpt-5.4 and later have the search for tools.
_SEARCHING_MODEL = re.compile(r"gpt-(?:5\.[4-9]|5\.\d\d|[6-9]|1\d)")
_ENCRYPTED_REASONING = "reasoning.encrypted_content"


class OpenAIResponsesProvider(RemoteProvider):
    """
    The provider of GPT through the Responses API.

    Its key is in `OPENAI_API_KEY`. Its arguments are those of `RemoteProvider`. For a model that does not reason, the
    API may refuse a request for the reasoning; give `options={"include": None}` then.

    Args:
        native_loading: Whether the tools that `tool_search` finds are described in its result alone, so that the
            definitions never change. If it is not given, newer models at OpenAI's own address are asked so.
    """

    name = "openai_responses"
    _title = "OpenAI"
    _format = Format(
        "openai_responses",
        openai_responses.NAMING,
        openai_responses.MEDIA_FORMATS,
        openai_responses.calls,
        openai_responses.results,
    )
    _address = "https://api.openai.com/v1"
    _endpoint = "/responses"
    _key_variables = ("OPENAI_API_KEY",)
    _reserved_options = frozenset(
        ["model", "input", "instructions", "tools", "stream", "previous_response_id", "conversation"]
    )

    def __init__(self, model: str, *, native_loading: bool | None = None, **options: Any) -> None:
        super().__init__(model, **options)
        is_able = self._is_own_address and _SEARCHING_MODEL.match(model) is not None
        self.native_loading = is_able if native_loading is None else native_loading

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        return self._is_own_address and can_structure(self.model, tool)

    def _body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        return {
            "model": self.model,
            "instructions": request.system or None,
            "input": self._translate_messages(request),
            "tools": self._definitions(request),
            "text": None
            if request.output is None
            else {"format": {"type": "json_schema", **build_output(request.output)}},
            "max_output_tokens": request.max_tokens or self.max_tokens,
            "store": False,
            "prompt_cache_key": build_cache_key(request) if self._is_own_address else None,
            "include": None if _NOT_REASONING.match(self.model) else [_ENCRYPTED_REASONING],
            "stream": stream or None,
        }

    def _list_tool_names(self, body: Mapping[str, Any]) -> list[str]:
        return [tool["name"] for tool in body.get("tools", ()) if "name" in tool]

    def _choose_definition_options(self, request: Request) -> dict[str, Any]:
        if not self.native_loading or not has_own_search(request):
            return {}
        messages = [message for message in request.messages if isinstance(message, AssistantMessage)]
        search_ids = {call_id for message in messages for call_id in _list_search_ids(self._translate_reply(message))}
        return {"native_loading": True, "undeferred": list_unshown_tools(request, search_ids)}

    def _translate_messages(self, request: Request) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        new_items: list[dict[str, Any]] = []
        for message in request.messages:
            if isinstance(message, ToolMessage):
                new_items = self._answer_calls(message, _list_search_ids(new_items), request)
            else:
                new_items = self._translate_message(message, request)
            items += new_items
        return [self._replace_ids(item) for item in items]

    def _answer_calls(self, message: ToolMessage, search_ids: set[str], request: Request) -> list[dict[str, Any]]:
        """Return the results of *message*. A call that was written as a search is answered as a search."""
        answers: list[dict[str, Any]] = []
        for result in message.results:
            is_search = result.call_id in search_ids
            answers += openai_responses.results([result], request.catalog, strict=self.strict, native_loading=is_search)
        return sorted(answers, key=lambda answer: "role" in answer)  # the texts that answer no call come last

    def _build_part(self, part: str | ResultMedia) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "input_text", "text": part}
        item = openai_responses.build_media_item(part)
        return {**item, "detail": "auto"} if part.kind == "image" else item

    def _replace_ids(self, item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "call_id": wire_id(item["call_id"], _LEGAL_ID)} if "call_id" in item else item

    def _translate_reply(self, message: AssistantMessage) -> list[dict[str, Any]]:
        items = as_object_list(copy_native_content(message, self.name))
        ids = (item.get("call_id") for item in items or () if str(item.get("type")) in _CALL_TYPES or _is_search(item))
        if items is None or not is_same_turn(ids, message):
            return _build_items(message)
        kept_items = (item for item in items if not _is_lost_reasoning(item))
        return [{name: value for name, value in item.items() if value is not None} for item in kept_items]

    def _translate_response(self, response: dict[str, Any], request: Request) -> Reply:
        output = [item for item in response["output"] if isinstance(item, dict)]
        contents = [_list_parts(item) for item in output if item.get("type") == "message"]
        text = _MESSAGE_SEPARATOR.join(
            filter(None, ("".join(part_text for _, part_text in content) for content in contents))
        )
        message = AssistantMessage(
            text=text, calls=self._read_calls(response, request), native=Native(self.name, output) if output else None
        )
        reason = get_object(response, "incomplete_details").get("reason") or response.get("status")
        has_refused = any(kind == "refusal" for content in contents for kind, _ in content)
        return Reply(
            message=message,
            stop="refusal" if has_refused else map_stop_reason(reason, _STOPS),
            usage=read_openai_usage(get_object(response, "usage"), "input_tokens", "output_tokens"),
        )

    def _assembler(self) -> _ResponsesAssembler:
        return _ResponsesAssembler()

    def _find_error(self, data: Mapping[str, Any]) -> Any:
        if data.get("type") == "error":
            return data
        response = data.get("response", data)
        return response if isinstance(response, Mapping) and response.get("error") else None


def _is_search(item: Mapping[str, Any]) -> bool:
    """Return whether *item* is a call of our own `tool_search`, and not of the provider's search."""
    return item.get("type") == "tool_search_call" and item.get("execution") == "client"


def _list_search_ids(items: Iterable[Mapping[str, Any]]) -> set[str]:
    return {str(item.get("call_id")) for item in items if _is_search(item)}


def _build_items(message: AssistantMessage) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "assistant", "content": message.text}] if message.text else []
    for call in message.calls:
        name = wire_name(openai_responses.NAMING, call.name)
        items.append({"type": "function_call", "call_id": call.id, "name": name, "arguments": arguments_text(call)})
    return items


def _is_lost_reasoning(item: Mapping[str, Any]) -> bool:
    """Return whether *item* is reasoning without its content: it refers to data that the server has not stored."""
    return item.get("type") == "reasoning" and not item.get("encrypted_content")


def _list_parts(item: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the kind and the text of each part of a message."""
    return [(part["type"], part.get("text") or part.get("refusal") or "") for part in item["content"]]


class _ResponsesAssembler:
    """Builds the response from its events: each item when it is done, and the whole response at the end."""

    def __init__(self) -> None:
        self._response: dict[str, Any] | None = None
        self._items: dict[int, dict[str, Any]] = {}
        self._last_index: Any = None  # the item whose text was shown last
        self.size = 0

    @property
    def is_complete(self) -> bool:
        return self._response is not None

    def feed(self, event: dict[str, Any]) -> str:
        kind = event.get("type")
        # Thoughts and arguments grow in deltas too, although only the finished item is used.
        if str(kind).endswith(".delta") and event.get("delta"):
            self.size += 1
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            index, text = event.get("output_index"), str(event["delta"])
            if text:
                gap = _MESSAGE_SEPARATOR if self._last_index is not None and self._last_index != index else ""
                self._last_index = index
                return gap + text
        elif kind == "response.output_item.done":
            self.size += event["output_index"] not in self._items
            self._items[event["output_index"]] = event["item"]
        elif kind in _END_EVENTS:
            self._response = dict(event["response"])
        return ""

    def response(self) -> dict[str, Any]:
        # The items from the events are used, because encrypted content may be cut in the response at the end.
        items = [self._items[index] for index in sorted(self._items)]
        response = self._response or {}
        return {**response, "output": items} if items else response
