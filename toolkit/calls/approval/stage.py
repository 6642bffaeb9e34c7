"""
The stage that judges a call on its final arguments, and asks a person if that is needed.

    judge → denied:  the call ends with a result
          → asks:    the request is stored; a person is asked at once, or the result is "waiting"
          → allowed: the intent is written to the audit log, and the call runs

After the call, its outcome is written to the approval store and the audit log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...decisions import AuthNeeded, Changed
from ...questions import AnswersNeeded
from ...results import ToolResult
from ..argument_check import find_refusal
from ..call_frame import CallFrame
from .case import Answered, ApprovalCase, Unasked
from .claim import close_cut_short, store_outcome, withdraw_request, withdraw_unless_carried_by
from .request import has_to_ask
from .settlement import build_denied_result, judge_call, settle

__all__ = [
    "accept_answer",
    "get_case",
    "judge",
    "record_cut_short",
    "record_intent",
    "record_outcome",
    "settle_interrupt",
]

_MAX_ANSWERS = 100
"""The most questions that one call may ask its user."""


def get_case(frame: CallFrame) -> ApprovalCase:
    """Return the case of the call. It is made for the first stage that needs it."""
    if not isinstance(frame.approval_case, ApprovalCase):
        frame.approval_case = ApprovalCase(frame)
    return frame.approval_case


async def judge(frame: CallFrame) -> None:
    """
    Judge the call on its final arguments, and end it if it may not run, or may not run yet.

    If a hook has replaced the result, the call is denied instead of waiting, because resuming it later would run the
    tool itself.
    """
    case = get_case(frame)
    judgement = await judge_call(case, frame.ask_reasons)
    if judgement.verdict.word == "deny":
        frame.result = build_denied_result(judgement)
    elif has_to_ask(case, judgement):
        frame.result = await settle(case, Unasked(judgement))
        if frame.result is not None and frame.result.kind == "waiting" and frame.replacement is not None:
            await withdraw_unless_carried_by(case, None)
            why = "a hook has replaced what it would do, so it cannot be agreed to later"
            frame.result = ToolResult.failure("denied", f"{judgement.verdict.reason}; {why}")


async def accept_answer(frame: CallFrame) -> None:
    """
    Accept the answer of a person and claim the approval, or end the call if it may not run.

    Raises:
        ApprovalError: The answer cannot be accepted.
    """
    if frame.answer is None:
        raise RuntimeError("no person has answered")
    record, decision = frame.answer
    frame.repairs = record.request.repairs
    case = get_case(frame)
    case.take_up(record)
    frame.result = await settle(case, Answered(record, decision, is_resumed=True, is_stored=True))


async def settle_interrupt(frame: CallFrame, run_again: Callable[[CallFrame], Awaitable[ToolResult]]) -> None:
    """Ask the person whom the tool needs, and run the tool again with *run_again* if they agree at once."""
    while frame.interrupt is not None and frame.result is not None and frame.result.kind == "waiting":
        interrupt, frame.interrupt = frame.interrupt, None
        frame.attempts, frame.has_run = 0, False  # the call has had no effect yet
        frame.result = await _handle_interrupt(get_case(frame), interrupt)
        if frame.result is not None:
            return
        await record_intent(frame)
        frame.result = await run_again(frame)


async def _handle_interrupt(case: ApprovalCase, interrupt: AuthNeeded | Changed | AnswersNeeded) -> ToolResult | None:
    """
    Return a result for a call that was interrupted because it needs a person; None if a person agreed at once.

    The tool raised *interrupt* while it ran, before it did anything.
    """
    questions = interrupt.questions if isinstance(interrupt, AnswersNeeded) else ()
    if len(case.frame.answers) + len(questions) > _MAX_ANSWERS:
        return ToolResult.failure("failed", f"it asks its user more than {_MAX_ANSWERS} questions in one call")
    # Decode the arguments again, because the tool may have changed them.
    refusal = await find_refusal(case.frame)
    if refusal is not None:
        return refusal
    judgement = await judge_call(case)
    if judgement.verdict.word == "deny":
        return build_denied_result(judgement)
    former = case.claimed_record
    if isinstance(interrupt, AuthNeeded) and not has_to_ask(case, judgement):
        return await settle(case, Unasked(judgement, auth=interrupt.request, replaces=former))
    if questions and not has_to_ask(case, judgement):
        case.question_count = 0  # the tool has come further, so this is no endless loop
        return await settle(case, Unasked(judgement, questions=questions, replaces=former))
    case.frame.approved = None
    reason = None if questions else str(interrupt)  # the tool asks its questions when it runs again
    return await settle(case, Unasked(judgement, reason=reason, replaces=former))


async def record_intent(frame: CallFrame) -> None:
    """Write to the audit log, if there is one, that the tool is about to run. If this raises, the call does not run."""
    case, arguments = get_case(frame), frame.arguments
    arguments = dict(arguments) if isinstance(arguments, dict) else arguments
    await case.write_line("intent", arguments=arguments, **case.describe_edits())


async def record_outcome(frame: CallFrame) -> None:
    """
    Write the result to the approval store and the audit log.

    The call has happened, so a failure to write the outcome is only logged. If the caller goes away meanwhile, it does
    not get the result, so the request that the result carries is withdrawn.
    """
    case, result = get_case(frame), frame.result
    frame.approval_case = None  # it holds the frame
    frame.extend_deadline()  # the outcome is written down even if the time of the call is over
    if result is None:
        return
    try:
        try:
            await withdraw_unless_carried_by(case, result)
        finally:  # a cancellation during the `await` above must not leave a claim without its outcome
            await store_outcome(case, result)
        await case.write_outcome(result)
    except BaseException as error:
        if case.open_record is not None:
            await withdraw_request(case, case.open_record, error)
        raise


async def record_cut_short(frame: CallFrame, error: BaseException) -> None:
    """Note in the store of approvals that *error* ended the call before it had a result."""
    case, frame.approval_case = get_case(frame), None  # as above
    await close_cut_short(case, error, frame.attempts)
