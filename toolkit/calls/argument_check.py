"""
The stage that checks the arguments of a call and decodes them.

    generated check → not sure: parse, check by the schema → refused: repair once, check again → the author's own check

The arguments, their decoded form and the notes about repairs always change together, and only here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .._lazy_names import LazyModule
from ..errors import BadArgs, DefinitionError
from ..results import ToolResult
from ..values.codecs.code_writer import UNSURE
from ..values.strictjson.checks import copy_json, count_values, read_object
from .call_frame import CallFrame

if TYPE_CHECKING:
    from ..values.schemas.repair import RepairedArguments
    from . import error_results
else:  # most calls have good arguments
    error_results = LazyModule(f"{__package__}.error_results")

__all__ = ["change_by_hook", "check", "check_hook_changes", "check_quickly", "find_refusal"]

# From this size on, checking takes so long that other calls notice it. Refusing and repairing this many values takes
# up to 30 milliseconds, and reading a text of this length as JSON takes one millisecond.
_MANY_VALUES = 1_000
_LONG_TEXT = 50_000
_TEXTS = (str, bytes, bytearray)


def check_quickly(frame: CallFrame) -> bool:
    """Decode the arguments with the generated check, and return whether no other check is needed."""
    if type(frame.arguments) is str and (arguments := read_object(frame.arguments)) is not None:
        frame.arguments = arguments
        if frame.requested is not None:
            frame.requested.arguments = arguments
    plan = frame.plan
    check_and_convert = plan.check_and_convert
    frame.decoded = check_and_convert(frame.arguments, 0)
    return plan.validate is None and frame.decoded is not UNSURE


async def check(frame: CallFrame) -> None:
    """Decode the arguments, and end the call if they are refused."""
    frame.result = await find_refusal(frame)


async def find_refusal(frame: CallFrame, *, repair: bool = True) -> ToolResult | None:
    """Decode the arguments, and return a result if they are refused."""
    plan = frame.plan
    frame.keep_request()
    arguments = frame.arguments
    try:
        length = len(arguments) if isinstance(arguments, _TEXTS) else None
        is_long = length is not None and length > _LONG_TEXT
        if not is_long:
            _read_arguments(frame)
        # A short text cannot hold many values, so they need not be counted.
        is_short = length is not None and length < _MANY_VALUES
        if is_short or (not is_long and count_values(frame.arguments, _MANY_VALUES) < _MANY_VALUES):
            _decode(frame, repair=repair)
        else:
            work = partial(_decode_large, frame, is_text=is_long, repair=repair)
            await frame.within(frame.plan.settings.in_thread(work))
        await _run_author_check(frame)
    except DefinitionError as error:
        return error_results.build_error_result(error, plan, redaction=frame.redaction())
    except BadArgs as error:
        if not plan.could_be_allowed(frame.session):  # then the model must not learn its parameters
            return ToolResult.failure("denied", f"this session's rules and mode allow no call of `{plan.name}`")
        # A variable for the result would close a cycle: it has the error, and the error has this function's frame.
        return error_results.add_schema_hint(
            error_results.build_error_result(error, plan, redaction=frame.redaction()), plan, frame.session
        )
    return None


def change_by_hook(frame: CallFrame, arguments: Mapping[str, Any]) -> None:
    """Take the *arguments* of a hook. They are checked later, because the next hook may change them again."""
    frame.keep_request()
    frame.arguments = copy_json(dict(arguments))
    frame.is_modified = True


async def check_hook_changes(frame: CallFrame) -> None:
    """Decode the arguments that hooks have changed, and end the call if they do not fit. Repair nothing."""
    try:
        frame.decoded = frame.plan.checker.check(frame.arguments, frame.plan.settings.validation)
        await _run_author_check(frame)
    except BadArgs as error:
        message = f"a hook changed the arguments to something invalid: {error}"
        frame.result = ToolResult.failure("internal", message, cause=error)


def _read_arguments(frame: CallFrame) -> None:
    """
    Replace the arguments by a JSON object.

    If the caller's mapping raises, the arguments become an empty object before the error is raised again.
    """
    try:
        arguments = frame.arguments
        if isinstance(arguments, _TEXTS):
            arguments = frame.plan.checker.parse(arguments)
        frame.arguments = dict(arguments) if isinstance(arguments, Mapping) else arguments
    except (BadArgs, DefinitionError):
        raise
    except BaseException:
        # Otherwise hooks, redaction and the audit log would read the same mapping and fail again.
        frame.arguments = frame.call.arguments = {}
        raise


def _decode(frame: CallFrame, *, repair: bool) -> None:
    """Decode the arguments, repair them if that is needed, and raise `BadArgs` if they are refused."""
    checker, validation = frame.plan.checker, frame.plan.settings.validation
    errors: list[Any] = []
    try:
        _refuse_text(frame.arguments)
        frame.decoded = checker.check(frame.arguments, validation, errors)
    except BadArgs:
        repaired = _repair(frame, errors) if repair and frame.plan.settings.repair else None
        if repaired is None:
            raise
        frame.decoded = checker.check(repaired.arguments, validation)
        frame.arguments, frame.repairs = repaired.arguments, repaired.notes


def _refuse_text(arguments: Any) -> None:
    # Arguments that are still text after parsing have to be repaired, and the repair has to be noted.
    if isinstance(arguments, str):
        raise BadArgs("expected an object with the arguments, got text in the JSON text")


def _repair(frame: CallFrame, errors: Sequence[Any]) -> RepairedArguments | None:
    from ..values.schemas.repair import repair_arguments  # most calls have good arguments

    plan = frame.plan
    hidden = plan.tool.signature.secrets
    return repair_arguments(frame.arguments, plan.checker.validator, hidden=hidden, errors=errors)


def _decode_large(frame: CallFrame, *, is_text: bool, repair: bool) -> None:
    """
    Decode the arguments as `_decode` does, in a thread.

    The messages for the problems are also written in the thread, so that the event loop does not stall.
    """
    try:
        if is_text:
            _read_arguments(frame)
        _decode(frame, repair=repair)
    except BadArgs as error:
        _ = error.problems
        raise


async def _run_author_check(frame: CallFrame) -> None:
    validate = frame.plan.validate
    if validate is not None:
        from ..functions.checker import run_custom_validator  # few tools have a check of their own

        findings = run_custom_validator(validate, dict(frame.decoded), wait=True)
        problems = findings if isinstance(findings, list) else await frame.within(findings)
        if problems:
            raise BadArgs(problems)
