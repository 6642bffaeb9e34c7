"""
The stage that judges a call on its final arguments, and asks a person if that is needed.

    judge → denied:  the call ends with a result
          → asks:    the request is stored; a person is asked at once, or the result is "waiting"
          → allowed: the intent is written to the audit log, and the call runs

A call runs exactly as it was approved. If the answer comes later, the call is judged again under the policy of that
moment before its approval is claimed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar
from weakref import ReferenceType, ref

from ..approvals.identity import canonical_arguments
from ..approvals.previews import PreviewFailed, unchanged
from ..approvals.read_only_guard import WriteRefused
from ..approvals.records import ApprovalError, Record
from ..approvals.store import ApprovalStore
from ..concurrency.deadline import Deadline
from ..decisions import AuthNeeded, Changed, Decision
from ..errors import ToolError
from ..permissions.grants import is_described
from ..permissions.judgement import AccessJudge, Judgement
from ..permissions.policy import Permissions
from ..policies.audit import AuditError
from ..policies.redaction import Redaction
from ..results import ToolCall, ToolResult
from ..values.codecs import UNSURE
from ..verdicts import Finding
from .approval import CallApproval, build_lost_result, is_unaltered, render_reason, restore_masked_secrets
from .error_results import build_error_result
from .plan import CallPlan
from .settings import MAX_NOTE_SECONDS, Settings

__all__ = ["ApprovalStage", "CallState"]

T = TypeVar("T")

_log = logging.getLogger("toolkit")

# The limit stops an endless loop between an asker that agrees to everything and a tool that always reports a change.
_MAX_QUESTIONS = 10


class CallState(Protocol):
    """The parts of a call that a hearing uses."""

    call: ToolCall
    plan: CallPlan
    settings: Settings
    deadline: Deadline
    arguments: Any
    decoded: Any
    repairs: Sequence[str]

    async def check(self, *, repair: bool = True) -> ToolResult | None:
        """Decode the arguments, and return a result if they are refused."""

    async def within(self, work: Awaitable[T]) -> T:
        """Await *work* for as long as the call has time."""

    def redaction(self) -> Redaction:
        """Return the redaction that masks the secrets of the call."""


class _LimitedStore:
    """
    The store of approvals, limited to the time that the call of *state* may wait for it.

    The call owns this object by way of its approval, so this object refers to the call weakly.
    """

    def __init__(self, state: CallState) -> None:
        self._settings = state.settings
        self._first_deadline = state.deadline
        self._state_reference = ref(state)

    @property
    def _deadline(self) -> Deadline:
        """The deadline of the call, which is extended when the call ends."""
        state = self._state_reference()
        return self._first_deadline if state is None else state.deadline

    async def run(
        self,
        operation: str,
        name: str,
        work: Callable[[ApprovalStore], T],
        *,
        on_late: Callable[[ApprovalStore, T], object] | None = None,
    ) -> T:
        left = self._deadline.seconds_left()
        return await self._settings.store_runner.run(operation, name, work, seconds=left, on_late=on_late)

    async def run_at_end(
        self, operation: str, name: str, work: Callable[[ApprovalStore], T], *, is_cancelled: bool = False
    ) -> T:
        left: float | None = self._settings.cleanup_seconds
        if not is_cancelled:
            left = self._deadline.with_minimum(self._settings.cleanup_seconds).seconds_left()
        return await self._settings.store_runner.run(operation, name, work, seconds=left, must_happen=True)

    def detach(self, operation: str, work: Callable[[ApprovalStore], object]) -> None:
        self._settings.store_runner.detach(operation, work)

    async def within(self, work: Awaitable[T]) -> T:
        return await _dereference(self._state_reference).within(work)


def _dereference(reference: ReferenceType[CallState]) -> CallState:
    """Return the call that *reference* refers to, which has to be under way."""
    state = reference()
    if state is None:
        raise RuntimeError("a call was judged after it had ended")
    return state


class ApprovalStage:
    """
    The verdict on one call.

    The call owns this object, and this object refers to the call weakly. So both are freed without the garbage
    collector.
    """

    def __init__(self, state: CallState) -> None:
        self._state_reference = ref(state)
        self._judgement: Judgement | None = None
        self._question_count = 0
        self._shown_reason = ""
        settings = state.settings
        store = _LimitedStore(state)
        self.approval = CallApproval(state.plan.tool, state.call, settings.approvals, store, settings.in_hook_thread)

    @property
    def _state(self) -> CallState:
        return _dereference(self._state_reference)

    async def judge_call(self, hook_reasons: Sequence[str] = (), *, is_replaced: bool = False) -> ToolResult | None:
        """
        Return a result if the call may not run, or may not run yet; None if it may run.

        *hook_reasons* holds the reasons why hooks want a person to agree. If a hook has replaced the result
        (*is_replaced*), the call is denied instead of waiting, because resuming it later would run the tool itself.
        """
        judgement = await self._judge(hook_reasons)
        if judgement.verdict.word == "deny":
            return _build_denied_result(judgement)
        if judgement.verdict.word == "ask" and not self._is_answered(judgement):
            result = await self._ask(judgement)
            if result is not None and result.kind == "waiting" and is_replaced:
                await self.approval.withdraw_unless_carried_by(None)
                why = (
                    f"{judgement.verdict.reason}; a hook has replaced what it would do, so nobody can agree to it later"
                )
                return ToolResult.failure("denied", why)
            return result
        return None

    async def resume(self, record: Record, decision: Decision, *, is_stored: bool = True) -> ToolResult | None:
        """
        Return a result if an answered call may not run; otherwise claim the approval and return None.

        If *is_stored*, the record comes from a store that other programs may have written. Then the content that
        *record* shows is compared with what would run.

        Raises:
            ApprovalError: The answer cannot be accepted.
        """
        request = record.request
        if decision.principal not in (None, request.principal):
            raise ApprovalError(f"request {request.id} was not made for {decision.principal!r}", why="principal")
        grant = None if decision.grant is None else decision.grant.shown
        answer = {"approved": decision.approved, "by": decision.by, "reason": decision.reason, "grant": grant}
        await self._write_audit("answered", request=request.id, **answer)
        if not decision.approved:
            await self.approval.deny(record, decision.by)
            reason = decision.reason or "the user said no"
            return ToolResult.failure("denied", reason)
        if record.state == "claimed" and not self._may_run_again(record):
            return await self._finish_lost(record, decision)
        if is_stored:
            self.approval.check_shown_arguments(record, self._state.redaction())
        refusal = await self._decode_approved_arguments(record, decision)
        if refusal is not None:
            return refusal
        self.approval.answered_askers, self._shown_reason = frozenset(request.asked_by), request.reason
        judgement = await self._judge(())
        is_denied = judgement.verdict.word == "deny"
        is_new = judgement.verdict.word == "ask" and not self._is_answered(judgement)
        difference = None if is_denied or is_new else await self._find_change(record, decision, is_stored=is_stored)
        if record.state == "claimed" and (is_denied or is_new or difference):
            return await self._finish_lost(record, decision)
        if is_denied:
            await self.approval.deny(record, decision.by)
            return _build_denied_result(judgement)
        if is_new or difference:
            # The person saw something else than what would happen, so the request is closed and another one opened.
            await self.approval.deny(record, decision.by)
            self.approval.answered_askers = frozenset()
            return await self._ask(judgement, reason=difference)
        await self._claim(record, decision)
        return None

    async def _decode_approved_arguments(self, record: Record, decision: Decision) -> ToolResult | None:
        """
        Decode the arguments that are going to run, exactly as the person saw or wrote them.

        Return a result if the original arguments do not fit any more.
        """
        state = self._state
        if decision.arguments is not None:
            state.arguments = restore_masked_secrets(decision.arguments, record, state.plan.tool)
            state.decoded = UNSURE
        if state.decoded is not UNSURE:
            return None
        refusal = await state.check(repair=False)
        if refusal is not None and decision.arguments is not None:
            why = "" if refusal.error is None else refusal.error.message
            raise ApprovalError(
                f"the edited arguments do not fit: {why}; correct them, and answer again", why="arguments"
            )
        return refusal

    async def _claim(self, record: Record, decision: Decision) -> None:
        state, grant = self._state, decision.grant
        if grant is not None and grant not in record.request.grants:
            raise ApprovalError(
                "this grant was not offered with the request; choose one of request.grants", why="grant"
            )
        if grant is not None and not is_described(grant, state.plan.tool):
            raise ApprovalError(
                "this grant permits something else than it says: the request was altered; answer without it",
                why="grant",
            )
        edited = None
        if decision.arguments is not None:
            edited = canonical_arguments(state.plan.tool, state.decoded, state.arguments)
        await self.approval.claim(record, decision, edited)
        if grant is not None and state.call.session is not None:
            Permissions.grant(state.call.session, grant)

    def _may_run_again(self, record: Record) -> bool:
        tool = self._state.plan.tool
        return tool.facts.idempotent and not tool.facts.destructive and is_unaltered(record, tool)

    async def _finish_lost(self, record: Record, decision: Decision) -> ToolResult:
        await self.approval.claim(record, decision, None)
        return build_lost_result(record, self._state.settings.approvals)

    async def handle_interrupt(self, interrupt: AuthNeeded | Changed) -> ToolResult | None:
        """
        Return a result for a call that was interrupted because it needs a person; None if a person agreed at once.

        The tool raised *interrupt* while it ran, before it did anything.
        """
        # Decode the arguments again, because the tool may have changed them.
        refusal = await self._state.check()
        if refusal is not None:
            return refusal
        judgement = await self._judge(())
        if judgement.verdict.word == "deny":
            return _build_denied_result(judgement)
        is_new = judgement.verdict.word == "ask" and not self._is_answered(judgement)
        if isinstance(interrupt, AuthNeeded) and not is_new:
            return await self._ask(judgement, auth=interrupt)
        self.approval.answered_askers = frozenset()
        return await self._ask(judgement, reason=str(interrupt))

    # The audit log before the effect, and the records after it.

    async def record_intent(self) -> None:
        """Write to the audit log that the call is about to run. If this raises, the call does not run."""
        await self._write_audit("intent", arguments=_as_plain_dict(self._state.arguments))

    async def record_outcome(self, result: ToolResult) -> None:
        """
        Write down the outcome of the call.

        The call has happened, so a failure to write the outcome is only logged.
        """
        try:
            await self.approval.withdraw_unless_carried_by(result)
        finally:  # a cancellation during the `await` above must not leave a claim without its outcome
            await self.approval.store_outcome(result, self._state.redaction)
        if self._state.settings.audit is not None:
            await self._write_outcome(result)

    async def _write_outcome(self, result: ToolResult) -> None:
        has_limit = self._state.deadline.at is not None
        try:
            async with asyncio.timeout(None if has_limit else MAX_NOTE_SECONDS):
                await self._write_audit(
                    "outcome",
                    kind=result.kind,
                    attempts=result.attempts,
                    duration_seconds=round(result.duration_seconds, 6),
                    chars=len(result.text),
                    truncated=result.truncated,
                )
        except AuditError as error:
            _log.error("the outcome of call %s is missing in the audit log: %s", result.call_id, error)
        except TimeoutError:
            _log.error("the outcome of call %s may be missing in the audit log: writing takes too long", result.call_id)

    def build_access_judge(self) -> AccessJudge:
        """Return the object that the running tool gets as `context.permissions`."""
        state, judges = self._state, self._state.settings.judges
        judgement = self._judgement
        request = (
            judges.build_request(state.plan.tool, state.plan.names, state.call, state.decoded)
            if judgement is None
            else judgement.request
        )
        record = self.approval.claimed_record
        preconditions = () if record is None else record.request.preconditions
        return AccessJudge(judges, request, preconditions, self.approval.answered_askers)

    # Helpers.

    async def _judge(self, hook_reasons: Sequence[str]) -> Judgement:
        state = self._state
        findings = [Finding("ask", "a hook", reason or "a hook asked for it", "hook") for reason in hook_reasons]
        judging = state.settings.judges.judge(state.plan.tool, state.plan.names, state.call, state.decoded, findings)
        self._judgement = judgement = await state.within(judging)
        verdict = judgement.verdict
        await self._write_audit("verdict", word=verdict.word, by=verdict.by, reason=verdict.reason)
        return judgement

    def _is_answered(self, judgement: Judgement) -> bool:
        # The name of the verdict counts too, because a judge may ask without a finding that asks.
        askers = {judgement.verdict.by, *(finding.by for finding in judgement.asks)}
        unanswered = askers - self.approval.answered_askers
        # A check or a judge may ask another question this time, and the person has not answered what they have not
        # read.
        if any(finding.source in ("check", "judge") and not self._was_read(finding) for finding in judgement.asks):
            return False
        # An approval under one mode counts under another mode, because both modes ask about the same thing.
        return all(map(_is_mode, unanswered)) and (not unanswered or any(map(_is_mode, self.approval.answered_askers)))

    def _was_read(self, finding: Finding) -> bool:
        return render_reason(finding.reason, self._state.redaction()) in self._shown_reason

    async def _ask(
        self, judgement: Judgement, *, auth: AuthNeeded | None = None, reason: str | None = None
    ) -> ToolResult | None:
        state = self._state
        self._question_count += 1
        request_work = self.approval.create_request(
            judgement,
            state.arguments,
            state.repairs,
            state.redaction(),
            auth=None if auth is None else auth.request,
            reason=reason,
        )
        try:
            record = await request_work
        except PreviewFailed as error:
            if not isinstance(error.__cause__, ToolError) or isinstance(error.__cause__, WriteRefused):
                raise
            # The call would fail with this same error, so the model is told and no person is asked.
            return build_error_result(error.__cause__, state.plan, redaction=state.redaction())
        request = record.request
        try:
            await self._write_audit("asked", request=request.id, reason=request.reason, asked_by=list(request.asked_by))
            while auth is None and self._question_count <= _MAX_QUESTIONS:
                decision = await state.within(self.approval.ask_person(record))
                if decision is None:
                    break
                try:
                    return await self.resume(record, decision, is_stored=False)
                except ApprovalError as error:
                    if error.why not in ("arguments", "grant"):
                        raise
                    # The person made a mistake in their answer, so they are told about it and asked again.
                    self._question_count += 1
                    record = replace(record, request=replace(request, reason=f"{request.reason} ({error})"))
        except BaseException as error:
            # The call ends here, so a later answer must not let it run.
            await self.approval.withdraw(record, error)
            raise
        need = "credentials" if auth is not None else "approval"
        self.approval.waiting_record = record
        return ToolResult(f"waiting for {need}: {request.reason}", None, "waiting", request=request)

    async def _find_change(self, record: Record, decision: Decision, *, is_stored: bool) -> str | None:
        """Return what has changed since a person saw the request, or None if everything is the same."""
        state, conditions = self._state, record.request.preconditions
        files: list[str] = []
        if conditions:
            files = await state.within(state.settings.in_thread(lambda: unchanged(conditions)))
        if files:
            return f"{', '.join(files)} is not as it was when a person agreed; here is what would happen now"
        if not is_stored or decision.arguments is not None:
            return None  # there is no preview of edited arguments
        comparing = self.approval.has_shown_preview(record, state.decoded, state.redaction())
        if await state.within(comparing):
            return None
        return "what was shown is not what would happen; here is what would happen now"

    async def _write_audit(self, event: str, **fields: Any) -> None:
        state = self._state
        audit = state.settings.audit
        if audit is None:
            return
        call, redaction = state.call, state.redaction()
        line = {
            "call_id": call.id,
            "tool": state.plan.name,
            "session": call.session_key or None,
            "principal": call.principal,
            **redaction.mask_value(fields),
        }
        await state.within(state.settings.in_thread(lambda: audit.write(event, **line)))


def _build_denied_result(judgement: Judgement) -> ToolResult:
    verdict = judgement.verdict
    decisive = verdict.findings[0] if verdict.findings else None
    sources = [finding.source for finding in verdict.findings if finding.word == "deny"]
    if decisive is None or decisive.word != "deny" or decisive.source not in ("check", "arguments"):
        return ToolResult.failure("denied", verdict.reason)
    # The model may correct wrong arguments, unless a check refuses the call as well.
    return ToolResult.failure("safety" if "check" in sources else "bad_args", verdict.reason)


def _is_mode(by: str) -> bool:
    return by.startswith("mode `")


def _as_plain_dict(arguments: Any) -> Any:
    return dict(arguments) if isinstance(arguments, dict) else arguments
