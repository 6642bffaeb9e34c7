"""The format of OpenAI's Chat Completions, which many servers support: vLLM, OpenRouter, Ollama's `/v1`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from .base import Definitions, Naming, Note, Offering, WireObject, list_offered_tools
from .call_ids import sent_id
from .chat_completions import chat_calls, chat_function
from .result_content import check_results, images_of, text_of

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="OpenAI")


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

    These messages cannot hold images, so images follow in a user message.
    """
    answers = check_results(results)
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": sent_id(result.call_id), "content": text_of(result)} for result in answers
    ]
    images: list[dict[str, Any]] = []
    for result in answers:
        for picture in images_of(result):
            images.append(
                {"type": "text", "text": f"An image from the result of `{result.tool}` ({sent_id(result.call_id)}):"}
            )
            images.append({"type": "image_url", "image_url": {"url": picture.url}})
    return [*messages, {"role": "user", "content": images}] if images else messages
