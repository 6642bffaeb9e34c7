"""
The format of OpenAI's Chat Completions, which many servers support: vLLM, OpenRouter, Ollama's `/v1`.

Other formats use the same form of functions and calls: `chat_definitions` and `chat_calls` take the rules for names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from ..spec import Tool
from .base import Definitions, Naming, Note, Offering, WireObject, list_offered_tools
from .call_ids import sent_id
from .media import IMAGE_FORMATS, ResultMedia
from .responses import build_call, build_response_error, get_field, get_list, has_field
from .result_content import check_results, media_of, text_of
from .schemas.dialects import OPENAI
from .schemas.remarks import prepare_schema
from .schemas.rewriting import rewrite_schema

__all__ = ["calls", "chat_calls", "chat_definitions", "definitions", "parameters_of", "results"]

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
    return chat_definitions(catalog, session, NAMING, strict=strict)


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
    match media.kind:
        case "image":
            return {"type": "image_url", "image_url": {"url": media.url}}
        case "audio":
            return {"type": "input_audio", "input_audio": {"data": media.base64, "format": media.name}}
        case "document":
            return {"type": "file", "file": {"filename": f"document.{media.name}", "file_data": media.url}}


def parameters_of(tool: Tool, notes: list[Note], *, strict: bool) -> tuple[dict[str, Any], bool]:
    """
    Return the schema of *tool* as it is sent, and whether it is strict.

    A note is added to *notes* if the schema differs from what the caller asked for.
    """
    if strict:
        rewriting = rewrite_schema(tool.schema, OPENAI)
        if not rewriting.obstacles:
            return rewriting.schema, True
        notes.append(Note(tool.name, f"not strict: {rewriting.why_not}"))
    return prepare_schema(tool, notes), False


def chat_definitions(catalog: Offering, session: Session | None, naming: Naming, *, strict: bool) -> Definitions:
    """Return the offered tools as functions of Chat Completions."""
    notes: list[Note] = []
    entries = []
    for tool in list_offered_tools(catalog, session, naming, notes):
        parameters, is_strict = parameters_of(tool, notes, strict=strict)
        function = {"name": naming.wire(tool.name), "description": tool.description, "parameters": parameters}
        entries.append({"type": "function", "function": {**function, "strict": True} if is_strict else function})
    return Definitions(entries, notes)


def chat_calls(response: Any, catalog: Offering | None, naming: Naming, provider: str) -> list[ToolCall]:
    """Return the calls in the first choice of *response*, or in a message. Errors name the *provider*."""
    message = response
    if has_field(response, "choices"):
        choices = get_list(response, "choices", provider)
        message = get_field(choices[0], "message") if choices else {"tool_calls": []}
    if not has_field(message, "tool_calls", "role"):
        raise build_response_error(provider, response, "choices")
    return [_call(tool_call, catalog, naming) for tool_call in get_list(message, "tool_calls", provider)]


def _call(tool_call: Any, catalog: Offering | None, naming: Naming) -> ToolCall:
    function = get_field(tool_call, "custom")
    arguments = get_field(function, "input")
    if function is None:
        function = get_field(tool_call, "function")
        arguments = get_field(function, "arguments")
    return build_call(naming, catalog, get_field(function, "name"), arguments, get_field(tool_call, "id"))
