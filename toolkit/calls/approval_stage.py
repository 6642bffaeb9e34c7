"""
The stage that judges a call on its final arguments, and asks a person if that is needed.

    judge → denied:  the call ends with a result
          → asks:    the request is stored; a person is asked at once, or the result is "waiting"
          → allowed: the intent is written to the audit log, and the call runs

A call runs exactly as it was approved. If the answer comes later, the call is judged again under the policy of that
moment before its approval is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..approvals.answers import read_answers
from ..approvals.edits import build_edit
from ..approvals.identity import canonical_arguments
from ..approvals.previews import PreviewFailed, find_changed_paths
from ..approvals.read_only_guard import WriteRefused
from ..approvals.records import ApprovalError, Record
from ..decisions import AuthNeeded, Changed, Decision
from ..errors import ToolError
from ..permissions.grants import is_described
from ..permissions.judgement import Judgement
from ..permissions.policy import Permissions
from ..questions import AnsweredQuestion, AnswersNeeded
from ..results import ToolResult
from ..values.codecs import UNSURE
from ..verdicts import Finding
from .approval import CallApproval
from .approval_request import RequestBuilder, find_edits, is_unaltered, render_reason, restore_masked_secrets
from .approval_results import (
    build_denied_result,
    build_lost_result,
    build_repeated_denial,
    build_taken_id_result,
)
from .approval_steps import Answered, Asking, Unasked
from .argument_check import find_refusal
from .call_audit import CallAudit
from .call_frame import CallFrame
from .error_results import build_error_result
from .request_opening import RequestIdTakenError

__all__ = ["ApprovalStage"]

# The limit stops an endless loop between an asker that agrees to everything and a tool that always reports a change.
_MAX_QUESTIONS = 10
_MAX_ANSWERS = 100
"""The most questions that one call may ask its user."""


class ApprovalStage:
    """
    The verdict on the call of *frame*, and the answer of a person if the verdict asks for one.

    A call that asks goes through these steps, and each step may end the call with a result:

        question ──▶ asking ──▶ answered ──▶ claimed, and the call runs
           ▲           ▲  │       │ │ │
           │           │  └─ no person answers now: the call ends with "waiting"
           │           └──────────┘ │ │   the answer has a mistake, so the person is told and asked again
           └────────────────────────┘ │   something is new, or has changed since the person saw it
                                      └─ a person or a rule denies the call: the call ends with "denied"
    """

    def __init__(self, frame: CallFrame) -> None:
        self._frame = frame
        self._question_count = 0
        self._audit = CallAudit(frame)
        self._builder = RequestBuilder(frame)
        self.approval = CallApproval(frame)

    async def judge_call(self, hook_reasons: Sequence[str] = (), *, is_replaced: bool = False) -> ToolResult | None:
        """
        Return a result if the call may not run, or may not run yet; None if it may run.

        *hook_reasons* holds the reasons why hooks want a person to agree. If a hook has replaced the result
        (*is_replaced*), the call is denied instead of waiting, because resuming it later would run the tool itself.
        """
        judgement = await self._judge(hook_reasons)
        if judgement.verdict.word == "deny":
            return build_denied_result(judgement)
        if not self._builder.has_to_ask(judgement):
            return None
        result = await self._settle(Unasked(judgement))
        if result is not None and result.kind == "waiting" and is_replaced:
            await self.approval.withdraw_unless_carried_by(None)
            why = f"{judgement.verdict.reason}; a hook has replaced what it would do, so it cannot be agreed to later"
            return ToolResult.failure("denied", why)
        return result

    async def resume(self, record: Record, decision: Decision) -> ToolResult | None:
        """
        Return a result if a call that a person has answered may not run; otherwise claim the approval and return None.

        Raises:
            ApprovalError: The answer cannot be accepted.
        """
        self.approval.take_up(record)
        return await self._settle(Answered(record, decision, is_resumed=True, is_stored=True))

    async def handle_interrupt(self, interrupt: AuthNeeded | Changed | AnswersNeeded) -> ToolResult | None:
        """
        Return a result for a call that was interrupted because it needs a person; None if a person agreed at once.

        The tool raised *interrupt* while it ran, before it did anything.
        """
        questions = interrupt.questions if isinstance(interrupt, AnswersNeeded) else ()
        if len(self._frame.answers) + len(questions) > _MAX_ANSWERS:
            return ToolResult.failure("failed", f"it asks its user more than {_MAX_ANSWERS} questions in one call")
        # Decode the arguments again, because the tool may have changed them.
        refusal = await find_refusal(self._frame)
        if refusal is not None:
            return refusal
        judgement = await self._judge(())
        if judgement.verdict.word == "deny":
            return build_denied_result(judgement)
        former = self.approval.claimed_record
        if isinstance(interrupt, AuthNeeded) and not self._builder.has_to_ask(judgement):
            return await self._settle(Unasked(judgement, auth=interrupt.request, replaces=former))
        if questions and not self._builder.has_to_ask(judgement):
            self._question_count = 0  # the tool has come further, so this is no endless loop
            return await self._settle(Unasked(judgement, questions=questions, replaces=former))
        self._frame.approved = None
        reason = None if questions else str(interrupt)  # the tool asks its questions when it runs again
        return await self._settle(Unasked(judgement, reason=reason, replaces=former))

    # The steps of a call that asks.

    async def _settle(self, step: Unasked | Asking | Answered | ToolResult | None) -> ToolResult | None:
        """Go on from *step* until the call ends with a result, or its approval is claimed and it may run (None)."""
        while True:
            try:
                match step:
                    case Unasked():
                        step = await self._open_request(step)
                    case Asking():
                        step = await self._ask_person(step)
                    case Answered():
                        step = await self._accept(step)
                    case _:
                        return step
            except BaseException as error:
                if isinstance(step, Asking) or (isinstance(step, Answered) and not step.is_resumed):
                    # The call ends here, so a later answer must not let it run.
                    await self.approval.withdraw(step.record, error)
                raise

    async def _open_request(self, question: Unasked) -> Asking | Answered | ToolResult:
        """
        Make and store the request, or find that of the same call.

        Return a result if the same call was answered before, or if the call would fail anyway. Return the answer if an
        earlier attempt at the call claimed the approval, and never began.
        """
        try:
            claimed = self.approval.claimed_record
            record = await self.approval.opening.open(
                question, () if claimed is None else claimed.request.preconditions
            )
        except RequestIdTakenError as error:
            if self._frame.settings.raise_bugs:
                raise
            return build_taken_id_result(error)
        except PreviewFailed as error:
            if not isinstance(error.__cause__, ToolError) or isinstance(error.__cause__, WriteRefused):
                raise
            # The call would fail with this same error, so the model is told and no person is asked.
            return build_error_result(error.__cause__, self._frame.plan, redaction=self._frame.redaction())
        if self.approval.is_own_claim(record):
            return self._find_answer(record)
        if record.state != "pending":
            return await self._repeat(record)
        return Asking(record, is_stored=not self.approval.opening.has_made(record))

    def _find_answer(self, record: Record) -> Answered:
        """Return the answer that a person has given to *record*, whose claim is taken over."""
        is_edited = not is_unaltered(record, self._frame.plan.tool)
        decision = Decision.approve(by=record.decided_by, arguments=record.arguments if is_edited else None)
        return Answered(record, decision, is_resumed=False, is_stored=True)

    async def _repeat(self, record: Record) -> ToolResult:
        """Return the result of a call that asks again although *record*, its request, was answered before."""
        if record.state == "denied":
            return build_repeated_denial(record)
        self._frame.repeats = record
        if record.outcome is None:  # a recorded result says itself what people changed
            self._frame.edits = find_edits(record, self._frame.plan.tool)
        return await self.approval.build_repeated_result(record)

    async def _ask_person(self, asking: Asking) -> Answered | ToolResult:
        """Ask a person, and return the result of a call that waits if no person answers now."""
        shown = record = asking.record
        request = record.request
        self._question_count += 1
        if asking.mistake is None:
            await self._audit.write_asked(request)
        else:
            shown = replace(record, request=replace(request, reason=f"{request.reason} ({asking.mistake})"))
        may_ask = request.auth is None and self._question_count <= _MAX_QUESTIONS
        if may_ask and (not asking.is_stored or self._builder.is_about(record)):
            decision = await self._frame.within(self.approval.ask_person(shown))
            if decision is not None:
                return Answered(record, decision, is_resumed=False, is_stored=asking.is_stored)
        need = "approval" if request.is_approval else "an answer" if request.questions else "credentials"
        self.approval.open_record = record
        return ToolResult(f"waiting for {need}: {request.reason}", None, "waiting", request=request)

    async def _accept(self, answered: Answered) -> Unasked | Asking | ToolResult | None:
        """Accept an answer and claim the approval (None), or return what comes next."""
        frame, record = self._frame, answered.record
        arguments, decoded, edits, answers = frame.arguments, frame.decoded, frame.edits, frame.answers
        try:
            return await self._apply_answer(record, answered)
        except ApprovalError as error:
            if answered.is_resumed:
                raise
            if error.why == "answered" and (present := await self.approval.find_answered(record)) is not None:
                return await self._repeat(present)
            if error.why not in ("arguments", "grant", "answers"):
                raise
            # The person made a mistake in their answer, so they are told about it and asked again. The request still
            # shows the former arguments, so those have to be the ones that run.
            frame.arguments, frame.decoded, frame.edits, frame.answers = arguments, decoded, edits, answers
            return Asking(record, is_stored=answered.is_stored, mistake=render_reason(str(error), frame.redaction()))

    async def _apply_answer(self, record: Record, answered: Answered) -> Unasked | ToolResult | None:
        decision = answered.decision
        answers = read_answers(record, decision, self._frame.redaction())
        await self._record_answer(record, decision, answers[len(record.answers) :])
        self._frame.answers = answers
        if not decision.approved:
            await self.approval.deny(record, decision, decision.reason)
            return ToolResult.failure("denied", decision.reason or "the user said no")
        if record.state == "claimed" and not self._may_run_again(record):
            return await self._finish_lost(record, decision)
        return await self._judge_again(answered)

    async def _record_answer(self, record: Record, decision: Decision, answers: Sequence[AnsweredQuestion]) -> None:
        request = record.request
        if decision.principal not in (None, request.principal):
            raise ApprovalError(f"request {request.id} was not made for {decision.principal!r}", why="principal")
        await self._audit.write_answered(request, decision, answers)

    async def _judge_again(self, answered: Answered) -> Unasked | ToolResult | None:
        """Judge an approved call under the policy of this moment, and claim its approval if nothing has changed."""
        record, decision = answered.record, answered.decision
        if answered.is_stored and (record.state != "claimed" or decision.arguments is None):
            self._builder.check_shown_arguments(record)
        refusal = await self._decode_approved_arguments(record, decision)
        if refusal is not None:
            return refusal
        self._frame.approved = record.request
        judgement = await self._judge(())
        is_denied, is_new = judgement.verdict.word == "deny", self._builder.has_to_ask(judgement)
        difference = None if is_denied or is_new else await self._find_change(answered)
        if not (is_denied or is_new or difference):
            await self._claim(record, decision)
            return None
        if record.state == "claimed" and not self.approval.is_own_claim(record):
            return await self._finish_lost(record, decision)
        if record.state == "claimed":
            await self.approval.claim(record, decision, None)  # what comes of the call is its outcome
        else:
            await self.approval.deny(record, decision, judgement.verdict.reason if is_denied else "")
        if is_denied:
            return build_denied_result(judgement)
        # The person saw something else than what would happen, so another request takes the place of this one.
        self._frame.approved = None
        return Unasked(judgement, reason=difference, replaces=record)

    async def _decode_approved_arguments(self, record: Record, decision: Decision) -> ToolResult | None:
        """
        Decode the arguments that are going to run, exactly as the person saw or wrote them.

        Return a result if the original arguments do not fit any more.
        """
        frame, tool = self._frame, self._frame.plan.tool
        frame.edits = find_edits(record, tool) if record.state == "claimed" else record.request.edits
        if decision.arguments is None:
            return await find_refusal(frame, repair=False) if frame.decoded is UNSURE else None
        frame.arguments = restore_masked_secrets(decision.arguments, record, tool)
        refusal = await find_refusal(frame, repair=False)
        if refusal is not None:
            why = "" if refusal.error is None else refusal.error.message
            raise ApprovalError(
                f"the edited arguments do not fit: {why}; correct them, and answer again", why="arguments"
            )
        edited = canonical_arguments(tool, frame.decoded, frame.arguments)
        edit = build_edit(record.arguments, edited, decision.by, tool.signature.secrets)
        frame.edits += () if edit is None else (edit,)
        return None

    async def _claim(self, record: Record, decision: Decision) -> None:
        frame, grant = self._frame, decision.grant
        if grant is not None and grant not in record.request.grants:
            raise ApprovalError(
                "this grant was not offered with the request; choose one of request.grants", why="grant"
            )
        if grant is not None and not is_described(grant, frame.plan.tool):
            raise ApprovalError(
                "this grant permits something else than it says: the request was altered; answer without it",
                why="grant",
            )
        edited = None
        if decision.arguments is not None:
            edited = canonical_arguments(frame.plan.tool, frame.decoded, frame.arguments)
        # A store of the user may not know answers, so they are given only if there are any.
        answers = None if frame.answers == record.answers else frame.answers
        await self.approval.claim(record, decision, edited, answers)
        if grant is not None and frame.call.session is not None:
            Permissions.grant(frame.call.session, grant)

    def _may_run_again(self, record: Record) -> bool:
        if self.approval.is_own_claim(record):
            return True
        tool = self._frame.plan.tool
        return tool.facts.idempotent and not tool.facts.destructive and is_unaltered(record, tool)

    async def _finish_lost(self, record: Record, decision: Decision) -> ToolResult:
        await self.approval.claim(record, decision, None)
        self._frame.edits = find_edits(record, self._frame.plan.tool)
        return build_lost_result(record, self._frame.settings.approvals)

    # The audit log before the effect, and the records after it.

    async def record_intent(self) -> None:
        """Write to the audit log that the call is about to run. If this raises, the call does not run."""
        await self._audit.write_intent(_as_plain_dict(self._frame.arguments))

    async def record_outcome(self, result: ToolResult) -> None:
        """
        Write down the outcome of the call.

        The call has happened, so a failure to write the outcome is only logged. If the caller goes away meanwhile, it
        does not get *result*, so the request that *result* carries is withdrawn.
        """
        try:
            try:
                await self.approval.withdraw_unless_carried_by(result)
            finally:  # a cancellation during the `await` above must not leave a claim without its outcome
                await self.approval.store_outcome(result)
            await self._audit.write_outcome(result)
        except BaseException as error:
            if self.approval.open_record is not None:
                await self.approval.withdraw(self.approval.open_record, error)
            raise

    # Helpers.

    async def _judge(self, hook_reasons: Sequence[str]) -> Judgement:
        frame = self._frame
        findings = [Finding("ask", "a hook", reason or "a hook asked for it", "hook") for reason in hook_reasons]
        judging = frame.settings.judges.judge(frame.plan.tool, frame.plan.names, frame.call, frame.decoded, findings)
        frame.judgement = judgement = await frame.within(judging)
        verdict = judgement.verdict
        await self._audit.write("verdict", word=verdict.word, by=verdict.by, reason=verdict.reason)
        return judgement

    async def _find_change(self, answered: Answered) -> str | None:
        """Return what has changed since a person saw the request, or None if everything is the same."""
        frame, record = self._frame, answered.record
        conditions = record.request.preconditions
        files: list[str] = []
        if conditions:
            files = await frame.within(frame.settings.in_thread(lambda: find_changed_paths(conditions)))
        if files:
            return f"{', '.join(files)} is not as it was when a person agreed; here is what would happen now"
        if answered.is_stored and not await self.approval.has_approved_askers(record):
            return "it was not approved before, as the request says; here is what would happen"
        if not answered.is_stored or answered.decision.arguments is not None:
            return None  # there is no preview of edited arguments
        if await frame.within(self._builder.has_shown_preview(record)):
            return None
        return "what was shown is not what would happen; here is what would happen now"


def _as_plain_dict(arguments: Any) -> Any:
    return dict(arguments) if isinstance(arguments, dict) else arguments
