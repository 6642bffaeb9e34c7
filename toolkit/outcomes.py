"""
Turns what a tool returned or raised into a result.
"""

from __future__ import annotations

import logging
import unicodedata
from typing import Any

from .attempt import TimedOut
from .errors import BadArgs, Safety, ToolError, Transient
from .jsonschemas import validator
from .plans import Plan, Stopped
from .rendering import as_json, as_text
from .results import FilePart, ImagePart, JsonPart, Kind, Part, TextPart, ToolResult

__all__ = ["failure", "hook_failure", "rendered", "truncated"]

_log = logging.getLogger("toolkit")
_PARTS = (TextPart, JsonPart, ImagePart, FilePart)


def rendered(value: Any, plan: Plan, *, encode: bool = True, check: bool = False) -> ToolResult:
    """The result for what a tool returned: a plain value, parts, or a result of its own making."""
    kind = type(value)
    if kind is plan.plain and not check and encode:
        if kind is int:
            return ToolResult(repr(value), value)
        if value.isascii():
            return ToolResult(value, value)
    if kind is ToolResult:
        return _own(value)
    if kind in _PARTS:
        return _of_parts([value])
    if kind in (list, tuple) and value and all(type(each) in _PARTS for each in value):
        return _of_parts(value)
    if encode and plan.encode is not None:
        try:
            value = plan.encode(value)
        except Exception:  # noqa: BLE001 -- not what the annotation promised; it is shown as it is
            value = as_json(value)
    else:
        value = as_json(value)
    if check and encode:
        wrong = _against_schema(value, plan)
        if wrong:
            return ToolResult.error("tool", f"it returned what its output schema does not allow: {wrong}")
    return ToolResult(as_text(value), value)


def _against_schema(value: Any, plan: Plan) -> str | None:
    schema = plan.tool.signature.output_schema
    if schema is None:
        return None
    if plan.output_judge is None:
        plan.output_judge = validator(schema)
    error = next(plan.output_judge.iter_errors(value), None)
    return None if error is None else str(error.message)[:300]


def _own(result: ToolResult) -> ToolResult:
    """A tool's own result, made safe to send: a copy, strict JSON."""
    return ToolResult(
        str(result.text) or as_text(as_json(result.value)),
        as_json(result.value),
        result.kind,
        error=result.error,
        parts=list(result.parts),
        request=result.request,
        metadata=as_json(result.metadata) if result.metadata else None,
    )


def _of_parts(parts: Any) -> ToolResult:
    clean: list[Part] = [JsonPart(as_json(part.value)) if isinstance(part, JsonPart) else part for part in parts]
    values = [part.value for part in clean if isinstance(part, JsonPart)]
    return ToolResult("\n".join(map(_shown, clean)), values[0] if len(values) == 1 else values or None, parts=clean)


def _shown(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, JsonPart):
        return as_text(part.value)
    return f"[{part.media_type}, {len(part.data):,} bytes]" if isinstance(part, ImagePart) else f"[file {part.uri}]"


_KINDS: list[tuple[type[ToolError], Kind]] = [
    (BadArgs, "bad_args"),
    (Safety, "safety"),
    (TimedOut, "timeout"),
    (Transient, "transient"),
    (Stopped, "cancelled"),
]


def failure(error: Exception, plan: Plan, *, cause: BaseException | None = None) -> ToolResult:
    """The result for an error that was classified; the exception itself is logged once."""
    kind: Kind = next((kind for family, kind in _KINDS if isinstance(error, family)), "tool")
    if not isinstance(error, ToolError):
        kind = "internal"
    message = str(error)
    details: dict[str, Any] = {}
    if isinstance(error, BadArgs):
        details["problems"] = [{"path": list(problem.path), "message": problem.message} for problem in error.problems]
    if isinstance(error, Transient):
        details["happened"] = error.happened
        if error.happened == "maybe" and not plan.tool.facts.read_only:
            message += "; it may or may not have happened"
        if error.retry_after_seconds is not None:
            details["retry_after_seconds"] = error.retry_after_seconds
    cause = error if cause is None else cause
    if not isinstance(cause, (BadArgs, Safety)):
        _log.warning("`%s` failed: %s", plan.name, type(cause).__name__, exc_info=cause)
    return ToolResult.error(kind, message, details=details, cause=cause)


def hook_failure(error: Exception, hook: Any, stage: str, *, ran: bool) -> ToolResult:
    """The result when a hook failed: closed, and honest about whether the tool ran."""
    name = type(hook).__name__
    _log.warning("hook %s failed in %s", name, stage, exc_info=error)
    kind: Kind = next((kind for family, kind in _KINDS if isinstance(error, family)), "internal")
    what = "the tool ran, but a hook failed afterwards" if ran else "a hook failed, so the tool did not run"
    return ToolResult.error(kind, f"{what}: {name}: {error or type(error).__name__}", details={"ran": ran}, cause=error)


def truncated(result: ToolResult, most: int) -> None:
    """Cut the text of *result*, between two characters as people see them; `value` stays whole or goes."""
    total = len(result.text)
    end = f"... [truncated, {total} chars total]"
    cut = max(0, most - len(end))
    while cut > 0 and _continues(result.text[cut]):
        cut -= 1
    if result.value == result.text:
        result.value = result.text[:cut] + end
    result.text = result.text[:cut] + end
    result.truncated = True


def _continues(letter: str) -> bool:
    """Whether *letter* belongs to the one before it: an accent, a variation, a joiner."""
    return (
        unicodedata.combining(letter) != 0 or letter in "\u200d\ufe0e\ufe0f" or "\U0001f3fb" <= letter <= "\U0001f3ff"
    )
