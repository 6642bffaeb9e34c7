"""
Turns what a tool returned or raised into a result.
"""

from __future__ import annotations

import logging
import traceback
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from .attempt import TimedOut
from .errors import BadArgs, Problem, Safety, ToolError, Transient
from .jsonschemas import validator
from .parts import PARTS, FilePart, ImagePart, JsonPart, Part, TextPart
from .plans import Plan, Stopped
from .redaction import Redaction
from .rendering import as_json, as_text, cleaned, is_strict
from .results import KINDS, ErrorInfo, Kind, ToolResult
from .session import Session
from .wording import problems_of

__all__ = ["BLANK", "failure", "hook_failure", "introduced", "rendered", "truncated"]

_log = logging.getLogger("toolkit")


def rendered(value: Any, plan: Plan, *, encode: bool = True, check: bool = False) -> ToolResult:
    """The result for what a tool returned: a plain value, parts, or a result of its own making. Never fails."""
    kind = type(value)
    if kind is plan.plain and not check and encode:
        if kind is int:
            if -(2**62) < value < 2**62:  # quickly compared; larger ones may take the longer way
                return _plain(repr(value), value)
        elif value.isascii():
            return _plain(value, value)
    if isinstance(value, ToolResult):
        return _own(value)
    if isinstance(value, PARTS):
        return _of_parts([value])
    if kind in (list, tuple) and any(isinstance(each, PARTS) for each in value):
        return _of_parts(value)
    form, text = _encoded(value, plan) if encode else _shown_as_it_is(value)
    if check and encode:
        wrong = _against_schema(form, plan)
        if wrong:
            return ToolResult.error("tool", f"it returned what its output schema does not allow: {wrong}")
    return ToolResult(text, form)


def _plain(text: str, value: Any) -> ToolResult:
    """`ToolResult(text, value)` without the constructor, which costs more than the result."""
    result = BLANK(ToolResult)
    result.text = text
    result.value = value
    return result


BLANK = ToolResult.__new__


def _encoded(value: Any, plan: Plan) -> tuple[Any, str]:
    """*value* as the return annotation promises it; as it is, if it is something else."""
    if plan.encode is None:
        return _shown_as_it_is(value)
    try:
        form = plan.encode(value)
        text = as_text(form)
    except Exception:  # noqa: BLE001 -- not what the annotation promised, or a stranger's codec that gives no JSON
        return _shown_as_it_is(value)
    return (form, text) if is_strict(form) and text is cleaned(text) else _shown_as_it_is(form)


def _shown_as_it_is(value: Any) -> tuple[Any, str]:
    form = as_json(value)
    return form, as_text(form)


def _against_schema(form: Any, plan: Plan) -> str | None:
    schema = plan.tool.output_schema
    if schema is None:
        return None
    if plan.output_judge is None:
        plan.output_judge = validator(schema)
    try:
        error = next(plan.output_judge.iter_errors(form), None)
    except Exception as broken:  # noqa: BLE001 -- too deep for it, most likely
        return f"it could not be checked: {type(broken).__name__}"
    return None if error is None else cleaned("; ".join(map(str, problems_of([error])))[:300])


# What a tool made itself.


def _own(result: ToolResult) -> ToolResult:
    """A tool's own result, made safe to send: a copy, strict JSON, and of a kind that exists."""
    parts = [_clean(part) for part in result.parts or ()]
    value = as_json(result.value)
    text = as_text(as_json(result.text))
    if not text and not result.is_error:
        text = _joined(parts) if parts and value is None else as_text(value)
    error = result.error
    return ToolResult(
        text,
        value,
        result.kind if result.kind in KINDS else "tool",
        error=None
        if error is None
        else ErrorInfo(as_text(as_json(error.message)), _object(error.details) or {}, error.cause),
        parts=parts,
        request=None
        if result.request is None
        else replace(result.request, arguments=_object(result.request.arguments)),
        metadata=_object(result.metadata),
    )


def _object(value: Any) -> Any:
    """A JSON object for *value*, which should be one; None for nothing."""
    form = as_json(value) if value else None
    return form if form is None or isinstance(form, dict) else {"value": form}


def _of_parts(items: Iterable[Any]) -> ToolResult:
    parts = [_clean(each) for each in items]
    values = [part.value for part in parts if isinstance(part, JsonPart)]
    return ToolResult(_joined(parts), values[0] if len(values) == 1 else values or None, parts=parts)


def _clean(part: Any) -> Part:
    """*part* with nothing in it that cannot be sent; what is no part becomes one."""
    match part:
        case TextPart(text=text):
            return TextPart(as_text(as_json(text)))
        case ImagePart(data=bytes() | bytearray() | memoryview() as data, media_type=media_type):
            return ImagePart(bytes(data), as_text(as_json(media_type)))
        case FilePart():
            return FilePart(as_text(as_json(part.uri)), _text(part.media_type), _text(part.name))
        case JsonPart(value=value):
            return JsonPart(as_json(value))
        case str():
            return TextPart(cleaned(part))
        case _:
            return JsonPart(as_json(part))


def _text(value: Any) -> str | None:
    return None if value is None else as_text(as_json(value))


def _joined(parts: Sequence[Part]) -> str:
    return "\n".join(map(_shown, parts))


