"""
What becomes of an exception that a stage of a call raises: a result, or it passes through.

Every call ends in a result. Only a cancellation that the caller requested, a KeyboardInterrupt and a close of the
coroutine pass through, and with `raise_bugs` also errors that are bugs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import LazyModule
from ..errors import ToolError, ToolkitError
from ..hooks.base import Step
from ..results import ToolResult
from ..values.rendering import describe_value
from .attempt import TimedOut
from .call_frame import CallFrame
from .error_results import build_error_result, build_hook_error_result
from .propagation import must_propagate

if TYPE_CHECKING:
    from .approval import case, claim
else:  # most calls that fail ask no person
    case = LazyModule(f"{__package__}.approval.case")
    claim = LazyModule(f"{__package__}.approval.claim")

__all__ = ["build_failure", "build_hook_failure", "has_to_raise"]


async def build_failure(frame: CallFrame, error: BaseException) -> ToolResult:
    """
    Return the result for an exception that no stage expects, or raise it again if it has to pass.

    Such an exception comes from a codec or an author's function, or means that no time was left.
    """
    refusal = error if has_to_raise(frame, error) else _find_refusal(frame, error)
    if refusal is not None:
        if frame.approval_case is not None:
            await claim.record_cut_short(frame, error)
        raise refusal
    says_why = isinstance(error, ToolkitError)  # the error of a slow approval store names the operation
    ending: Exception = ToolkitError(describe_value(error))
    if isinstance(error, TimeoutError) and (says_why or frame.deadline.is_past()):
        ending = TimedOut(str(error) if says_why else "there was no time left to start it")
    return build_error_result(ending, frame.plan, cause=error, redaction=frame.redaction())


def build_hook_failure(frame: CallFrame, error: BaseException, step: Step, stage: str) -> ToolResult:
    """Return the result for a hook that failed, or raise *error* again if it has to pass."""
    if has_to_raise(frame, error):
        raise error
    if isinstance(error, TimeoutError):
        error = TimedOut("no time was left") if frame.deadline.is_past() else error
    return build_hook_error_result(error, step.hook, stage, ran=frame.attempts > 0, redaction=frame.redaction())


def has_to_raise(frame: CallFrame, error: BaseException) -> bool:
    """Return whether *error* passes through the call: it ends more than the call, or it is a bug to be raised."""
    if id(error) == frame.passing_id:
        return True
    is_bug = frame.settings.raise_bugs and not isinstance(error, (ToolError, TimeoutError))
    if is_bug or must_propagate(error):
        # Its traceback grows when it is raised again, so only the first handler can tell.
        frame.passing_id = id(error)
        return True
    return False


def _find_refusal(frame: CallFrame, error: BaseException) -> BaseException | None:
    """Return the error to raise if the answer of a person cannot be accepted, and nothing has happened yet."""
    if frame.answer is None:
        return None
    approval_case = case.get_case(frame)
    if approval_case.claimed_record is not None:
        return None
    from ..approvals.records import ApprovalError  # few calls are resumed
    from ..policies.audit import AuditError

    if isinstance(error, AuditError) and approval_case.open_record is not None:
        refusal = ApprovalError(f"the answer cannot be written down, so it is not used: {error}", why="store")
        refusal.__cause__ = error
        return refusal
    return error if isinstance(error, ApprovalError) else None
