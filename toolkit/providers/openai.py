"""
The provider for OpenAI's Chat Completions API, and for every server that has it: Ollama, vLLM, OpenRouter.

Servers add their own fields to a message, such as the model's reasoning. These fields are sent back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..formats import openai
from ..formats.media import ResultMedia
from ..formats.openai import parameters_of
from ..formats.schemas.dialects import OPENAI
from ..formats.schemas.rewriting import rewrite_schema
from ..spec import Tool
from .base import Reply, Request, StopReason
from .messages import AssistantMessage, Native
from .remote import Format, RemoteProvider
from .wire import (
    append_text,
    arguments_text,
    as_object_list,
    build_cache_key,
    copy_native_content,
    get_object,
    is_same_turn,
    map_stop_reason,
    read_openai_usage,
    wire_id,
    wire_name,
)

__all__ = ["OpenAIProvider", "build_output", "can_structure"]

_STOPS: dict[str, StopReason] = {
    "stop": "answer",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "refusal",
}
# The fields of a message that are sent anyway, and those that only a server sends. Neither is kept in `native`.
_USUAL_FIELDS = frozenset(["role", "content", "tool_calls", "refusal", "annotations", "audio", "function_call"])
_USUAL_CALL_FIELDS = frozenset(["id", "type", "function", "index"])
_LEGAL_ID = re.compile(r".{1,40}", re.DOTALL)
# The models from before structured output. https://platform.openai.com/docs/guides/structured-outputs
_UNSTRUCTURED_MODEL = re.compile(
    r"(?:ft:)?(?:gpt-3|gpt-4$|gpt-4-|gpt-4o-2024-05-13|gpt-4o-audio|chatgpt|o1-mini|o1-preview)"
)


class OpenAIProvider(RemoteProvider):
    """
    The provider of GPT, or of the models of the server at `base_url`.

    Its key is in `OPENAI_API_KEY`. Its arguments are those of `RemoteProvider`.

        OpenAIProvider("qwen3", base_url="http://localhost:11434/v1")  # Ollama
    """

    name = "openai"
    _title = "OpenAI"
    _format = Format("openai", openai.NAMING, openai.MEDIA_FORMATS, openai.calls, openai.results)
    _address = "https://api.openai.com/v1"
    _endpoint = "/chat/completions"
    _key_variables: tuple[str, ...] = ("OPENAI_API_KEY",)
    _reserved_options = frozenset(["model", "messages", "tools", "stream"])

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        # Other servers differ in what they do with a schema, most of all beside tools.
        return self._is_openai and can_structure(self.model, tool)

    @property
    def _is_openai(self) -> bool:
        """Whether the server is OpenAI's own, and not another one with the same format."""
        return self._is_own_address

    @property
    def _takes_cache_key(self) -> bool:
        """Whether the server takes `prompt_cache_key`. Other servers may refuse a field that they do not know."""
        return self._is_openai

    def _body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        system = [{"role": "system", "content": request.system}] if request.system else []
        # OpenAI's newer models refuse the old name `max_tokens`, and other servers do not know the new name.
        limit = "max_completion_tokens" if self._is_openai else "max_tokens"
        return {
            "model": self.model,
            "messages": system + self._translate_messages(request),
            "tools": self._definitions(request),
            "response_format": None
            if request.output is None
            else {"type": "json_schema", "json_schema": build_output(request.output)},
            limit: request.max_tokens or self.max_tokens,
            "prompt_cache_key": build_cache_key(request) if self._takes_cache_key else None,
            "stream": stream or None,
            "stream_options": {"include_usage": True} if stream else None,
        }

    def _list_tool_names(self, body: Mapping[str, Any]) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools", ())]

    def _build_part(self, part: str | ResultMedia) -> dict[str, Any]:
        return {"type": "text", "text": part} if isinstance(part, str) else openai.build_media_part(part)

    def _translate_reply(self, message: AssistantMessage) -> list[dict[str, Any]]:
        wire_message = _build_wire_message(message)
        further = copy_native_content(message, self.name)
        if isinstance(further, dict):
            wire_message = _add_further_fields(wire_message, further, message)
        return [wire_message]

    def _replace_ids(self, item: dict[str, Any]) -> dict[str, Any]:
        for holder, key in [(item, "tool_call_id"), *((call, "id") for call in item.get("tool_calls", ()))]:
            if key in holder:
                holder[key] = self._wire_id(holder[key])
        return item

    def _wire_id(self, call_id: Any) -> Any:
        # Other servers get their own ids back, because some servers put further data into an id.
        return wire_id(call_id, _LEGAL_ID) if self._is_openai else call_id

    def _translate_response(self, response: dict[str, Any], request: Request) -> Reply:
        choice = response["choices"][0]
        wire_message: dict[str, Any] = choice["message"]
        refusal = wire_message.get("refusal")
        further = _find_further_fields(wire_message)
        message = AssistantMessage(
            text=_join_text(wire_message.get("content")) or (refusal if isinstance(refusal, str) else ""),
            calls=self._read_calls(response, request),
            native=Native(self.name, further) if further else None,
        )
        stop: StopReason = "refusal" if refusal else map_stop_reason(choice.get("finish_reason"), _STOPS)
        usage = read_openai_usage(get_object(response, "usage"), "prompt_tokens", "completion_tokens")
        return Reply(message=message, stop=stop, usage=usage)

    def _assembler(self) -> _ChatCompletionsAssembler:
        return _ChatCompletionsAssembler()


