"""
Results for errors, and the log message for each error.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .._lazy_names import LazyModule
from .._plumbing.tracebacks import drop_library_frames
from ..errors import BadArgs, Problem, Safety, ToolError, Transient
from ..policies.redaction import Redaction, without_secrets
from ..results import Kind, ToolResult
from ..session import Session
from ..values.rendering import as_json, as_text, replace_surrogates
from .attempt import TimedOut
from .plan import CallPlan, SelfCancelled

if TYPE_CHECKING:
    from ..policies import classify
else:  # most calls do not fail
    classify = LazyModule("toolkit.policies.classify")

__all__ = ["EndedInside", "add_schema_hint", "build_error_result", "build_hook_error_result", "log_masked_error"]

_log = logging.getLogger("toolkit")


class EndedInside(ToolError):  # noqa: N818 -- the name says what happened
    """A run inside the call waits for a person or was halted, so *result* is the result of the call."""

    def __init__(self, message: str, result: ToolResult) -> None:
        super().__init__(message)
        self.result = result


_KINDS: list[tuple[type[ToolError], Kind]] = [
    (BadArgs, "bad_args"),
    (Safety, "safety"),
    (TimedOut, "timeout"),
    (Transient, "transient"),
    (SelfCancelled, "cancelled"),
    (ToolError, "failed"),
]


def build_error_result(
    error: Exception, plan: CallPlan, *, cause: BaseException | None = None, redaction: Redaction | None = None
) -> ToolResult:
    """
    Return the result for an error that was classified.

    The exception itself is logged once, masked by *redaction*.
    """
    if isinstance(error, EndedInside):
        return error.result
    kind = _kind(error)
    details: dict[str, Any] = {}
    problems: Sequence[Problem] | None = None
    if isinstance(error, BadArgs):
        if plan.tool.signature.secrets:
            error = without_secrets(error, plan.tool.signature.secrets)
        problems = error.problems
    message = _message(error)
    if isinstance(error, Transient):
        details["happened"] = error.happened
        if error.happened == "maybe" and not plan.tool.facts.read_only:
            message += "; it may or may not have happened"
        if error.retry_after_seconds is not None:
            details["retry_after_seconds"] = as_json(error.retry_after_seconds)
    cause = error if cause is None else cause
    if not isinstance(cause, BadArgs):  # most are the library's own, about arguments that do not fit
        drop_library_frames(cause)
    _log_failure(plan.name, kind, message, error, cause, redaction)
    write_details = None if problems is None else partial(_add_problems, problems, details)
    return ToolResult.failure(kind, message, details=write_details or details, cause=cause)


def _log_failure(
    name: str, kind: Kind, message: str, error: Exception, cause: BaseException, redaction: Redaction | None
) -> None:
    """
    Log that the tool *name* raised *cause*, which counts as *error*.

    A failure that a tool or a library reports is one line, with a traceback at level DEBUG only. Any other exception
    may be a bug, so its traceback is always logged. A refusal is not logged.
    """
    is_on_purpose = isinstance(cause, ToolError)
    level = logging.INFO if is_on_purpose else logging.WARNING
    if isinstance(cause, (BadArgs, Safety)) or not _log.isEnabledFor(level):
        return
    if not is_on_purpose and not (isinstance(error, ToolError) and classify.is_expected(cause, error)):
        log_masked_error(f"`{name}` failed: {type(cause).__name__}", cause, redaction)
        return
    shown_kind = "" if kind == "failed" else f" ({kind})"
    line = f"`{name}` failed{shown_kind}: {' '.join(message.split())}"
    line = redaction.mask_text(line) if redaction else line
    if _log.isEnabledFor(logging.DEBUG):
        log_masked_error(line, cause, redaction, level)
    else:
        _log.log(level, "%s", line)


def _add_problems(problems: Sequence[Problem], details: dict[str, Any]) -> dict[str, Any]:
    return {
        "problems": as_json([{"path": problem.path, "message": problem.message} for problem in problems]),
        **details,
    }


def add_schema_hint(result: ToolResult, plan: CallPlan, session: Session | None) -> ToolResult:
    """
    Return the refusal of arguments, with the schema of a deferred tool if the model has not seen it yet.

    The session then counts the tool as loaded.
    """
    tool = plan.tool
    is_known = session is not None and tool.name in session.loaded
    if tool.facts.defer and not is_known:
        result.text += f"\nIts arguments, as JSON Schema: {as_text(tool.schema)}"
        if session is not None:
            session.load(tool.name)
    return result


def build_hook_error_result(
    error: BaseException, hook: Any, stage: str, *, ran: bool, redaction: Redaction | None = None
) -> ToolResult:
    """Return the result for a hook that failed. The call fails, and the result says whether the tool ran."""
    name = type(hook).__name__
    drop_library_frames(error)
    log_masked_error(f"hook {name} failed in {stage}", error, redaction)
    summary = "the tool ran, but a hook failed afterwards" if ran else "a hook failed, so the tool did not run"
    return ToolResult.failure(_kind(error), f"{summary}: {name}: {_message(error)}", details={"ran": ran}, cause=error)


def _kind(error: BaseException) -> Kind:
    return next((kind for family, kind in _KINDS if isinstance(error, family)), "internal")


def _message(error: BaseException) -> str:
    """Return the message of an error, or the name of its class if the message is empty."""
    try:
        return replace_surrogates(str(error)) or type(error).__name__
    except Exception:  # noqa: BLE001 -- the error may have a broken __str__
        return type(error).__name__


def log_masked_error(
    summary: str, error: BaseException, redaction: Redaction | None, level: int = logging.WARNING
) -> None:
    """Log *summary* with the traceback of *error*, masked by *redaction*."""
    if redaction:
        # A traceback quotes the error's message, and the message may contain a secret.
        _log.log(level, "%s\n%s", summary, redaction.mask_text("".join(traceback.format_exception(error))))
    else:
        _log.log(level, "%s", summary, exc_info=error)
