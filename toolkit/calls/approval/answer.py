"""
The answer of a person to a request: whether it can be accepted, and whether what they saw is what would run.

An approved call is judged again under the policy of this moment before its approval is claimed. If something is new, or
has changed since the person saw it, they are asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..._plumbing.wording import format_dollars
from ...approvals.answers import answer_questions
from ...approvals.comparisons import build_edit, equals_except_masks
from ...approvals.identity import canonical_arguments, is_unaltered
from ...approvals.previews import Preview, PreviewFailed, find_changed_paths
from ...approvals.records import ApprovalError, Record
from ...approvals.repeated_calls import WITHDRAWN, is_withdrawn
from ...decisions import Decision
from ...permissions.grants import is_described
from ...permissions.judgement import Judgement
from ...permissions.policy import Permissions
from ...policies.redaction import MASK
from ...questions import AnsweredQuestion
from ...results import ToolResult
from ...values.codecs.code_writer import UNSURE
from ...values.rendering import as_json
from ...values.strictjson.canonical import encode_canonical
from ..argument_check import check_quickly, find_refusal
from .case import Answered, ApprovalCase, Asking, Unasked, mask_secrets
from .claim import build_lost_result, build_repeated_result, claim_request, deny_request, has_approval_before
from .request import make_preview

__all__ = ["accept_decision", "build_denied_result"]


async def accept_decision(case: ApprovalCase, answered: Answered) -> Unasked | Asking | ToolResult | None:
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
            if present is not None and is_withdrawn(present) and answered.decision.approved:
                frame.arguments, frame.decoded, frame.edits, frame.answers = arguments, decoded, edits, answers
                return await _ask_again(case)
            if present is not None and present.state != "pending":  # another caller has answered it
                return await build_repeated_result(case, present)
        if error.why not in ("arguments", "grant", "answers"):
            raise
        # The person made a mistake in their answer, so they are told about it and asked again. The request still
        # shows the former arguments, so those have to be the ones that run.
        frame.arguments, frame.decoded, frame.edits, frame.answers = arguments, decoded, edits, answers
        return Asking(record, is_stored=answered.is_exposed, mistake=frame.redaction().render_reason(str(error)))


async def _ask_again(case: ApprovalCase) -> Unasked | ToolResult:
    """Return what comes next if a person has agreed to a request that another caller has withdrawn meanwhile."""
    case.frame.approved = None
    judgement = await case.judge()
    return build_denied_result(judgement) if judgement.verdict.word == "deny" else Unasked(judgement)


async def _apply_answer(case: ApprovalCase, record: Record, answered: Answered) -> Unasked | ToolResult | None:
    decision, request = answered.decision, record.request
    answers = _read_answers(case, record, decision)
    if decision.principal not in (None, request.principal):
        raise ApprovalError(f"request {request.id} was not made for {decision.principal!r}", why="principal")
    if case.plan.is_recorded or case.plan.has_listeners:
        await case.write_answered(request, decision, answers[len(record.answers) :])
    case.frame.answers = answers
    if not decision.approved:
        await deny_request(case, record, decision, decision.reason)
        return ToolResult.failure("denied", decision.reason or "the user said no")
    if record.state == "claimed" and not _may_run_again(case, record):
        return await _finish_lost(case, record, decision)
    return await _judge_again(case, answered)


def _read_answers(case: ApprovalCase, record: Record, decision: Decision) -> tuple[AnsweredQuestion, ...]:
    """
    Return all questions of the call that are answered after *decision*.

    Raises:
        ApprovalError: The answers of *decision* do not fit the questions of *record*.
    """
    if not decision.approved or record.state == "claimed":
        return record.answers
    if decision.arguments is not None and record.request.questions:
        raise ApprovalError(
            f"request {record.request.id} has questions about the arguments that it shows; answer them without other "
            "arguments, or deny the call",
            why="arguments",
        )
    answered: tuple[AnsweredQuestion, ...] = ()
    if record.questions or record.request.questions or decision.answers:
        answered = answer_questions(record, decision.answers, case.frame.redaction())
    # The user has answered earlier questions for the arguments of the request, and not for others.
    return record.answers + answered if decision.arguments is None else ()


async def _judge_again(case: ApprovalCase, answered: Answered) -> Unasked | ToolResult | None:
    """Judge an approved call under the policy of this moment, and claim its approval if nothing has changed."""
    record, decision = answered.record, answered.decision
    if answered.is_exposed and (record.state != "claimed" or decision.arguments is None):
        _check_shown_arguments(case, record)
    refusal = await _decode_approved_arguments(case, record, decision)
    if refusal is not None:
        return refusal
    case.frame.approved = record.request
    judgement = await case.judge()
    is_denied, is_new = judgement.verdict.word == "deny", case.has_to_ask(judgement)
    difference = None if is_denied or is_new else await _find_change(case, answered)
    if not (is_denied or is_new or difference):
        await _claim(case, record, decision)
        return None
    if record.state == "claimed" and not case.is_own_claim(record):
        return await _finish_lost(case, record, decision)
    if record.state == "claimed":
        await claim_request(case, record, decision, None)  # what comes of the call is its outcome
    elif is_denied or not case.is_step:
        await deny_request(case, record, decision, judgement.verdict.reason if is_denied else "")
    else:
        # The person said yes. If the step is cut off before it has kept the next request, it asks again.
        await deny_request(case, record, replace(decision, by=WITHDRAWN), "")
    if is_denied:
        return build_denied_result(judgement)
    # The person saw something else than what would happen, so another request takes the place of this one.
    case.frame.approved = None
    return Unasked(judgement, reason=difference, replaces=record)


async def _decode_approved_arguments(case: ApprovalCase, record: Record, decision: Decision) -> ToolResult | None:
    """
    Decode the arguments that are going to run, exactly as the person saw or wrote them.

    Return a result if the original arguments do not fit any more.
    """
    frame, tool = case.frame, case.plan.tool
    frame.edits = case.find_edits(record) if record.state == "claimed" else record.request.edits
    if decision.arguments is None:
        is_decoded = frame.decoded is not UNSURE or check_quickly(frame)
        return None if is_decoded else await find_refusal(frame, repair=False)
    frame.arguments = _restore_masked_secrets(decision.arguments, record, case.plan.secrets)
    refusal = await find_refusal(frame, repair=False)
    if refusal is not None:
        why = "" if refusal.error is None else refusal.error.message
        raise ApprovalError(f"the edited arguments do not fit: {why}; correct them, and answer again", why="arguments")
    edited = canonical_arguments(tool, frame.decoded, frame.arguments)
    edit = build_edit(record.arguments, edited, decision.by, case.plan.secrets)
    frame.edits += () if edit is None else (edit,)
    return None


def _restore_masked_secrets(edited: Mapping[str, Any], record: Record, secrets: frozenset[str]) -> dict[str, Any]:
    """
    Return the arguments that a person edited, with their secrets filled in.

    A secret that the person left masked gets the value that was sent.

    Raises:
        ApprovalError: Another value is still masked, so its meaning is unknown.
    """
    original = record.arguments if isinstance(record.arguments, Mapping) else {}
    arguments = {
        name: original[name] if value == MASK and name in secrets and name in original else value
        for name, value in edited.items()
    }
    edited_json, original_json = encode_canonical(as_json(arguments)), encode_canonical(as_json(dict(original)))
    if MASK in edited_json and MASK not in original_json:
        raise ApprovalError(f"the edited arguments still hold {MASK!r}; write what is meant", why="arguments")
    return arguments


async def _claim(case: ApprovalCase, record: Record, decision: Decision) -> None:
    frame, grant = case.frame, decision.grant
    if grant is not None and grant not in record.request.grants:
        raise ApprovalError("this grant was not offered with the request; choose one of request.grants", why="grant")
    if grant is not None and not is_described(grant, case.plan.tool):
        raise ApprovalError(
            "this grant permits something else than it says: the request was altered; answer without it", why="grant"
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
    case.frame.edits = case.find_edits(record)
    return build_lost_result(record, case.approvals)


def _check_shown_arguments(case: ApprovalCase, record: Record) -> None:
    """Raise `ApprovalError` unless the arguments that *record* shows to people are those that would run."""
    request = record.request
    shown_arguments = dict(request.arguments)
    actual_arguments = (
        mask_secrets(record.arguments, case.plan.secrets) if isinstance(record.arguments, Mapping) else None
    )
    # A redaction rule that is a function may write any text in place of a secret.
    if not (
        equals_except_masks(shown_arguments, actual_arguments)
        or equals_except_masks(shown_arguments, case.frame.redaction().mask_value(actual_arguments))
    ):
        raise ApprovalError(
            f"request {request.id} shows other arguments than it would run: it was altered; call "
            f"`{request.tool}` again",
            why="forged",
        )


async def _find_change(case: ApprovalCase, answered: Answered) -> str | None:
    """Return what has changed since a person saw the request, or None if everything is the same."""
    frame, record = case.frame, answered.record
    conditions = record.request.preconditions
    files: list[str] = []
    if conditions:
        files = await frame.within(case.settings.in_thread(lambda: find_changed_paths(conditions)))
    if files:
        return f"{', '.join(files)} is not as it was when a person agreed; here is what would happen now"
    if case.plan.has_cost and frame.cost > record.request.cost:
        return f"it costs {format_dollars(frame.cost)}, and when a person agreed {format_dollars(record.request.cost)}"
    if not answered.is_exposed:
        return None
    if not await has_approval_before(case, record):
        return "it was not approved before, as the request says; here is what would happen"
    if answered.decision.arguments is not None:
        return None  # there is no preview of edited arguments
    if await frame.within(_has_shown_preview(case, record)):
        return None
    return "what was shown is not what would happen; here is what would happen now"


async def _has_shown_preview(case: ApprovalCase, record: Record) -> bool:
    """
    Return whether the preview that *record* shows is the one that the tool makes of the arguments that would run.

    A preview that is different each time cannot be compared, and counts as shown.
    """
    if not record.request.is_approval:
        return True
    first, request = await _make_redacted_preview(case), record.request
    if (
        first is not None
        and (request.is_cut, request.preconditions) == (first.is_cut, first.preconditions)
        and equals_except_masks(request.preview or "", first.text)
    ):
        return True
    return await _make_redacted_preview(case) != first


async def _make_redacted_preview(case: ApprovalCase) -> Preview | None:
    redaction = case.frame.redaction()
    try:
        preview = await make_preview(case, case.frame.decoded, redaction)
    except PreviewFailed:
        return None
    return replace(preview, text=redaction.mask_text(preview.text))


def build_denied_result(judgement: Judgement) -> ToolResult:
    """Return the result of a call whose verdict is a denial."""
    verdict = judgement.verdict
    decisive = verdict.findings[0] if verdict.findings else None
    sources = [finding.source for finding in verdict.findings if finding.word == "deny"]
    if decisive is None or decisive.word != "deny" or decisive.source not in ("check", "arguments"):
        return ToolResult.failure("denied", verdict.reason)
    # The model may correct wrong arguments, unless a check refuses the call as well.
    return ToolResult.failure("safety" if "check" in sources else "bad_args", verdict.reason)
