"""
The stage that judges a call on its final arguments, and asks a person if that is needed.

    judge → denied:  the call ends with a result
          → asks:    the request is stored; a person is asked at once, or the result is "waiting"
          → allowed: the call runs

A call runs exactly as it was approved. If the answer comes later, the call is judged again under the policy of that
moment before its approval is claimed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ...approvals.identity import canonical_arguments, digest_of_call, is_unaltered
from ...approvals.memory_store import MemoryApprovals
from ...approvals.policy import Approvals
from ...approvals.previews import PreviewFailed
from ...approvals.read_only_guard import WriteRefused
from ...approvals.records import Record
from ...approvals.repeated_calls import add_or_get
from ...decisions import AuthNeeded, Decision
from ...errors import ToolError
from ...questions import AnswersNeeded
from ...results import ToolResult
from ..argument_check import find_refusal
from ..call_frame import CallFrame, Interrupt
from ..error_results import build_error_result
from .answer import accept_decision, build_denied_result
from .case import Answered, ApprovalCase, Asking, Unasked, get_case
from .claim import build_repeated_result, record_intent, withdraw_request, withdraw_unless_carried_by
from .request import RequestIdTakenError, open_request

__all__ = ["accept_answer", "judge", "settle_interrupt"]

_log = logging.getLogger("toolkit")

_MAX_ANSWERS = 100
"""The most questions that one call may ask its user."""

# The limit stops an endless loop between an asker that agrees to everything and a tool that always reports a change.
_MAX_QUESTIONS = 10


async def judge(frame: CallFrame) -> None:
    """
    Judge the call on its final arguments, and end it if it may not run, or may not run yet.

    If a hook has replaced the result, the call is denied instead of waiting, because resuming it later would run the
    tool itself.
    """
    case = get_case(frame)
    judgement = await case.judge(frame.ask_reasons)
    if judgement.verdict.word == "deny":
        frame.result = build_denied_result(judgement)
    elif case.has_to_ask(judgement):
        frame.result = await _settle(case, Unasked(judgement))
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
    case.resumed_id = record.request.id
    case.open_record = record if record.state == "pending" else None
    frame.result = await _settle(case, Answered(record, decision, is_exposed=_is_exposed(case.approvals)))


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


async def _handle_interrupt(case: ApprovalCase, interrupt: Interrupt) -> ToolResult | None:
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
    judgement = await case.judge()
    if judgement.verdict.word == "deny":
        return build_denied_result(judgement)
    former = case.claimed_record
    if isinstance(interrupt, AuthNeeded) and not case.has_to_ask(judgement):
        return await _settle(case, Unasked(judgement, auth=interrupt.request, replaces=former))
    if questions and not case.has_to_ask(judgement):
        case.question_count = 0  # the tool has come further, so this is no endless loop
        return await _settle(case, Unasked(judgement, questions=questions, replaces=former))
    case.frame.approved = None
    reason = None if questions else str(interrupt)  # the tool asks its questions when it runs again
    return await _settle(case, Unasked(judgement, reason=reason, replaces=former))


async def _settle(case: ApprovalCase, step: Unasked | Asking | Answered | ToolResult | None) -> ToolResult | None:
    """Go on from *step* until the call ends with a result, or its approval is claimed and it may run (None)."""
    while True:
        try:
            if isinstance(step, Unasked):
                step = await _open(case, step)
            elif isinstance(step, Asking):
                step = await _ask(case, step)
            elif isinstance(step, Answered):
                step = await accept_decision(case, step)
            else:
                return step
        except BaseException as error:
            if isinstance(step, Asking | Answered) and not case.is_resumed_by(step.record):
                # The call ends here, so a later answer must not let it run.
                await withdraw_request(case, step.record, error)
            raise


async def _open(case: ApprovalCase, question: Unasked) -> Asking | Answered | ToolResult:
    """
    Make and store the request, or find that of the same call.

    Return a result if the same call was answered before, or if the call would fail anyway. Return the answer if an
    earlier attempt at the call claimed the approval, and never began.
    """
    try:
        record = await open_request(case, question)
    except RequestIdTakenError as error:
        if case.settings.raise_bugs:
            raise
        return error.to_result()
    except PreviewFailed as error:
        if not isinstance(error.__cause__, ToolError) or isinstance(error.__cause__, WriteRefused):
            raise
        # The call would fail with this same error, so the model is told and no person is asked.
        return build_error_result(error.__cause__, case.plan, redaction=case.frame.redaction())
    if record.state == "pending":
        return Asking(record, is_stored=record.request.id not in case.made_ids)
    return _find_answer(case, record) if case.is_own_claim(record) else await build_repeated_result(case, record)


def _find_answer(case: ApprovalCase, record: Record) -> Answered:
    """Return the answer that a person has given to *record*, whose claim is taken over."""
    is_edited = not is_unaltered(record, case.plan.tool)
    decision = Decision.approve(by=record.decided_by, arguments=record.arguments if is_edited else None)
    return Answered(record, decision, is_exposed=_is_exposed(case.approvals))


async def _ask(case: ApprovalCase, asking: Asking) -> Answered | ToolResult:
    """Ask a person, and return the result of a call that waits if no person answers now."""
    shown = record = asking.record
    request = record.request
    case.question_count += 1
    if asking.mistake is None:
        await case.write_asked(request)
    else:
        shown = replace(record, request=replace(request, reason=f"{request.reason} ({asking.mistake})"))
    has_asker = getattr(case.approvals, "asker", True) is not None  # an object of the user may only have `answer`
    may_ask = has_asker and request.auth is None and case.question_count <= _MAX_QUESTIONS
    if may_ask and (not asking.is_stored or _is_about(case, record)):
        decision = await case.frame.within(_ask_person(case, shown))
        if decision is not None:
            return Answered(record, decision, is_exposed=asking.is_stored and _is_exposed(case.approvals))
    need = "an answer" if request.questions else "approval" if request.auth is None else "credentials"
    case.open_record = record
    return ToolResult(f"waiting for {need}: {request.reason}", None, "waiting", request=request)


async def _ask_person(case: ApprovalCase, record: Record) -> Decision | None:
    """Return a person's immediate answer, or None if no person is asked or gives an answer."""
    holders, name = case.approvals.holders, record.request.id
    if not holders.begin_question(name):
        return None  # another call with the same request is asking, and a person answers a request once
    try:
        decision = await case.approvals.answer(record.request, case.settings.in_hook_thread)
    finally:
        holders.end_question(name)
    if decision is not None and decision.approved and decision.answers is None and record.request.questions:
        _log.warning("the asker has approved request %s without answers to its questions, so it waits", name)
        return None
    if decision is not None and case.approvals.seal is not None:
        # A sealed request that is answered here need not travel. It may be stored already if this is the second
        # try.
        await case.run_in_store("keep request", record.request.id, lambda store: add_or_get(store, record))
    return decision


def _is_about(case: ApprovalCase, record: Record) -> bool:
    """Return whether *record* is about exactly this call, and not about arguments that a person has changed."""
    session, principal = record.request.session, record.request.principal
    arguments = canonical_arguments(case.plan.tool, case.frame.decoded, case.frame.arguments)
    return digest_of_call(record.identity, arguments, session, principal) == record.request.digest


def _is_exposed(approvals: Approvals) -> bool:
    """Return whether others could have written the records: the store is neither in this process nor signed."""
    in_process = approvals.seal is not None or isinstance(approvals.store, MemoryApprovals)
    return not in_process and not getattr(approvals.store, "is_signed", False)