def can_structure(model: str, tool: Tool) -> bool:
    """Return whether OpenAI's *model* has structured output, and its strict mode can express the schema of *tool*."""
    return not _UNSTRUCTURED_MODEL.match(model) and not rewrite_schema(tool.schema, OPENAI).obstacles


def build_output(tool: Tool) -> dict[str, Any]:
    """Return the name, the schema and the strictness of a final answer in the form of *tool*, for both APIs."""
    schema, is_strict = parameters_of(tool, [], strict=True)
    return {"name": tool.name, "schema": schema, "strict": is_strict}


def _build_wire_message(message: AssistantMessage) -> dict[str, Any]:
    # A message with calls may have no content, and some servers refuse an empty text in it.
    wire_message: dict[str, Any] = {"role": "assistant", "content": message.text or (None if message.calls else "")}
    if message.calls:
        wire_message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": wire_name(openai.NAMING, call.name), "arguments": arguments_text(call)},
            }
            for call in message.calls
        ]
    return wire_message


def _find_further_fields(wire_message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the message, and of each call, that a server has added to text and calls."""
    fields = {name: value for name, value in wire_message.items() if name not in _USUAL_FIELDS and value is not None}
    calls = [
        {"id": call.get("id"), **{name: value for name, value in call.items() if name not in _USUAL_CALL_FIELDS}}
        for call in wire_message.get("tool_calls") or ()
    ]
    added: dict[str, Any] = {"fields": fields} if fields else {}
    return {**added, "calls": calls} if any(len(call) > 1 for call in calls) else added


def _add_further_fields(
    wire_message: dict[str, Any], further: dict[str, Any], message: AssistantMessage
) -> dict[str, Any]:
    fields = {name: value for name, value in get_object(further, "fields").items() if name not in _USUAL_FIELDS}
    calls = as_object_list(further.get("calls"))
    if calls and is_same_turn((call.get("id") for call in calls), message):
        wire_message["tool_calls"] = [
            {**own_call, **{name: value for name, value in call.items() if name not in _USUAL_CALL_FIELDS}}
            for own_call, call in zip(wire_message["tool_calls"], calls, strict=True)
        ]
    return {**fields, **wire_message}


def _join_text(content: Any) -> str:
    """Return the text of a message. Some servers send it as a list of parts."""
    if isinstance(content, list):
        return "".join(
            str(part.get("text") or "") for part in content if get_object({"": part}, "").get("type") == "text"
        )
    return content if isinstance(content, str) else ""


class _ChatCompletionsAssembler:
    """Builds the completion from its chunks: fields of the message grow, and calls grow by their index."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant"}
        self._calls: list[dict[str, Any]] = []
        self._newest_calls: dict[tuple[str, Any], dict[str, Any]] = {}  # with each id and each index
        self._finish_reason: Any = None
        self.size = 0

    @property
    def is_complete(self) -> bool:
        return self._finish_reason is not None

    def feed(self, event: dict[str, Any]) -> str:
        self._fields.update({name: value for name, value in event.items() if name != "choices" and value is not None})
        text = ""
        for choice in (event.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            for name, value in delta.items():
                if name == "tool_calls":
                    for call_delta in value or ():
                        self._grow_call(call_delta)
                elif name != "role" and value is not None:
                    self._grow(self._message, name, value)
            text = _join_text(delta.get("content")) or _join_text(delta.get("refusal"))
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
        return text

    def response(self) -> dict[str, Any]:
        message = {**self._message, "tool_calls": self._calls} if self._calls else self._message
        return {**self._fields, "choices": [{"message": message, "finish_reason": self._finish_reason}]}

    def _grow_call(self, delta: Mapping[str, Any]) -> None:
        call = self._find_or_add_call(delta)
        for name, value in delta.items():
            if name == "function":
                for part, piece in (value or {}).items():
                    is_repeated = part == "name" and piece == call["function"].get("name")
                    self._grow(call["function"], part, None if is_repeated else piece)
            elif value not in (None, ""):
                call[name] = value

    def _find_or_add_call(self, delta: Mapping[str, Any]) -> dict[str, Any]:
        keys = [(name, delta[name]) for name in ("id", "index") if delta.get(name) not in (None, "")]
        candidates = [self._newest_calls[key] for key in keys if key in self._newest_calls] + self._calls[-1:]
        call = next((call for call in candidates if _is_continuation(delta, call)), None)
        if call is None:
            call = {"function": {}}
            self._calls.append(call)
            self.size += 1
        self._newest_calls.update(dict.fromkeys(keys, call))
        return call

    def _grow(self, fields: dict[str, Any], name: str, piece: Any) -> None:
        kind = type(fields.get(name))
        if kind is str and isinstance(piece, str):
            append_text(fields, name, piece)
            self.size += len(piece)
        elif kind is list and isinstance(piece, list):
            fields[name] += piece
            self.size += len(piece)
        elif fields.get(name) is None or piece is not None:
            self.size += fields.get(name) is None and bool(piece)
            fields[name] = list(piece) if isinstance(piece, list) else piece


def _is_continuation(delta: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    """Return whether *delta* continues *call*. Servers may leave out the index and the id, or repeat the index."""
    if delta.get("id") and call.get("id") and delta["id"] != call["id"]:
        return False
    if delta.get("index") is None and not delta.get("id"):
        return not (get_object(delta, "function").get("name") and call["function"].get("name"))
    return delta.get("index") is None or delta["index"] == call.get("index")
