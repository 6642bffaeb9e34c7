"""
The stage that judges a call, and the records that a judged call leaves behind.

What it takes to ask a person is in `ApprovalStage`, which is loaded when the first call needs it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..results import ToolResult
from .call_frame import CallFrame

if TYPE_CHECKING:  # not loaded here, because most calls are not judged
    from .approval_stage import ApprovalStage

__all__ = [
    "accept_answer",
    "get_approval_stage",
    "judge",
    "needs_verdict",
    "record_cut_short",
    "record_intent",
    "record_outcome",
    "settle_interrupt",
]


def needs_verdict(frame: CallFrame) -> bool:
    """Return whether the call has to be judged. A quick check of the tool's plan lets most calls run without it."""
    plan = frame.plan
    if plan.is_recorded or plan.gate is None or frame.ask_reasons:
        return True
    return not plan.gate(frame.session, frame.decoded)


async def judge(frame: CallFrame) -> None:
    """Judge the call on its final arguments, and end it if it may not run, or may not run yet."""
    stage = get_approval_stage(frame)
    frame.result = await stage.judge_call(frame.ask_reasons, is_replaced=frame.replacement is not None)


async def accept_answer(frame: CallFrame) -> None:
    """
    Accept the answer of a person, and end the call if it may not run.

    Raises:
        ApprovalError: The answer cannot be accepted.
    """
    if frame.answer is None:
        raise RuntimeError("no person has answered")
    record, decision = frame.answer
    frame.repairs = record.request.repairs
    frame.result = await get_approval_stage(frame).resume(record, decision)


def get_approval_stage(frame: CallFrame) -> ApprovalStage:
    """Return the object that asks people about the call. It is made for the first stage that needs it."""
    from .approval_stage import ApprovalStage

    if not isinstance(frame.approval_stage, ApprovalStage):
        frame.approval_stage = ApprovalStage(frame)
    return frame.approval_stage


async def record_intent(frame: CallFrame) -> None:
    """Write to the audit log, if there is one, that the tool is about to run."""
    if frame.settings.audit is not None:
        await get_approval_stage(frame).record_intent()


async def record_outcome(frame: CallFrame) -> None:
    """Write the result to the approval store and the audit log."""
    stage = get_approval_stage(frame)
    frame.approval_stage = None  # it holds the frame
    frame.extend_deadline()  # the outcome is written down even if the time of the call is over
    if frame.result is not None:
        await stage.record_outcome(frame.result)


async def record_cut_short(frame: CallFrame, error: BaseException) -> None:
    """Note in the store of approvals that *error* ended the call before it had a result."""
    if frame.approval_stage is not None:
        stage = get_approval_stage(frame)
        frame.approval_stage = None  # as above
        await stage.approval.record_cut_short(error, frame.attempts)


async def settle_interrupt(frame: CallFrame, run_again: Callable[[CallFrame], Awaitable[ToolResult]]) -> None:
    """Ask the person whom the tool needs, and run the tool again with *run_again* if they agree at once."""
    while frame.interrupt is not None and frame.result is not None and frame.result.kind == "waiting":
        interrupt, frame.interrupt = frame.interrupt, None
        frame.attempts, frame.has_run = 0, False  # the call has had no effect yet
        frame.result = await get_approval_stage(frame).handle_interrupt(interrupt)
        if frame.result is not None:
            return
        await get_approval_stage(frame).record_intent()
        frame.result = await run_again(frame)
