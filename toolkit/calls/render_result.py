"""
Turns the return value of a tool into a result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._lazy_names import LazyModule
from ..errors import DefinitionError, ErrorInfo, Problem
from ..results import ToolResult, UndescribedResult
from ..values.arrays import replace_arrays
from ..values.codecs.code_writer import UNSURE
from ..values.codecs.refusals import OutputRefusal, SerializerFailure
from ..values.rendering import as_text, is_strict_json, replace_surrogates, require_json
from ..values.text_limits import TextLimit
from ..values.unsendable_value import UnsendableValue
from .call_frame import CallFrame
from .plan import CallPlan

if TYPE_CHECKING:
    from . import made_results
else:  # most results are plain values
    made_results = LazyModule(f"{__package__}.made_results")

__all__ = ["WrongResult", "find_schema_problem", "render", "render_hook_result", "render_result"]

_log = logging.getLogger("toolkit")

_new_result: Callable[[type[ToolResult]], ToolResult] = ToolResult.__new__


class WrongResult(DefinitionError):  # noqa: N818 -- the name says what is wrong
    """A tool returned what its annotation or its schema does not allow. It is raised only with `raise_bugs`."""


def render(frame: CallFrame, value: Any) -> ToolResult:
    """
    Return the result for the *value* that a direct call returned.

    The text of a value that is not text is written when it is read, if no stage and no listener reads it before, and no
    session could keep it.
    """
    plan = frame.plan
    form = plan.encode_quickly(value, 0)
    if form is UNSURE:
        return render_result(value, plan)
    result = _new_result(ToolResult)  # the constructor costs more than the result itself
    result.value = form
    result.returned = value
    frame.is_plain = plan.defers_text and frame.approval_case is None
    if frame.is_plain and frame.session is None and not frame.is_told and type(form) is not str:
        result.deferred_text = _write_text, form, plan.limit
    else:  # most values that are no text are numbers, for which this is quicker than JSON
        is_number = type(form) is int and -(2**62) < form < 2**62
        result.text = repr(form) if is_number else as_text(form)
    return result


def _write_text(result: ToolResult, value: Any, limit: TextLimit) -> None:
    """Set the text of *result*, whose call had no session, to the JSON of *value*, cut to *limit*."""
    text = as_text(value)
    result.truncated = not limit.allows(text)
    if result.truncated:
        from .truncation import truncate_text  # most results are short

        text = truncate_text(text, limit, value)
    result.text = text


def render_result(value: Any, plan: CallPlan) -> ToolResult:
    """
    Return the result for the return value of a tool: a plain value, parts, or a result that the tool made itself.

    A value that has no JSON form, or that the output schema does not allow, gives a result that says so. The tool ran
    all the same, so such a result is never a reason to run it again.

    Raises:
        WrongResult: There is such a value, and the dispatcher raises bugs.
    """
    form = plan.encode_quickly(value, 0)
    if form is not UNSURE:
        return _build_plain_result(as_text(form), form, value)
    try:
        if isinstance(value, ToolResult):
            result = made_results.sanitize_result(value)
            if not isinstance(value, UndescribedResult):
                result = _check_value(result, plan)
        elif made_results.has_parts(value):
            result = _check_value(made_results.build_from_parts(value), plan)
        else:
            result = _encode_value(value, plan)
    except UnsendableValue as error:
        message = f"the tool ran, but its result cannot be given: {error}"
        result = _build_failure(message, plan, made_results.show_returned(value), cause=error)
    except OutputRefusal as refusal:
        reason = replace_surrogates(str(refusal)[:300])
        message = f"the tool ran, but it returned what its return annotation does not allow: {reason}"
        # What a serializer leaves out of a value is not shown because it failed.
        returned = None if isinstance(refusal, SerializerFailure) else made_results.show_returned(value)
        result = _build_failure(message, plan, returned)
    result.returned = value
    return result


def render_hook_result(value: Any) -> ToolResult:
    """
    Return the result for what a hook gave: a copy of a result, or a value in place of one. This never raises.

    The output schema is not asked, because a hook may say something else than the tool.
    """
    try:
        if isinstance(value, ToolResult):
            result = made_results.sanitize_result(value)
        elif made_results.has_parts(value):
            result = made_results.build_from_parts(value)
        else:
            form = require_json(value)
            result = ToolResult(as_text(form), form)
    except UnsendableValue as error:
        return ToolResult.failure("internal", f"a hook gave a result that cannot be sent: {error}", cause=error)
    result.returned = value.returned if isinstance(value, ToolResult) else None
    return result


def _build_plain_result(text: str, form: Any, value: Any) -> ToolResult:
    """Return `ToolResult(text, form)`, made without the constructor, which costs more than the result itself."""
    result = _new_result(ToolResult)
    result.text = text
    result.value = form
    result.returned = value
    return result


# Plain values.


def _encode_value(value: Any, plan: CallPlan) -> ToolResult:
    """Return the result for *value*, encoded by its return annotation, or by its own class if that does not fit."""
    encoded = None if plan.encode is None else _encode_by_annotation(value, plan.encode)
    if encoded is not None:
        form, text = encoded
        if is_strict_json(form) and text is replace_surrogates(text):
            result = _build_plain_result(text, form, value)
            return result if plan.output_is_exact else _check_value(result, plan)
        value = form
    form = require_json(value, plan.output_shape)
    result = _check_value(ToolResult(as_text(form), form), plan)
    if encoded is None and plan.output_has_metadata and result.kind == "ok":
        raise OutputRefusal(
            Problem(f"the limits and validators in it cannot check a {type(value).__name__}; return the annotated type")
        )
    return result


def _encode_by_annotation(
    value: Any, encode: Callable[[Any], Any], *, replaces_arrays: bool = False
) -> tuple[Any, str] | None:
    """
    Return the form of *value* and its text, or None if *value* is not of the annotated type.

    A value that does not fit as it is gets a second try with plain values in place of arrays.
    """
    try:
        plain_value = replace_arrays(value) if replaces_arrays else value
        if replaces_arrays and plain_value is value:
            return None
        form = encode(plain_value)
        return form, as_text(form)
    except (OutputRefusal, UnsendableValue):
        raise
    except Exception:  # noqa: BLE001 -- the value does not fit the annotation, or a user's codec returned no JSON
        return None if replaces_arrays else _encode_by_annotation(value, encode, replaces_arrays=True)


def _check_value(result: ToolResult, plan: CallPlan) -> ToolResult:
    """Return *result*, or a failure if its value is not what the output schema of the tool promises."""
    schema = plan.tool.output_schema
    if schema is None or not plan.checks_output or result.kind != "ok":
        return result
    problem = find_schema_problem(result.value, plan)
    if problem is None:
        return result
    if result.parts and result.value is None:
        problem += "; a tool that returns parts says so: `-> ImagePart`, `-> list[ImagePart]`"
    message = f"the tool ran, but it returned what its output schema does not allow: {problem}"
    return _build_failure(message, plan, result.text)


def find_schema_problem(form: Any, plan: CallPlan) -> str | None:
    """Return why the output schema of the tool, which it has, does not allow the value *form*; None if it does."""
    from ..values.schemas.messages import explain_errors  # most results need no validator
    from ..values.schemas.validator import compile_schema

    if plan.output_validator is None:
        plan.output_validator = compile_schema(plan.tool.output_schema)
    try:
        error = next(plan.output_validator.iter_errors(form), None)
    except Exception as check_error:  # noqa: BLE001 -- most likely the value is nested too deeply for the validator
        return f"it could not be checked: {type(check_error).__name__}"
    return None if error is None else replace_surrogates("; ".join(map(str, explain_errors([error])))[:300])


def _build_failure(message: str, plan: CallPlan, returned: str | None, *, cause: Exception | None = None) -> ToolResult:
    """
    Return the result of a call that ran, but whose result cannot be given. It advises against another call.

    *returned* is what the tool returned, as a text. It is part of the result's text, because another call would not
    give it either.
    """
    if plan.settings.raise_bugs:
        raise WrongResult(f"`{plan.name}`: {message}") from cause
    _log.warning("`%s`: %s", plan.name, message if cause is not None else "its result is not what its annotation says")
    advice = (
        "The same call would give the same. Try another way, or tell the user."
        if plan.tool.facts.read_only
        else "What it does is done, so do not call it again for that; tell the user."
    )
    error = ErrorInfo(message, {"ran": True}, cause)
    last_line = "" if returned is None else f"\nIt returned: {returned}"
    return ToolResult(f"error: {message}\n{advice}{last_line}", None, "failed", error=error)
