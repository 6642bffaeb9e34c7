"""
The provider for Converse, the API of Amazon Bedrock.

The thinking of the model has a signature, and is sent back unchanged. The events of a stream are binary.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..formats import bedrock
from ..formats.base import CacheOption, check_cache
from ..formats.media import ResultMedia
from ..values.strictjson.checks import copy_json
from .base import Reply, Request, StopReason, Usage
from .http.api_keys import ApiKey
from .http.exchange import OutgoingRequest
from .http.failures import ProviderFailure
from .http.sse import MAX_EVENT_BYTES
from .messages import AssistantMessage, Native
from .remote import Format, RemoteProvider
from .wire import (
    UNREADABLE,
    append_text,
    arguments_object,
    as_object_list,
    copy_native_content,
    find_ends,
    get_object,
    is_same_turn,
    map_stop_reason,
    parse_arguments,
    read_token_count,
    wire_id,
    wire_name,
)

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["AwsKey", "BedrockProvider"]

_STOPS: dict[str, StopReason] = {
    "end_turn": "answer",
    "stop_sequence": "answer",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}
_LEGAL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
# https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
_CACHING_MODEL = re.compile(r"anthropic\.claude-(?!instant|v?[12]|3-(?:haiku|sonnet|opus|5-sonnet))|amazon\.nova-")
_REGION = re.compile(r"[a-z]{2}[a-z0-9-]{1,30}")  # it is part of the address
_TOKEN_VARIABLE = "AWS_BEARER_TOKEN_BEDROCK"  # noqa: S105 -- the name of a variable


class BedrockProvider(RemoteProvider):
    """
    The provider of the models of Amazon Bedrock. It needs the package botocore.

    A request is signed with the credentials that botocore finds, or has the key in `AWS_BEARER_TOKEN_BEDROCK`.

    Args:
        region: The region, if it is not in `AWS_REGION` or `AWS_DEFAULT_REGION`.
        cache: Whether to put cache points after the tools, the system text and the conversation. "5m" or "1h" also sets
            how long the cache lives. If it is not given, the models get them that are known to take them.
        options: The arguments of `RemoteProvider`. An `api_key` is a key of Bedrock.
    """

    name = "bedrock"
    _title = "Bedrock"
    _format = Format("bedrock", bedrock.NAMING, bedrock.MEDIA_FORMATS, bedrock.calls, bedrock.results)
    _key_variables = (_TOKEN_VARIABLE,)
    _reserved_options = frozenset(["messages", "system", "toolConfig"])

    def __init__(
        self, model: str, *, region: str | None = None, cache: CacheOption | None = None, **options: Any
    ) -> None:
        self.cache: CacheOption = _CACHING_MODEL.search(str(model)) is not None if cache is None else cache
        check_cache(self.cache)
        environ = os.environ
        self.region = region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or ""
        if not _REGION.fullmatch(self.region):
            raise ValueError(
                f"BedrockProvider: `region` cannot be {self.region[:100]!r}; set AWS_REGION, or give region="
            )
        self._require_package("botocore", "botocore")
        self._address = f"https://bedrock-runtime.{self.region}.amazonaws.com"
        super().__init__(model, **options)

    def _find_key(self) -> ApiKey | None:
        if self._key is None and self._is_own_address and not os.environ.get(_TOKEN_VARIABLE):
            self._key = AwsKey(self.region)
        return super()._find_key()

    def _path(self, *, stream: bool) -> str:
        return f"/model/{quote(self.model, safe='')}/{'converse-stream' if stream else 'converse'}"

    def _build_outgoing(self, request: Request, *, stream: bool) -> OutgoingRequest:
        return replace(super()._build_outgoing(request, stream=stream), build_parser=AwsEventParser)

    def _body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        tools, messages = self._definitions(request), self._translate_messages(request)
        limit = request.max_tokens or self.max_tokens
        system: list[dict[str, Any]] = [{"text": request.system}] if request.system else []
        if self.cache:
            ends = [message["content"] for message in find_ends(messages, has_tools=bool(tools))]
            for content in filter(None, (system, *ends)):
                content.append(bedrock.build_cache_point(self.cache))
        body = {
            "system": system or None,
            "messages": messages,
            "toolConfig": {"tools": tools} if tools else None,
            "inferenceConfig": {"maxTokens": limit} if limit else None,
        }
        return {name: _encode_bytes(value) for name, value in body.items()}

    def _list_tool_names(self, body: Mapping[str, Any]) -> list[str]:
        return [
            tool["toolSpec"]["name"] for tool in get_object(body, "toolConfig").get("tools", ()) if "toolSpec" in tool
        ]

    def _choose_definition_options(self, request: Request) -> dict[str, Any]:
        return {"cache": False if "amazon.nova" in self.model else self.cache}  # Nova takes no point after tools

    def _translate_messages(self, request: Request) -> list[dict[str, Any]]:
        merged: list[dict[str, Any]] = []
        for message in super()._translate_messages(request):
            if merged and merged[-1]["role"] == message["role"]:  # the API wants the roles in turn
                merged[-1]["content"] += message["content"]
            else:
                merged.append(message)
        blocks = [block for message in merged if message["role"] == "user" for block in message["content"]]
        documents = [block["document"] for block in blocks if "document" in block]
        for number, document in enumerate(documents, 1):
            document["name"] = f"document-{number}"  # the API wants a name for each, which no other one has
        return merged

    def _build_part(self, part: str | ResultMedia) -> dict[str, Any]:
        return {"text": part} if isinstance(part, str) else bedrock.build_media_block(part, "document")

    def _translate_reply(self, message: AssistantMessage) -> list[dict[str, Any]]:
        content = as_object_list(copy_native_content(message, self.name))
        if content is None or not is_same_turn(_list_call_ids(content), message):
            content = _build_content(message)
        content = [block for block in content if str(block.get("text", "x")).strip()]  # a blank text is refused
        return [{"role": "assistant", "content": content}] if content else []

    def _replace_ids(self, item: dict[str, Any]) -> dict[str, Any]:
        for block in item["content"]:
            for kind in ("toolUse", "toolResult"):
                if isinstance(block.get(kind), dict):
                    block[kind]["toolUseId"] = wire_id(block[kind].get("toolUseId"), _LEGAL_ID)
        return item

    def _translate_response(self, response: dict[str, Any], request: Request) -> Reply:
        content = [block for block in response["output"]["message"]["content"] if isinstance(block, dict)]
        plain = AssistantMessage(
            text="".join(block["text"] for block in content if "text" in block),
            calls=self._read_calls(response, request),
        )
        content = [_make_sendable(block) for block in content]
        native = None if content == _build_content(plain) else Native(self.name, content)
        return Reply(
            message=replace(plain, native=native),
            stop=map_stop_reason(response.get("stopReason"), _STOPS),
            usage=_read_usage(get_object(response, "usage")),
        )

    def _assembler(self) -> _ConverseAssembler:
        return _ConverseAssembler()


class AwsKey(ApiKey):
    """
    The credentials of an AWS account, which sign each request (Signature Version 4). Expired ones are renewed.

    Raises:
        ProviderFailure: There are no credentials.
    """

    __slots__ = ("_credentials", "_frozen", "_region")

    def __init__(self, region: str) -> None:
        import botocore.session

        self._credentials = botocore.session.get_session().get_credentials()
        if self._credentials is None:
            raise ProviderFailure(
                "Bedrock needs credentials, and there are none: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
                why="key",
            )
        self._region = region
        self._freeze()

    async def refresh(self) -> None:
        await asyncio.to_thread(self._freeze)  # it may ask a server for new credentials

    def authorize(self, request: httpx.Request, header: str, form: str) -> None:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        unsigned = {"content-type": request.headers["content-type"]}
        signed = AWSRequest("POST", str(request.url), headers=unsigned, data=request.content)
        SigV4Auth(self._frozen, "bedrock", self._region).add_auth(signed)
        request.headers.update(dict(signed.headers.items()))

    def _freeze(self) -> None:
        from botocore.exceptions import BotoCoreError

        try:
            self._frozen = self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise ProviderFailure(f"Bedrock: the credentials cannot be renewed: {error}", why="key") from None
        super().__init__(self._frozen.secret_key, source="the credentials of AWS")


def _build_content(message: AssistantMessage) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = [{"text": message.text}] if message.text else []
    for call in message.calls:
        name = wire_name(bedrock.NAMING, call.name)
        content.append({"toolUse": {"toolUseId": call.id, "name": name, "input": arguments_object(call)}})
    return content


def _list_call_ids(content: list[dict[str, Any]]) -> list[Any]:
    # A call that the provider ran itself has a type.
    uses = [get_object(block, "toolUse") for block in content if "toolUse" in block]
    return [use.get("toolUseId") for use in uses if use.get("type") is None]


def _make_sendable(block: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of *block* in which the arguments of a call are an object, because the API accepts nothing else."""
    block = copy_json(block)
    use = block.get("toolUse")
    if isinstance(use, dict) and not isinstance(use.get("input"), dict):
        use["input"] = {UNREADABLE: use["input"]} if use.get("input") is not None else {}
    return block