def _shown(part: Part) -> str:
    match part:
        case TextPart(text=text):
            return text
        case JsonPart(value=value):
            return as_text(value)
        case ImagePart(data=data, media_type=media_type):
            return f"[{media_type}, {len(data):,} bytes]"
        case _:
            return f"[file {part.uri}]"


# What went wrong.


_KINDS: list[tuple[type[ToolError], Kind]] = [
    (BadArgs, "bad_args"),
    (Safety, "safety"),
    (TimedOut, "timeout"),
    (Transient, "transient"),
    (Stopped, "cancelled"),
    (ToolError, "tool"),
]


def failure(
    error: Exception, plan: Plan, *, cause: BaseException | None = None, redaction: Redaction | None = None
) -> ToolResult:
    """The result for an error that was classified; the exception itself is logged once, masked by *redaction*."""
    if isinstance(error, BadArgs) and plan.tool.signature.secrets:
        error = _without_secrets(error, plan.tool.signature.secrets)
    message = _message(error)
    details: dict[str, Any] = {}
    if isinstance(error, BadArgs):
        details["problems"] = as_json(
            [{"path": problem.path, "message": problem.message} for problem in error.problems]
        )
    if isinstance(error, Transient):
        details["happened"] = error.happened
        if error.happened == "maybe" and not plan.tool.facts.read_only:
            message += "; it may or may not have happened"
        if error.retry_after_seconds is not None:
            details["retry_after_seconds"] = as_json(error.retry_after_seconds)
    cause = error if cause is None else cause
    if isinstance(cause, ToolError):
        if not isinstance(cause, (BadArgs, Safety)):  # raised on purpose: an answer, and no traceback is needed
            _log.info("`%s` failed: %s", plan.name, redaction.text(message) if redaction else message)
    else:
        _write(f"`{plan.name}` failed: {type(cause).__name__}", cause, redaction)
    return ToolResult.error(_kind(error), message, details=details, cause=cause)


def introduced(result: ToolResult, plan: Plan, session: Session | None) -> ToolResult:
    """The refusal of arguments for a deferred tool, with the schema if the model has not seen it yet."""
    tool = plan.tool
    is_known = session is not None and tool.name in session.loaded
    if tool.facts.defer and not is_known:
        result.text += f"\nIts arguments, as JSON Schema: {as_text(tool.schema)}"
        if session is not None:
            session.load(tool.name)
    return result


def hook_failure(
    error: BaseException, hook: Any, stage: str, *, ran: bool, redaction: Redaction | None = None
) -> ToolResult:
    """The result when a hook failed: closed, and honest about whether the tool ran."""
    name = type(hook).__name__
    _write(f"hook {name} failed in {stage}", error, redaction)
    what = "the tool ran, but a hook failed afterwards" if ran else "a hook failed, so the tool did not run"
    return ToolResult.error(_kind(error), f"{what}: {name}: {_message(error)}", details={"ran": ran}, cause=error)


def _kind(error: BaseException) -> Kind:
    return next((kind for family, kind in _KINDS if isinstance(error, family)), "internal")


def _message(error: BaseException) -> str:
    """What an error says; its name, if it says nothing."""
    try:
        return cleaned(str(error)) or type(error).__name__
    except Exception:  # noqa: BLE001 -- a broken __str__
        return type(error).__name__


def _without_secrets(error: BadArgs, secrets: frozenset[str]) -> BadArgs:
    """The same problems; what is said about a secret parameter might quote a piece of it, so it is not said."""
    return BadArgs(
        [
            Problem("the value does not fit", problem.path[:1])
            if problem.path[:1] and problem.path[0] in secrets
            else problem
            for problem in error.problems
        ]
    )


def _write(what: str, error: BaseException, redaction: Redaction | None) -> None:
    if redaction:
        # A traceback quotes the error's message, and the message may quote anything.
        _log.warning("%s\n%s", what, redaction.text("".join(traceback.format_exception(error))))
    else:
        _log.warning("%s", what, exc_info=error)


# Cutting to size.


def truncated(result: ToolResult, most: int) -> None:
    """Cut the text of *result*, between two characters as people see them; `value` stays whole or goes."""
    cut = _cut(result.text, most)
    if isinstance(result.value, str) and result.value == result.text:
        result.value = cut
    if result.parts:
        result.parts = _within(result.parts, most)
    result.text = cut
    result.truncated = True


def _within(parts: Iterable[Part], most: int) -> list[Part]:
    """*parts* of which the texts and values have no more than *most* characters; others do not count."""
    kept: list[Part] = []
    left = most
    for part in parts:
        if not isinstance(part, (TextPart, JsonPart)):
            kept.append(part)
            continue
        text = _shown(part)
        if len(text) <= left:
            kept.append(part)
        elif left > 0:
            kept.append(TextPart(_cut(text, left)))
        left -= len(text)
    return kept


def _cut(text: str, most: int) -> str:
    end = f"... [truncated, {len(text)} chars total]"
    cut = max(0, most - len(end))
    # A character has an end; what has none within reach is no character.
    for place in range(cut, max(0, cut - 40), -1):
        if not _joins(text[place - 1], text[place]):
            return text[:place] + end
    return text[:cut] + end


def _joins(before: str, after: str) -> bool:
    """Whether two letters are one character to a person: an accent, a variation, a joined or coloured emoji, a flag."""
    return (
        unicodedata.combining(after) != 0
        or after in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or before == "\u200d"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
        or before + after == "\r\n"
    )
