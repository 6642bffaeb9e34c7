"""
The format of Google's Gemini.

Use `config={"tools": definitions(catalog)}`, then `calls(response)`, then `contents += results(...)`.

Parameters are sent as JSON Schema (`parametersJsonSchema`), in the subset that Gemini reads. Gemini's older OpenAPI
form can express less. Append the model's own content to the conversation without changes, because it has the signatures
of the model's thoughts.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from .base import Definitions, Naming, Note, Offering, WireObject, list_offered_tools
from .call_ids import sent_id
from .media import IMAGE_FORMATS, ResultMedia
from .responses import build_call, build_response_error, get_field, get_first_field, get_list, has_field
from .result_content import check_results, get_provider_id, media_of, text_of, value_of
from .schemas.dialects import GEMINI
from .schemas.rewriting import rewrite_schema

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="Gemini", allows_dots=True, max_chars=128)

_RESPONSE_FORMATS = IMAGE_FORMATS | {"pdf"}
_AUDIO_FORMATS = frozenset(("wav", "mp3", "flac", "ogg", "aac", "aiff"))
MEDIA_FORMATS = _RESPONSE_FORMATS | _AUDIO_FORMATS

_NO_PARAMETERS = {"type": "object", "additionalProperties": False}


def definitions(catalog: Offering, session: Session | None = None, *, strict: bool = False) -> Definitions:
    """
    Return the value for `tools`: one tool with all functions, or an empty list if there are none.

    The schemas are always in the subset that Gemini reads. *strict* changes nothing here, and a note says so. To make
    Gemini keep the model to all schemas of a request, set `function_calling_config={"mode": "VALIDATED"}` in
    `tool_config`.
    """
    notes: list[Note] = []
    if strict:
        notes.append(Note("", 'Gemini has no strict tools; set `function_calling_config` to {"mode": "VALIDATED"}'))
    functions: list[dict[str, Any]] = []
    for tool in list_offered_tools(catalog, session, NAMING, notes):
        rewriting = rewrite_schema(tool.schema, GEMINI)
        if rewriting.obstacles:
            notes.append(Note(tool.name, f"sent open where {rewriting.why_not}"))
        function: dict[str, Any] = {"name": NAMING.wire(tool.name), "description": tool.description}
        # Gemini refuses an object without properties, so a function without parameters has no schema.
        if rewriting.schema != _NO_PARAMETERS:
            function["parametersJsonSchema"] = rewriting.schema
        functions.append(function)
    return Definitions([{"functionDeclarations": functions}] if functions else [], notes)


def calls(response: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """
    Return the calls in *response*: a `GenerateContentResponse`, a `Content`, or the JSON of either.

    If the model gave no id, the call has none. The signature of a thought is in `metadata["thought_signature"]`, as
    base64.
    """
    if has_field(response, "candidates", "promptFeedback", "usageMetadata"):
        candidates = get_list(response, "candidates", "gemini")
        content = get_field(candidates[0], "content") if candidates else None
    elif has_field(response, "parts"):
        content = response
    else:
        raise build_response_error("gemini", response, "candidates")
    return [call for part in get_list(content, "parts", "gemini") if (call := _call(part, catalog)) is not None]


def results(results: Sequence[ToolResult]) -> list[WireObject]:
    """
    Return one user content with all results of a turn. A structured value is sent as it is, and anything else as text.

    A function response can hold images and PDF documents. Sound follows after all function responses.
    """
    answers = check_results(results)
    parts: list[dict[str, Any]] = [{"functionResponse": _answer(result)} for result in answers]
    for result in answers:
        for media in media_of(result, _AUDIO_FORMATS):
            label = f"A recording from the result of `{result.tool}` ({sent_id(result.call_id)}):"
            parts += [{"text": label}, build_media_part(media)]
    return [{"role": "user", "parts": parts}] if parts else []


def _call(part: Any, catalog: Offering | None) -> ToolCall | None:
    call = get_first_field(part, "functionCall", "function_call")
    if call is None:
        return None
    signature = get_first_field(part, "thoughtSignature", "thought_signature")
    if isinstance(signature, bytes):
        signature = base64.b64encode(signature).decode()
    metadata = {"thought_signature": signature} if isinstance(signature, str) else None
    name, arguments, call_id = (get_field(call, field) for field in ("name", "args", "id"))
    return build_call(NAMING, catalog, name, arguments, call_id, metadata=metadata)


def _answer(result: ToolResult) -> dict[str, Any]:
    value = value_of(result, MEDIA_FORMATS)
    output = text_of(result, MEDIA_FORMATS) if value is None else value
    response = {"error" if result.is_error else "output": output}
    answer: dict[str, Any] = {"name": NAMING.wire(result.tool), "response": response}
    call_id = get_provider_id(result)
    if call_id is not None:
        answer["id"] = call_id
    media = media_of(result, _RESPONSE_FORMATS)
    if media:
        answer["parts"] = [build_media_part(item) for item in media]
    return answer


def build_media_part(media: ResultMedia) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media.media_type, "data": media.base64}}
