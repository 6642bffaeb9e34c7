"""
Results and parts that a tool made itself: what of them can be sent, and how they are shown if nothing can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..content import PART_TYPES, AudioPart, FilePart, ImagePart, JsonPart, Part, ResourcePart, TextPart
from ..errors import ErrorInfo
from ..results import KINDS, ToolResult
from ..values.part_texts import render_part
from ..values.rendering import as_json, as_shown_json, as_text, replace_surrogates, require_json
from ..values.unsendable_value import UnsendableValue

__all__ = ["build_from_parts", "has_parts", "sanitize_result", "show_returned"]


def show_returned(value: Any) -> str:
    """Return *value*, which has no result, as a text for the model: every part of it that can be shown."""
    if isinstance(value, ToolResult):
        return as_text(as_shown_json(value.text or value.value))
    if not has_parts(value):
        return as_text(as_shown_json(value))
    return "\n".join(map(_show_part, [value] if isinstance(value, PART_TYPES) else value))


def _show_part(part: Any) -> str:
    try:
        return _join_parts([_clean_part(part)])
    except UnsendableValue:
        return as_text(as_shown_json(part))


def sanitize_result(result: ToolResult) -> ToolResult:
    """Return a tool's own result, made safe to send: a copy, strict JSON, and of a kind that exists."""
    parts = [_clean_part(part) for part in result.parts or ()]
    value = require_json(result.value)
    text = as_text(require_json(result.text))
    if not text and not result.is_error:
        text = _join_parts(parts) if parts and value is None else as_text(value)
    error = result.error
    return ToolResult(
        text,
        value,
        result.kind if result.kind in KINDS else "failed",
        error=None
        if error is None
        else ErrorInfo(as_text(as_json(error.message)), _as_json_object(error.details) or {}, error.cause),
        parts=parts,
        request=None
        if result.request is None
        else replace(result.request, arguments=_as_json_object(result.request.arguments)),
        metadata=_as_json_object(result.metadata),
        full_text=None if result.full_text is None else as_text(require_json(result.full_text)),
    )


def _as_json_object(value: Any) -> Any:
    """Return a JSON object for *value*, which should be a mapping, or None if it is empty."""
    form = as_json(value) if value else None
    return form if form is None or isinstance(form, dict) else {"value": form}


def has_parts(value: Any) -> bool:
    return isinstance(value, PART_TYPES) or (
        type(value) in (list, tuple) and any(isinstance(item, PART_TYPES) for item in value)
    )


def build_from_parts(value: Part | Iterable[Any]) -> ToolResult:
    parts = [_clean_part(item) for item in ([value] if isinstance(value, PART_TYPES) else value)]
    values = [part.value for part in parts if isinstance(part, JsonPart)]
    return ToolResult(_join_parts(parts), values[0] if len(values) == 1 else values or None, parts=parts)


def _clean_part(part: Any) -> Part:
    """Return *part* without content that cannot be sent. A value that is not a part becomes one."""
    match part:
        case TextPart(text=text):
            return TextPart(as_text(require_json(text)))
        case ImagePart(data=bytes() | bytearray() | memoryview() as data, media_type=media_type):
            return ImagePart(bytes(data), as_text(require_json(media_type)))
        case FilePart():
            return FilePart(
                as_text(require_json(part.uri)), _as_optional_text(part.media_type), _as_optional_text(part.name)
            )
        case AudioPart():
            return part
        case ResourcePart(content=str() as content):
            return replace(part, content=replace_surrogates(content))
        case ResourcePart():
            return part
        case JsonPart(value=value):
            return JsonPart(require_json(value))
        case str():
            return TextPart(replace_surrogates(part))
        case _:
            return JsonPart(require_json(part))


def _as_optional_text(value: Any) -> str | None:
    return None if value is None else as_text(require_json(value))


def _join_parts(parts: Sequence[Part]) -> str:
    return "\n".join(map(render_part, parts))
