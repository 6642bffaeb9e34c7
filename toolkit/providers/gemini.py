"""
The provider for Google's Gemini API.

The parts of an answer carry signatures of the model's thoughts. They are sent back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ..formats import gemini
from ..formats.media import ResultMedia
from ..formats.result_content import get_provider_id
from ..formats.schemas.dialects import GEMINI
from ..formats.schemas.rewriting import rewrite_schema
from ..results import ToolCall, ToolResult
from ..spec import Tool
from .base import Reply, Request, StopReason, Usage
from .messages import AssistantMessage, Native, ToolMessage
from .remote import Format, RemoteProvider
from .wire import (
    append_text,
    arguments_object,
    as_object_list,
    copy_native_content,
    get_object,
    map_stop_reason,
    read_token_count,
    wire_name,
)

__all__ = ["GeminiProvider"]

_STOPS: dict[str, StopReason] = {
    "STOP": "answer",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(
        ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"], "refusal"
    ),
}
_VERSION_AT_END = re.compile(r"/v\d\w*$")
# Models of the third generation and later refuse a call without a signature. `_FOREIGN_SIGNATURE` is accepted as a
# signature: it says that the call comes from elsewhere. https://ai.google.dev/gemini-api/docs/thought-signatures
_OLDER_MODEL = re.compile(r"(?:models/)?gemini-[12][.-]")
_FOREIGN_SIGNATURE = "skip_thought_signature_validator"


class GeminiProvider(RemoteProvider):
    """
    The provider of Gemini. Its key is in `GEMINI_API_KEY` or `GOOGLE_API_KEY`.

    Its arguments are those of `RemoteProvider`. With `strict`, the model has to follow all schemas of a request.
    A `base_url` may end with a version, such as `/v1beta`. With the name of a context cache in
    `options={"cachedContent": ...}`, the system text and the tools are those of the cache.
    """

    name = "gemini"
    _title = "Gemini"
    _format = Format("gemini", gemini.NAMING, gemini.MEDIA_FORMATS, gemini.calls, gemini.results)
    _address = "https://generativelanguage.googleapis.com"
    _key_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    _key_header = ("x-goog-api-key", "{}")
    _model_pattern = re.compile(r"[A-Za-z0-9][\w.@-]*(?:/[A-Za-z0-9][\w.@-]*)*", re.ASCII)  # it is part of the address
    _parts_field = "parts"
    _model_and_id_fields = ("modelVersion", "responseId")
    _reserved_options = frozenset(["model", "contents", "tools", "systemInstruction", "system_instruction"])

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        # Models before the third generation refuse a schema for the text beside tools.
        return not (has_tools and _OLDER_MODEL.match(self.model))

    def _path(self, *, stream: bool) -> str:
        name = self.model if "/" in self.model else f"models/{self.model}"
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        version = "" if _VERSION_AT_END.search(self._exchange.base_url) else "/v1"
        return f"{version}/{quote(name)}:{verb}"

    def _body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        limit = request.max_tokens or self.max_tokens
        tools = self._definitions(request)
        generation = {
            **({"maxOutputTokens": limit} if limit else {}),
            **({} if request.output is None else _build_output(request.output)),
        }
        # A context cache holds these itself, and the API refuses them beside it.
        held = ("systemInstruction", "tools", "toolConfig") if self.options.get("cachedContent") else ()
        body = {
            "systemInstruction": {"parts": [{"text": request.system}]} if request.system else None,
            "contents": self._translate_messages(request),
            "tools": tools,
            "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}} if tools and self.strict else None,
            "generationConfig": generation or None,
        }
        return {name: value for name, value in body.items() if name not in held}

    def _choose_definition_options(self, request: Request) -> dict[str, Any]:
        return {"strict": False}  # it is not set for a tool, but in `toolConfig` for all tools

    def _list_tool_names(self, body: Mapping[str, Any]) -> list[str]:
        return [function["name"] for tool in body.get("tools", ()) for function in tool["functionDeclarations"]]

    def _translate_messages(self, request: Request) -> list[dict[str, Any]]:
        contents: list[dict[str, Any]] = []
        for message in request.messages:
            new_contents = self._translate_message(message, request)
            if isinstance(message, ToolMessage) and contents:
                _copy_call_names(contents[-1]["parts"], new_contents)
            contents += new_contents
        return contents

    def _build_part(self, part: str | ResultMedia) -> dict[str, Any]:
        return {"text": part} if isinstance(part, str) else gemini.build_media_part(part)

    def _translate_reply(self, message: AssistantMessage) -> list[dict[str, Any]]:
        parts = as_object_list(copy_native_content(message, self.name))
        if parts is None or not _has_same_calls(parts, message):
            parts = self._build_parts(message)
        return [{"role": "model", "parts": parts}] if parts else []

    def _build_parts(self, message: AssistantMessage) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = [{"text": message.text}] if message.text else []
        for number, call in enumerate(message.calls):
            part: dict[str, Any] = {"functionCall": _build_function_call(call)}
            if not number and not _OLDER_MODEL.match(self.model):
                part["thoughtSignature"] = _FOREIGN_SIGNATURE
            parts.append(part)
        return parts

    def _translate_response(self, response: dict[str, Any], request: Request) -> Reply:
        candidates = response.get("candidates") or []
        is_blocked = not candidates and get_object(response, "promptFeedback").get("blockReason")
        candidate = {} if is_blocked else candidates[0]
        parts = [part for part in get_object(candidate, "content").get("parts") or () if isinstance(part, dict)]
        text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
        message = AssistantMessage(
            text=text, calls=self._read_calls(response, request), native=Native(self.name, parts) if parts else None
        )
        stop = "refusal" if is_blocked else map_stop_reason(candidate.get("finishReason"), _STOPS)
        return Reply(message=message, stop=stop, usage=_read_usage(get_object(response, "usageMetadata")))

    def _assembler(self) -> _GeminiAssembler:
        return _GeminiAssembler()


def _build_output(tool: Tool) -> dict[str, Any]:
    """Return the fields of `generationConfig` for a final answer in the form of *tool*."""
    schema = rewrite_schema(tool.schema, GEMINI).schema
    return {"responseMimeType": "application/json", "responseJsonSchema": schema}


def _build_function_call(call: ToolCall) -> dict[str, Any]:
    function_call: dict[str, Any] = {"name": wire_name(gemini.NAMING, call.name), "args": arguments_object(call)}
    call_id = get_provider_id(ToolResult(call_id=call.id))  # the same id as the result is sent with
    return function_call if call_id is None else {**function_call, "id": call_id}


def _copy_call_names(call_parts: list[dict[str, Any]], answers: list[dict[str, Any]]) -> None:
    """Give each answer the name and the id of its call, because the model may have used an alias or a wrong name."""
    calls = [part["functionCall"] for part in call_parts if "functionCall" in part]
    parts = [part for content in answers for part in content["parts"]]
    responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
    if len(calls) == len(responses):
        for call, answer in zip(calls, responses, strict=True):
            answer["name"] = call["name"]
            answer.pop("id", None)
            answer.update({"id": call["id"]} if call.get("id") else {})


def _has_same_calls(parts: list[dict[str, Any]], message: AssistantMessage) -> bool:
    """Return whether *parts* have the calls of *message*. The names are compared, because Gemini gives no ids."""
    names = [get_object(part, "functionCall").get("name") for part in parts if "functionCall" in part]
    return names == [gemini.NAMING.wire(call.name) for call in message.calls]


def _read_usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=read_token_count(usage, "promptTokenCount") + read_token_count(usage, "toolUsePromptTokenCount"),
        output_tokens=read_token_count(usage, "candidatesTokenCount") + read_token_count(usage, "thoughtsTokenCount"),
        cached_tokens=read_token_count(usage, "cachedContentTokenCount"),
    )


class _GeminiAssembler:
    """Builds the answer from its chunks. Each chunk is an answer with further parts."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self.size = 0

    @property
    def is_complete(self) -> bool:
        return bool(
            self._candidate.get("finishReason") or get_object(self._fields, "promptFeedback").get("blockReason")
        )

    def feed(self, event: dict[str, Any]) -> str:
        self._fields.update(event)
        text = ""
        for candidate in (event.get("candidates") or ())[:1]:
            self._candidate.update(candidate)
            for part in get_object(candidate, "content").get("parts") or ():
                self._add(dict(part))
                if "text" in part and not part.get("thought"):
                    text += part["text"]
        return text

    def response(self) -> dict[str, Any]:
        if not self._candidate:
            return self._fields
        content = {"role": "model", "parts": self._parts}
        return {**self._fields, "candidates": [{**self._candidate, "content": content}]}

    def _add(self, part: dict[str, Any]) -> None:
        """Append *part*, or append its text to the last part if both have only text of the same kind."""
        self.size += any(value for name, value in part.items() if name != "thought")
        last = self._parts[-1] if self._parts else {}
        is_text = "text" in last and "text" in part and last.get("thought") == part.get("thought")
        if is_text and not (last.keys() | part.keys()) - {"text", "thought"}:
            append_text(last, "text", part["text"])
        else:
            self._parts.append(part)
