"""
The case of a call that is judged, and that a person may be asked about.

    question ──▶ asking ──▶ answered ──▶ claimed, and the call runs
       ▲           ▲  │       │ │ │
       │           │  └─ no person answers now: the call ends with "waiting"
       │           └──────────┘ │ │   the answer has a mistake, so the person is told and asked again
       └────────────────────────┘ │   something is new, or has changed since the person saw it
                                  └─ a person or a rule denies the call: the call ends with "denied"

`Unasked`, `Asking` and `Answered` are the steps on this way. `ApprovalCase` holds what stays the same, and the records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...approvals.comparisons import find_edit
from ...approvals.identity import is_unaltered
from ...approvals.records import Record
from ...approvals.store import ApprovalStore
from ...decisions import ApprovalRequest, ArgumentEdit, AuthRequest, Decision
from ...hooks.events import PersonAnswered, PersonAsked
from ...permissions.judgement import Judgement
from ...policies.redaction import MASK
from ...questions import AnsweredQuestion, Question
from ...results import ToolResult
from ...storage.process_owner import has_mark
from ...values.rendering import as_json
from ...verdicts import Finding
from ..call_frame import CallFrame
from ..listeners import tell

__all__ = ["Answered", "ApprovalCase", "Asking", "Unasked", "get_case", "is_marked_claim", "mask_secrets"]

T = TypeVar("T")


class ApprovalCase:
    """
    The approval of the call of *frame*.

    Attributes:
        claimed_record: The request that was approved, once it is claimed.
        owner: The owner of the claims of this call, once there is one: this process, with the mark of the step.
        open_record: The request that still waits for an answer, once the call could end with it.
        resumed_id: The id of the request that a person has answered after the call had ended, if the call is resumed.
        made_ids: The ids of the requests that this call has made. It may find another one, of the same call.
        question_count: How often a person was asked.
    """

    def __init__(self, frame: CallFrame) -> None:
        self.frame = frame
        self.plan = frame.plan
        self.call = frame.call
        self.settings = frame.plan.settings
        self.approvals = self.settings.approvals
        self.store_runner = self.settings.store_runner
        self.claimed_record: Record | None = None
        self.owner = ""
        self.open_record: Record | None = None
        self.resumed_id = ""
        self.made_ids: set[str] = set()
        self.question_count = 0

    # The verdict.

    async def judge(self, hook_reasons: Sequence[str] = ()) -> Judgement:
        """Judge the call on its present arguments. *hook_reasons* are the reasons why hooks want a person to agree."""
        frame, plan = self.frame, self.plan
        findings = [Finding("ask", "a hook", reason or "a hook asked for it", "hook") for reason in hook_reasons]
        judging = self.settings.judges.judge(
            plan.tool, plan.names, self.call, frame.decoded, findings, markers=plan.markers
        )
        frame.judgement = judgement = await frame.within(judging)
        verdict = judgement.verdict
        await self.write_line("verdict", word=verdict.word, by=verdict.by, reason=verdict.reason)
        return judgement

    def has_to_ask(self, judgement: Judgement) -> bool:
        """Return whether *judgement* asks something that no person has agreed to yet."""
        if judgement.verdict.word != "ask":
            return False
        approved = self.frame.approved
        if approved is None:
            return True
        # A check or a judge may ask another question this time, and the person has not answered what they have not
        # read.
        asks = [finding for finding in judgement.verdict.findings if finding.word == "ask"]
        reasons = [finding.reason for finding in asks if finding.source in ("check", "judge")]
        if any(self.frame.redaction().render_reason(reason) not in approved.reason for reason in reasons):
            return True
        # The name of the verdict counts too, because a judge may ask without a finding that asks.
        askers = {judgement.verdict.by, *(finding.by for finding in asks)}
        unanswered = askers.difference(approved.asked_by)
        # An approval under one mode counts under another mode, because both modes ask about the same thing.
        return not all(map(_is_mode, unanswered)) or (bool(unanswered) and not any(map(_is_mode, approved.asked_by)))

    # The records.

    @property
    def is_step(self) -> bool:
        """Whether the call is a step of a run."""
        return bool(self.call.claim_mark)

    def is_resumed_by(self, record: Record) -> bool:
        """Return whether a person has answered *record* after its call had ended. They cannot be asked again."""
        return record.request.id == self.resumed_id

    def is_own_claim(self, record: Record) -> bool:
        """Return whether an earlier attempt at the same step has claimed *record*. It never began."""
        return is_marked_claim(record, self.call.claim_mark)

    def find_edits(self, record: Record) -> tuple[ArgumentEdit, ...]:
        """Return what people have changed in the arguments of *record*, the person who approved it included."""
        request = record.request
        if is_unaltered(record, self.plan.tool) or not isinstance(record.arguments, Mapping):
            return request.edits
        edit = find_edit(request, record.arguments, record.decided_by, self.plan.secrets)
        return request.edits if edit is None else (*request.edits, edit)

    # The store of approvals, limited to the time that the call may wait for it.

    async def run_in_store(
        self,
        operation: str,
        name: str,
        work: Callable[[ApprovalStore], T],
        *,
        on_late: Callable[[ApprovalStore, T], object] | None = None,
    ) -> T:
        """Return what *work* returns; raise `StoreTimeoutError` if the call has no time left."""
        deadline = self.frame.deadline
        left = None if deadline.at is None else deadline.seconds_left()
        return await self.store_runner.run(operation, name, work, seconds=left, on_late=on_late)

    def seconds_at_end(self, *, is_cancelled: bool) -> float | None:
        """Return how long the end of the call may take to be recorded; None if the call has no limit."""
        seconds, deadline = self.settings.cleanup_seconds, self.frame.deadline
        if is_cancelled or deadline.at is None:
            return seconds if is_cancelled else None
        return deadline.with_minimum(seconds).seconds_left()

    # The lines in the audit log about the call. Without an audit log, nothing is written.

    async def write_line(self, event: str, **fields: Any) -> None:
        """Add a line about the call: its id, tool, origin, session, principal and *fields*, with secrets masked."""
        frame = self.frame
        audit = self.settings.audit
        if audit is None:
            return
        call, redaction = self.call, frame.redaction()
        line = {
            "call_id": call.id,
            "tool": frame.plan.name,
            **frame.plan.audit_fields,
            "session": call.session_key or None,
            "principal": call.principal,
            **redaction.mask_value(fields),
        }
        await frame.within(self.settings.in_thread(lambda: audit.write(event, **line)))

    async def write_asked(self, request: ApprovalRequest) -> None:
        """Add the line that a person is asked about the call, and tell the listeners."""
        questions = {"questions": [question.to_json() for question in request.questions]} if request.questions else {}
        asked_by = list(request.asked_by)
        await self.write_line("asked", request=request.id, reason=request.reason, asked_by=asked_by, **questions)
        if self.plan.has_listeners:
            await tell(self.settings, PersonAsked(self.frame.show_to_listeners(), request), self.frame)

    async def write_answered(
        self, request: ApprovalRequest, decision: Decision, answers: Sequence[AnsweredQuestion]
    ) -> None:
        """Add the line with the *decision* of a person and their *answers* to the questions, and tell the listeners."""
        fields: dict[str, Any] = {"approved": decision.approved, "by": decision.by, "reason": decision.reason}
        fields["grant"] = None if decision.grant is None else decision.grant.shown
        if decision.arguments is not None:
            # The old and the new secrets are masked.
            redaction = self.frame.redaction(decision.arguments)
            masked = mask_secrets(decision.arguments, self.plan.secrets)
            fields["arguments"] = redaction.mask_value(as_json(masked))
        if answers:
            fields["answers"] = [answered.to_json() for answered in answers]
        await self.write_line("answered", request=request.id, **fields)
        if self.plan.has_listeners:
            await tell(self.settings, PersonAnswered(self.frame.show_to_listeners(), request, decision), self.frame)

    def describe_edits(self) -> dict[str, Any]:
        """Return the field of a line that says what people have changed in the arguments; empty if nothing."""
        edits = self.frame.edits
        return {"edits": [edit.to_json() for edit in edits]} if edits else {}

    async def write_outcome(self, result: ToolResult) -> None:
        """Add the line about the end of the call. A failure is only logged, because the call has happened."""
        writing = self.write_line(
            "outcome",
            kind=result.kind,
            attempts=result.attempts,
            duration_seconds=round(result.duration_seconds, 6),
            chars=len(result.text),
            truncated=result.truncated,
            **({"cost": result.cost} if result.cost else {}),
            **self.describe_edits(),
            **({} if self.frame.repeats is None else {"repeats": self.frame.repeats.request.id}),
        )
        await self.settings.write_late(f"the outcome of call {result.call_id}", writing)


@dataclass(frozen=True, slots=True)
class Unasked:
    """
    A matter that a person has to decide. No request is made yet.

    Attributes:
        judgement: The judgement that asks.
        reason: Why the person is asked again, if they are.
        auth: The credentials that the tool needs, if it is about them.
        questions: What the tool asks its user, if it is about questions.
        replaces: The earlier request of the call that was answered and whose place the new one takes, if any.
    """

    judgement: Judgement
    reason: str | None = None
    auth: AuthRequest | None = None
    questions: tuple[Question, ...] = ()
    replaces: Record | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """
    A request that is stored and waits for an answer.

    Attributes:
        record: The request.
        is_stored: Whether *record* was read from the store, because the same call has asked before.
        mistake: What was wrong with the last answer, if the person is asked for another one.
    """

    record: Record
    is_stored: bool = False
    mistake: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """
    A request with its answer, which has to be accepted before the call may run.

    Attributes:
        record: The request.
        decision: The answer.
        is_exposed: Whether *record* was read from a store that other programs may have written: it is outside of this
            process, and unsigned. Then the content that *record* shows is compared with what would run.
    """

    record: Record
    decision: Decision
    is_exposed: bool


def get_case(frame: CallFrame) -> ApprovalCase:
    """Return the case of the call. It is made for the first stage that needs it."""
    case: ApprovalCase | None = frame.approval_case
    if case is None:
        frame.approval_case = case = ApprovalCase(frame)
    return case


def is_marked_claim(record: Record, mark: str) -> bool:
    """Return whether the claim of *record* has this *mark*, so that an earlier attempt at the same step has made it."""
    return record.state == "claimed" and record.claim is not None and has_mark(record.claim.owner, mark)


def mask_secrets(arguments: Mapping[str, Any], secrets: Collection[str]) -> dict[str, Any]:
    """Return *arguments* with a mask in place of each argument whose name is in *secrets*."""
    return {name: MASK if name in secrets else value for name, value in arguments.items()}


def _is_mode(by: str) -> bool:
    return by.startswith("mode `")
