"""The format of OpenAI's Chat Completions, which many servers support: vLLM, OpenRouter, Ollama's `/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from .base import Definitions, Naming, Note, Offering, WireObject, list_offered_tools
from .call_ids import sent_id
from .chat_completions import chat_calls, chat_function
from .media import IMAGE_FORMATS, ResultMedia
from .result_content import check_results, media_of, text_of

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="OpenAI")

MEDIA_FORMATS = IMAGE_FORMATS | {"wav", "mp3", "pdf"}

_LABELS = {"image": "An image", "audio": "A recording", "document": "A document"}


def definitions(catalog: Offering, session: Session | None = None, *, strict: bool = False) -> Definitions:
    """
    Return the value for `tools`.

    With *strict*, the provider makes the model keep to the schemas. Every property is then required, and an optional
    property may be null. What the provider's subset of JSON Schema cannot express is written in the description. If a
    tool cannot be described in this way, it is sent without strict mode, with a note.
    """
    notes: list[Note] = []
    entries = [
        chat_function(tool, NAMING, notes, strict=strict) for tool in list_offered_tools(catalog, session, NAMING)
    ]
    return Definitions(entries, notes)


def calls(response: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """
    Return the calls in *response*: a `ChatCompletion`, its message, or the JSON of either.

    Arguments stay JSON text. With *catalog*, names are resolved exactly. If the text has nulls that strict mode forced,
    it is parsed and these nulls are removed.
    """
    return chat_calls(response, catalog, NAMING, "openai")


def results(results: Sequence[ToolResult]) -> list[WireObject]:
    """
    Return one message for each result.

    These messages hold text alone, so images, sound and PDF documents follow in a user message.
    """
    answers = check_results(results)
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": sent_id(result.call_id), "content": text_of(result, MEDIA_FORMATS)}
        for result in answers
    ]
    content: list[dict[str, Any]] = []
    for result in answers:
        for media in media_of(result, MEDIA_FORMATS):
            label = f"{_LABELS[media.kind]} from the result of `{result.tool}` ({sent_id(result.call_id)}):"
            content += [{"type": "text", "text": label}, build_media_part(media)]
    return [*messages, {"role": "user", "content": content}] if content else messages


def build_media_part(media: ResultMedia) -> dict[str, Any]:
    """Return the part of a user message for an image, sound or a document."""
    match media.kind:
        case "image":
            return {"type": "image_url", "image_url": {"url": media.url}}
        case "audio":
            return {"type": "input_audio", "input_audio": {"data": media.base64, "format": media.name}}
        case "document":
            return {"type": "file", "file": {"filename": f"document.{media.name}", "file_data": media.url}}
