"""
The verdict's stage: a call is judged on its final arguments, and a person is heard where one has to be.

    judge → denied: a result
          → asks:   the request is kept, and somebody is asked at once, or the result is "waiting"
          → allowed: the intent is written to the audit log, and the call runs

What was approved is exactly what runs: an answer that comes later is judged again,
under the policy of that moment, before its approval is claimed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from .approvals.previews import unchanged
from .approvals.records import ApprovalError, Record
from .audit import AuditError
from .consent import Consent
from .deadline import Deadline
from .judging import AccessJudge, Judgement
from .permissions.policy import Permissions
from .plans import Plan, Settings
from .redaction import Redaction
from .requests import AuthNeeded, Changed, Decision
from .results import ToolCall, ToolResult
from .verdicts import Finding

__all__ = ["Hearing", "OnItsWay"]

_log = logging.getLogger("toolkit")


class OnItsWay(Protocol):
    """What a hearing has to know of the call."""

    call: ToolCall
    plan: Plan
    settings: Settings
    arguments: Any
    decoded: Any
    repairs: Sequence[str]
    deadline: Deadline

    async def check(self) -> ToolResult | None:
        """Decode the arguments; a result if they are refused."""

    def redaction(self) -> Redaction:
        """What has to be masked."""


class Hearing:
    """The verdict on one call."""

    def __init__(self, case: OnItsWay) -> None:
        self._case = case
        self._judgement: Judgement | None = None
        self.consent = Consent(case.plan.tool, case.call, case.settings.approvals, case.settings.in_thread)

    async def result(self, asked: Sequence[str] = ()) -> ToolResult | None:
        """A result if the call may not run, or not yet; *asked* is why hooks want a person to agree."""
        judgement = await self._judged(asked)
        if judgement.verdict.word == "deny":
            return _denied(judgement)
        if judgement.verdict.word == "ask" and not self._is_answered(judgement):
            return await self._ask(judgement)
        return None

    async def resumed(self, record: Record, decision: Decision) -> ToolResult | None:
        """
        The same, for a call that somebody has answered; the approval is claimed if it may run.

        Raises `ApprovalError` if the answer cannot be taken.
        """
        request = record.request
        await self._note(
            "answered", approved=decision.approved, by=decision.by, reason=decision.reason, request=request.id
        )
        if not decision.approved:
            await self.consent.deny(record, decision.by)
            reason = decision.reason or "the user said no"
            return ToolResult.error("denied", reason)
        case = self._case
        if decision.arguments is not None:
            case.arguments, case.decoded = dict(decision.arguments), None
            refused = await case.check()
            if refused is not None:
                return refused
        self.consent.answered = frozenset(request.asked_by)
        judgement = await self._judged(())
        if judgement.verdict.word == "deny":
            await self.consent.deny(record, decision.by)
            return _denied(judgement)
        is_new = judgement.verdict.word == "ask" and not self._is_answered(judgement)
        if is_new or (await self._changed(record)):
            # What was seen is not what would happen: the request is closed, and another one opened.
            await self.consent.deny(record, decision.by)
            self.consent.answered = frozenset()
            return await self._ask(judgement)
        if decision.grant is not None:
            self._check_grant(record, decision)
        await self.consent.claim(record, decision, _plain(case.arguments) if decision.arguments is not None else None)
        if decision.grant is not None and case.call.session is not None:
            Permissions.grant(case.call.session, decision.grant)
        return None

    async def interrupted(self, interrupt: AuthNeeded | Changed) -> ToolResult | None:
        """The same, for a call that found while it ran, and before it did anything, that a person is needed."""
        judgement = self._judgement or await self._judged(())
        if isinstance(interrupt, AuthNeeded):
            return await self._ask(judgement, auth=interrupt)
        self.consent.answered = frozenset()
        return await self._ask(judgement)

    # Before the effect, and after it.

    async def intend(self) -> None:
        """Write down that the call is about to run; what this raises keeps it from running."""
        await self._note("intent", arguments=_plain(self._case.arguments))

    async def end(self, result: ToolResult) -> None:
        """Write down what came of it; it has happened, so what cannot be written is logged."""
        await self.consent.finish(result)
        try:
            await self._note(
                "outcome",
                kind=result.kind,
                attempts=result.attempts,
                duration_seconds=round(result.duration_seconds, 6),
                chars=len(result.text),
                truncated=result.truncated,
            )
        except AuditError as error:
            _log.error("the outcome of call %s is missing in the audit log: %s", result.call_id, error)

    def access(self) -> AccessJudge:
        """What the running tool gets as `context.permissions`."""
        case, judges = self._case, self._case.settings.judges
        judgement = self._judgement
        request = (
            judges.request(case.plan.tool, case.plan.names, case.call, case.decoded)
            if judgement is None
            else judgement.request
        )
        record = self.consent.record
        return AccessJudge(judges, request, () if record is None else record.request.preconditions)

    # Helpers.

    async def _judged(self, asked: Sequence[str]) -> Judgement:
        case = self._case
        hooks = [Finding("ask", "a hook", reason or "a hook asked for it", "hook") for reason in asked]
        judging = case.settings.judges.judged(case.plan.tool, case.plan.names, case.call, case.decoded, hooks)
        self._judgement = judgement = await case.deadline.within(judging)
        verdict = judgement.verdict
        await self._note("verdict", word=verdict.word, by=verdict.by, reason=verdict.reason)
        return judgement

    def _is_answered(self, judgement: Judgement) -> bool:
        return all(each.by in self.consent.answered for each in judgement.asks)

    async def _ask(self, judgement: Judgement, auth: AuthNeeded | None = None) -> ToolResult | None:
        case = self._case
        record = await case.deadline.within(
            self.consent.request(
                judgement, case.arguments, case.repairs, case.redaction(), auth=None if auth is None else auth.request
            )
        )
        request = record.request
        await self._note("asked", request=request.id, reason=request.reason, asked_by=list(request.asked_by))
        decision = None if auth is not None else await case.deadline.within(self.consent.answer(record))
        if decision is not None:
            return await self.resumed(record, decision)
        what = "credentials" if auth is not None else "approval"
        return ToolResult(f"waiting for {what}: {request.reason}", None, "waiting", request=request)

    async def _changed(self, record: Record) -> bool:
        conditions = record.request.preconditions
        return bool(conditions) and bool(await self._case.settings.in_thread(lambda: unchanged(conditions)))

    def _check_grant(self, record: Record, decision: Decision) -> None:
        if decision.grant not in record.request.grants:
            raise ApprovalError(
                "this grant was not offered with the request; choose one of request.grants", why="grant"
            )
        if self._case.call.session is None:
            raise ApprovalError("a grant is for a session, and this call has none; give one with the call", why="grant")

    async def _note(self, event: str, **fields: Any) -> None:
        case = self._case
        audit = case.settings.audit
        if audit is None:
            return
        call, redaction = case.call, case.redaction()
        line = {
            "call_id": call.id,
            "tool": case.plan.name,
            "session": call.session_key or None,
            "principal": call.principal,
            **redaction.value(fields),
        }
        await case.settings.in_thread(lambda: audit.write(event, **line))


def _denied(judgement: Judgement) -> ToolResult:
    verdict = judgement.verdict
    is_check = bool(verdict.findings) and verdict.findings[0].source == "check"
    return ToolResult.error("safety" if is_check and verdict.findings[0].word == "deny" else "denied", verdict.reason)


def _plain(arguments: Any) -> Any:
    return dict(arguments) if isinstance(arguments, dict) else arguments
