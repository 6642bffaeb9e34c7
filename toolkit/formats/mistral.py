"""The format of Mistral's chat: use `definitions(catalog)`, then `calls(response)`, then `messages += results(...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from .base import Definitions, Naming, Offering, WireObject
from .call_ids import sent_id
from .media import IMAGE_FORMATS, ResultMedia
from .openai import chat_calls, chat_definitions
from .result_content import check_results, media_of, text_of

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="Mistral")

_MEDIA_FORMATS = IMAGE_FORMATS | {"wav", "mp3", "pdf"}


def definitions(catalog: Offering, session: Session | None = None, *, strict: bool = False) -> Definitions:
    """Return the value for `tools`. *strict* works as for `openai`, because Mistral accepts OpenAI's form of it."""
    return chat_definitions(catalog, session, NAMING, strict=strict)


def calls(response: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """Return the calls in *response*: a `ChatCompletionResponse`, its message, or the JSON of either."""
    tool_calls = chat_calls(response, catalog, NAMING, "mistral")
    for call in tool_calls:
        if call.id == "null":  # the SDK's value for a missing id
            call.id = ""
    return tool_calls


def results(results: Sequence[ToolResult]) -> list[WireObject]:
    """Return one message for each result, with images, sound and PDF documents next to the text."""
    return [
        {
            "role": "tool",
            "tool_call_id": sent_id(result.call_id),
            "name": NAMING.wire(result.tool),
            "content": _content(result),
        }
        for result in check_results(results)
    ]


def _content(result: ToolResult) -> str | list[dict[str, Any]]:
    text, media = text_of(result, _MEDIA_FORMATS), media_of(result, _MEDIA_FORMATS)
    return [{"type": "text", "text": text}, *map(_chunk, media)] if media else text


def _chunk(media: ResultMedia) -> dict[str, Any]:
    match media.kind:
        case "image":
            return {"type": "image_url", "image_url": {"url": media.url}}
        case "audio":
            return {"type": "input_audio", "input_audio": media.base64}
        case "document":
            return {"type": "document_url", "document_url": media.url}
