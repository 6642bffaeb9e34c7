"""
The stage that judges a call on its final arguments, and asks a person if that is needed.

    judge → denied:  the call ends with a result
          → asks:    the request is stored; a person is asked at once, or the result is "waiting"
          → allowed: the call runs

A call runs exactly as it was approved. If the answer comes later, the call is judged again under the policy of that
moment before its approval is claimed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from ..._plumbing.wording import format_dollars
from ...approvals.answers import read_answers
from ...approvals.comparisons import build_edit
from ...approvals.identity import canonical_arguments
from ...approvals.previews import PreviewFailed, find_changed_paths
from ...approvals.read_only_guard import WriteRefused
from ...approvals.records import ApprovalError, Record
from ...decisions import AuthNeeded, Decision
from ...errors import ToolError
from ...permissions.grants import is_described
from ...permissions.judgement import Judgement
from ...permissions.policy import Permissions
from ...questions import AnswersNeeded
from ...results import ToolResult
from ...values.codecs.code_writer import UNSURE
from ...verdicts import Finding
from ..argument_check import find_refusal
from ..call_frame import CallFrame, Interrupt
from ..error_results import build_error_result
from .case import Answered, ApprovalCase, Asking, Unasked, get_case
from .claim import (
    ask_person,
    build_lost_result,
    build_repeated_result,
    claim_request,
    deny_request,
    has_approval_before,
    record_intent,
    withdraw_request,
    withdraw_unless_carried_by,
)
from .opening import RequestIdTakenError, open_request
from .request import (
    check_shown_arguments,
    find_edits,
    has_shown_preview,
    has_to_ask,
    is_about,
    is_unaltered,
    render_reason,
    restore_masked_secrets,
)

__all__ = ["accept_answer", "judge", "settle_interrupt"]

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
    judgement = await _judge_call(case, frame.ask_reasons)
    if judgement.verdict.word == "deny":
        frame.result = _build_denied_result(judgement)
    elif has_to_ask(case, judgement):
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
    frame.result = await _settle(case, Answered(record, decision, is_stored=True))


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
    judgement = await _judge_call(case)
    if judgement.verdict.word == "deny":
        return _build_denied_result(judgement)
    former = case.claimed_record
    if isinstance(interrupt, AuthNeeded) and not has_to_ask(case, judgement):
        return await _settle(case, Unasked(judgement, auth=interrupt.request, replaces=former))
    if questions and not has_to_ask(case, judgement):
        case.question_count = 0  # the tool has come further, so this is no endless loop
        return await _settle(case, Unasked(judgement, questions=questions, replaces=former))
    case.frame.approved = None
    reason = None if questions else str(interrupt)  # the tool asks its questions when it runs again
    return await _settle(case, Unasked(judgement, reason=reason, replaces=former))


async def _judge_call(case: ApprovalCase, hook_reasons: Sequence[str] = ()) -> Judgement:
    """Judge the call on its present arguments. *hook_reasons* are the reasons why hooks want a person to agree."""
    frame = case.frame
    findings = [Finding("ask", "a hook", reason or "a hook asked for it", "hook") for reason in hook_reasons]
    judging = case.settings.judges.judge(case.plan.tool, case.plan.names, case.call, frame.decoded, findings)
    frame.judgement = judgement = await frame.within(judging)
    verdict = judgement.verdict
    await case.write_line("verdict", word=verdict.word, by=verdict.by, reason=verdict.reason)
    return judgement


def _build_denied_result(judgement: Judgement) -> ToolResult:
    """Return the result of a call whose verdict is a denial."""
    verdict = judgement.verdict
    decisive = verdict.findings[0] if verdict.findings else None
    sources = [finding.source for finding in verdict.findings if finding.word == "deny"]
    if decisive is None or decisive.word != "deny" or decisive.source not in ("check", "arguments"):
        return ToolResult.failure("denied", verdict.reason)
    # The model may correct wrong arguments, unless a check refuses the call as well.
    return ToolResult.failure("safety" if "check" in sources else "bad_args", verdict.reason)


async def _settle(case: ApprovalCase, step: Unasked | Asking | Answered | ToolResult | None) -> ToolResult | None:
    """Go on from *step* until the call ends with a result, or its approval is claimed and it may run (None)."""
    while True:
        try:
            if isinstance(step, Unasked):
                step = await _open(case, step)
            elif isinstance(step, Asking):
                step = await _ask(case, step)
            elif isinstance(step, Answered):
                step = await _accept(case, step)
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
    if case.is_own_claim(record):
        return _find_answer(case, record)
    if record.state != "pending":
        return await build_repeated_result(case, record)
    return Asking(record, is_stored=not case.has_made(record))


def _find_answer(case: ApprovalCase, record: Record) -> Answered:
    """Return the answer that a person has given to *record*, whose claim is taken over."""
    is_edited = not is_unaltered(record, case.plan.tool)
    decision = Decision.approve(by=record.decided_by, arguments=record.arguments if is_edited else None)
    return Answered(record, decision, is_stored=True)


async def _ask(case: ApprovalCase, asking: Asking) -> Answered | ToolResult:
    """Ask a person, and return the result of a call that waits if no person answers now."""
    shown = record = asking.record
    request = record.request
    case.question_count += 1
    if asking.mistake is None:
        await case.write_asked(request)
    else:
        shown = replace(record, request=replace(request, reason=f"{request.reason} ({asking.mistake})"))
    may_ask = request.auth is None and case.question_count <= _MAX_QUESTIONS
    if may_ask and (not asking.is_stored or is_about(case, record)):
        decision = await case.frame.within(ask_person(case, shown))
        if decision is not None:
            return Answered(record, decision, is_stored=asking.is_stored)
    need = "approval" if request.is_approval else "an answer" if request.questions else "credentials"
    case.open_record = record
    return ToolResult(f"waiting for {need}: {request.reason}", None, "waiting", request=request)


async def _accept(case: ApprovalCase, answered: Answered) -> Unasked | Asking | ToolResult | None:
    """Accept an answer and claim the approval (None), or return what comes next."""
    frame, record = case.frame, answered.record
    arguments, decoded, edits, answers = frame.arguments, frame.decoded, frame.edits, frame.answers
    try:
        return await _apply_answer(case, record, answered)
    except ApprovalError as error:
        if case.is_resumed_by(record):
            raise
        if error.why == "answered":
            name = record.request.id
            present: Record | None = await case.run_in_store("find request", name, lambda store: store.get(name))
            if present is not None and present.state != "pending":  # another caller has answered it
                return await build_repeated_result(case, present)
        if error.why not in ("arguments", "grant", "answers"):
            raise
        # The person made a mistake in their answer, so they are told about it and asked again. The request still
        # shows the former arguments, so those have to be the ones that run.
        frame.arguments, frame.decoded, frame.edits, frame.answers = arguments, decoded, edits, answers
        return Asking(record, is_stored=answered.is_stored, mistake=render_reason(str(error), frame.redaction()))


async def _apply_answer(case: ApprovalCase, record: Record, answered: Answered) -> Unasked | ToolResult | None:
    decision, request = answered.decision, record.request
    answers = read_answers(record, decision, case.frame.redaction())
    if decision.principal not in (None, request.principal):
        raise ApprovalError(f"request {request.id} was not made for {decision.principal!r}", why="principal")
    await case.write_answered(request, decision, answers[len(record.answers) :])
    case.frame.answers = answers
    if not decision.approved:
        await deny_request(case, record, decision, decision.reason)
        return ToolResult.failure("denied", decision.reason or "the user said no")
    if record.state == "claimed" and not _may_run_again(case, record):
        return await _finish_lost(case, record, decision)
    return await _judge_again(case, answered)


async def _judge_again(case: ApprovalCase, answered: Answered) -> Unasked | ToolResult | None:
    """Judge an approved call under the policy of this moment, and claim its approval if nothing has changed."""
    record, decision = answered.record, answered.decision
    if answered.is_stored and (record.state != "claimed" or decision.arguments is None):
        check_shown_arguments(case, record)
    refusal = await _decode_approved_arguments(case, record, decision)
    if refusal is not None:
        return refusal
    case.frame.approved = record.request
    judgement = await _judge_call(case)
    is_denied, is_new = judgement.verdict.word == "deny", has_to_ask(case, judgement)
    difference = None if is_denied or is_new else await _find_change(case, answered)
    if not (is_denied or is_new or difference):
        await _claim(case, record, decision)
        return None
    if record.state == "claimed" and not case.is_own_claim(record):
        return await _finish_lost(case, record, decision)
    if record.state == "claimed":
        await claim_request(case, record, decision, None)  # what comes of the call is its outcome
    else:
        await deny_request(case, record, decision, judgement.verdict.reason if is_denied else "")
    if is_denied:
        return _build_denied_result(judgement)
    # The person saw something else than what would happen, so another request takes the place of this one.
    case.frame.approved = None
    return Unasked(judgement, reason=difference, replaces=record)


async def _decode_approved_arguments(case: ApprovalCase, record: Record, decision: Decision) -> ToolResult | None:
    """
    Decode the arguments that are going to run, exactly as the person saw or wrote them.

    Return a result if the original arguments do not fit any more.
    """
    frame, tool = case.frame, case.plan.tool
    frame.edits = find_edits(record, tool) if record.state == "claimed" else record.request.edits
    if decision.arguments is None:
        return await find_refusal(frame, repair=False) if frame.decoded is UNSURE else None
    frame.arguments = restore_masked_secrets(decision.arguments, record, tool)
    refusal = await find_refusal(frame, repair=False)
    if refusal is not None:
        why = "" if refusal.error is None else refusal.error.message
        raise ApprovalError(f"the edited arguments do not fit: {why}; correct them, and answer again", why="arguments")
    edited = canonical_arguments(tool, frame.decoded, frame.arguments)
    edit = build_edit(record.arguments, edited, decision.by, tool.signature.secrets)
    frame.edits += () if edit is None else (edit,)
    return None


async def _claim(case: ApprovalCase, record: Record, decision: Decision) -> None:
    frame, grant = case.frame, decision.grant
    if grant is not None and grant not in record.request.grants:
        raise ApprovalError("this grant was not offered with the request; choose one of request.grants", why="grant")
    if grant is not None and not is_described(grant, case.plan.tool):
        raise ApprovalError(
            "this grant permits something else than it says: the request was altered; answer without it",
            why="grant",
        )
    edited = None
    if decision.arguments is not None:
        edited = canonical_arguments(case.plan.tool, frame.decoded, frame.arguments)
    # A store of the user may not know answers, so they are given only if there are any.
    answers = None if frame.answers == record.answers else frame.answers
    await claim_request(case, record, decision, edited, answers)
    if grant is not None and case.call.session is not None:
        Permissions.grant(case.call.session, grant)


def _may_run_again(case: ApprovalCase, record: Record) -> bool:
    if case.is_own_claim(record):
        return True
    tool = case.plan.tool
    return tool.facts.idempotent and not tool.facts.destructive and is_unaltered(record, tool)


async def _finish_lost(case: ApprovalCase, record: Record, decision: Decision) -> ToolResult:
    await claim_request(case, record, decision, None)
    case.frame.edits = find_edits(record, case.plan.tool)
    return build_lost_result(record, case.approvals)


async def _find_change(case: ApprovalCase, answered: Answered) -> str | None:
    """Return what has changed since a person saw the request, or None if everything is the same."""
    frame, record = case.frame, answered.record
    conditions = record.request.preconditions
    files: list[str] = []
    if conditions:
        files = await frame.within(case.settings.in_thread(lambda: find_changed_paths(conditions)))
    if files:
        return f"{', '.join(files)} is not as it was when a person agreed; here is what would happen now"
    if frame.cost > record.request.cost:
        return f"it costs {format_dollars(frame.cost)}, and when a person agreed {format_dollars(record.request.cost)}"
    # A store that only this process can write, or that signs its records, is trusted without a look.
    if not answered.is_stored or not case.approvals.is_exposed:
        return None
    if not await has_approval_before(case, record):
        return "it was not approved before, as the request says; here is what would happen"
    if answered.decision.arguments is not None:
        return None  # there is no preview of edited arguments
    if await frame.within(has_shown_preview(case, record)):
        return None
    return "what was shown is not what would happen; here is what would happen now"