def _encode_bytes(value: Any) -> Any:
    """Return *value* with bytes as Base64, which is how they are written in JSON."""
    if isinstance(value, dict):
        return {name: _encode_bytes(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_encode_bytes(item) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _read_usage(usage: Mapping[str, Any]) -> Usage:
    cache_reads, cache_writes = (
        read_token_count(usage, "cacheReadInputTokens"),
        read_token_count(usage, "cacheWriteInputTokens"),
    )
    return Usage(
        input_tokens=read_token_count(usage, "inputTokens") + cache_reads + cache_writes,
        output_tokens=read_token_count(usage, "outputTokens"),
        cached_tokens=cache_reads,
        cache_write_tokens=cache_writes,
    )


class _ConverseAssembler:
    """Builds the answer from its events: blocks start, grow by deltas, and the message stops. The usage comes last."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._fields: dict[str, Any] = {}
        self.size = 0

    @property
    def is_complete(self) -> bool:
        return "stopReason" in self._fields

    def feed(self, event: dict[str, Any]) -> str:
        for kind, data in event.items():
            if kind == "contentBlockStart":
                self._blocks[data["contentBlockIndex"]] = copy_json(dict(data["start"]))
                self.size += 1
            elif kind == "contentBlockDelta":
                return self._grow(self._blocks.setdefault(data["contentBlockIndex"], {}), data["delta"])
            elif kind in ("messageStop", "metadata"):
                self._fields.update(data)
        return ""

    def response(self) -> dict[str, Any]:
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        for block in blocks:
            if "toolUse" in block:
                block["toolUse"]["input"] = parse_arguments(block["toolUse"].get("input") or "")
        return {**self._fields, "output": {"message": {"role": "assistant", "content": blocks}}}

    def _grow(self, block: dict[str, Any], delta: Mapping[str, Any]) -> str:
        text = delta.get("text", "")
        if text:
            append_text(block, "text", text)
        if "toolUse" in delta:
            append_text(block.setdefault("toolUse", {}), "input", delta["toolUse"]["input"])
            self.size += len(delta["toolUse"]["input"])
        for name, piece in get_object(delta, "reasoningContent").items():
            thought = block.setdefault("reasoningContent", {})
            if name != "redactedContent":
                thought = thought.setdefault("reasoningText", {})
            append_text(thought, name, piece)
            self.size += len(piece)
        self.size += len(text)
        return str(text)


_STATUSES = {
    "throttlingException": 429,
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "serviceUnavailableException": 503,
    "modelTimeoutException": 504,
}


class AwsEventParser:
    """A parser with the methods of `EventParser`. It uses botocore."""

    def __init__(self) -> None:
        from botocore.eventstream import EventStreamBuffer

        self._buffer = EventStreamBuffer()
        self._size = 0  # of the bytes since the last event

    def feed(self, chunk: bytes) -> list[str]:
        """Return the events that *chunk* completes. Raise `ValueError` if the stream cannot be read."""
        from botocore.eventstream import ParserError

        self._buffer.add_data(chunk)
        try:
            events = [_read_event(message.headers, message.payload) for message in self._buffer]
        except ParserError as error:
            raise ValueError(f"the stream cannot be read: {error}") from error
        self._size = 0 if events else self._size + len(chunk)
        if self._size > MAX_EVENT_BYTES:
            raise ValueError(f"an event of more than {MAX_EVENT_BYTES:,} bytes is too long")
        return events

    def close(self) -> list[str]:
        """Return nothing: an event that was cut off cannot be read."""
        return []


def _read_event(headers: Any, payload: bytes) -> str:
    text = payload.decode("utf-8", "replace")
    if headers.get(":message-type") == "event":
        return f"{{{json.dumps(str(headers.get(':event-type')))}:{text or '{}'}}}"
    kind = str(headers.get(":exception-type") or headers.get(":error-code"))
    problem = {"type": kind, "code": _STATUSES.get(kind, 400), "message": text or str(headers.get(":error-message"))}
    return json.dumps({"error": problem})
