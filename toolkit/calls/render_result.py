"""
Turns the return value of a tool into a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..content import PART_TYPES, FilePart, ImagePart, JsonPart, Part, TextPart
from ..results import KINDS, ErrorInfo, ToolResult
from ..values.codecs import OutputRefusal
from ..values.rendering import as_json, as_text, is_strict_json, replace_surrogates
from ..values.schemas.messages import explain_errors
from ..values.schemas.validator import compile_schema
from .plan import CallPlan

__all__ = ["new_blank", "render_part", "render_result"]


def render_result(value: Any, plan: CallPlan, *, encode: bool = True, check: bool = False) -> ToolResult:
    """
    Return the result for the return value of a tool: a plain value, parts, or a result that the tool made itself.

    This never raises.
    """
    kind = type(value)
    if kind is plan.plain_output_type and not check and encode:
        if kind is int:
            if -(2**62) < value < 2**62:  # a quick comparison; larger numbers take the slower path below
                return _build_plain_result(repr(value), value)
        elif value.isascii():
            return _build_plain_result(value, value)
    if isinstance(value, ToolResult):
        return _sanitize_result(value)
    if isinstance(value, PART_TYPES):
        return _build_from_parts([value])
    if kind in (list, tuple) and any(isinstance(item, PART_TYPES) for item in value):
        return _build_from_parts(value)
    try:
        form, text = _encode_value(value, plan) if encode else _render_unencoded(value)
    except OutputRefusal as refusal:
        reason = replace_surrogates(str(refusal)[:300])
        return ToolResult.failure("failed", f"it returned what its return annotation does not allow: {reason}")
    if check and encode:
        problem = _find_schema_problem(form, plan)
        if problem:
            return ToolResult.failure("failed", f"it returned what its output schema does not allow: {problem}")
    return ToolResult(text, form)


def _build_plain_result(text: str, value: Any) -> ToolResult:
    """Return `ToolResult(text, value)`, made without the constructor, which costs more than the result itself."""
    result = new_blank(ToolResult)
    result.text = text
    result.value = value
    return result


new_blank = ToolResult.__new__


def _encode_value(value: Any, plan: CallPlan) -> tuple[Any, str]:
    """Return *value* encoded by its return annotation, or as it is if it does not fit the annotation."""
    if plan.encode is None:
        return _render_unencoded(value)
    try:
        form = plan.encode(value)
        text = as_text(form)
    except OutputRefusal:
        raise
    except Exception:  # noqa: BLE001 -- the value does not fit the annotation, or a user's codec returned no JSON
        return _render_unencoded(value)
    return (form, text) if is_strict_json(form) and text is replace_surrogates(text) else _render_unencoded(form)


def _render_unencoded(value: Any) -> tuple[Any, str]:
    form = as_json(value)
    return form, as_text(form)


def _find_schema_problem(form: Any, plan: CallPlan) -> str | None:
    schema = plan.tool.output_schema
    if schema is None:
        return None
    if plan.output_validator is None:
        plan.output_validator = compile_schema(schema)
    try:
        error = next(plan.output_validator.iter_errors(form), None)
    except Exception as check_error:  # noqa: BLE001 -- most likely the value is nested too deeply for the validator
        return f"it could not be checked: {type(check_error).__name__}"
    return None if error is None else replace_surrogates("; ".join(map(str, explain_errors([error])))[:300])


# Results and parts that a tool made itself.


def _sanitize_result(result: ToolResult) -> ToolResult:
    """Return a tool's own result, made safe to send: a copy, strict JSON, and of a kind that exists."""
    parts = [_clean_part(part) for part in result.parts or ()]
    value = as_json(result.value)
    text = as_text(as_json(result.text))
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
    )


def _as_json_object(value: Any) -> Any:
    """Return a JSON object for *value*, which should be a mapping, or None if it is empty."""
    form = as_json(value) if value else None
    return form if form is None or isinstance(form, dict) else {"value": form}


def _build_from_parts(items: Iterable[Any]) -> ToolResult:
    parts = [_clean_part(item) for item in items]
    values = [part.value for part in parts if isinstance(part, JsonPart)]
    return ToolResult(_join_parts(parts), values[0] if len(values) == 1 else values or None, parts=parts)


def _clean_part(part: Any) -> Part:
    """Return *part* without content that cannot be sent. A value that is not a part becomes one."""
    match part:
        case TextPart(text=text):
            return TextPart(as_text(as_json(text)))
        case ImagePart(data=bytes() | bytearray() | memoryview() as data, media_type=media_type):
            return ImagePart(bytes(data), as_text(as_json(media_type)))
        case FilePart():
            return FilePart(
                as_text(as_json(part.uri)), _as_optional_text(part.media_type), _as_optional_text(part.name)
            )
        case JsonPart(value=value):
            return JsonPart(as_json(value))
        case str():
            return TextPart(replace_surrogates(part))
        case _:
            return JsonPart(as_json(part))


def _as_optional_text(value: Any) -> str | None:
    return None if value is None else as_text(as_json(value))


def _join_parts(parts: Sequence[Part]) -> str:
    return "\n".join(map(render_part, parts))


def render_part(part: Part) -> str:
    """Return *part* as text."""
    match part:
        case TextPart(text=text):
            return text
        case JsonPart(value=value):
            return as_text(value)
        case ImagePart(data=data, media_type=media_type):
            return f"[{media_type}, {len(data):,} bytes]"
        case _:
            return f"[file {part.uri}]"
