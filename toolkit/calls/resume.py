"""
Resuming a call that a person has answered, in any process.

The store's copy of a request is authoritative; without a store, the seal is. The code here checks that the request is
known, in time and unanswered, and that it has the same principal and the same tool. Whether the call may still run is
judged afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import methodcaller
from typing import Any, TypeAlias

from ..approvals.comparisons import is_same_request
from ..approvals.identity import identity_of, is_unaltered
from ..approvals.policy import Approvals
from ..approvals.records import ApprovalError, Record
from ..approvals.repeated_calls import add_or_get
from ..concurrency.time_limits import Deadline
from ..decisions import ApprovalRequest, Decision
from ..results import ToolCall, ToolResult
from ..session import Session, check_session
from ..values.rendering import describe_value
from ..values.strictjson.canonical import digest_parts
from .approval.case import is_marked_claim
from .approval.claim import RunInStore, find_running
from .background.jobs import keep_no_jobs
from .call_frame import CallFrame
from .kept_outputs import keep_no_outputs
from .pipeline import run_call
from .plan import CallPlan
from .resources import check_resource_keys
from .settings import Settings

__all__ = ["resume_call"]

FindPlan: TypeAlias = Callable[[str], CallPlan | None]


async def resume_call(
    request: object,
    decision: Decision,
    find_plan: FindPlan,
    settings: Settings,
    *,
    session: Session | None,
    principal: str | None,
    resources: Mapping[Any, Any] | None,
    timeout_seconds: float | None,
    idempotency_key: str | None = None,
    claim_mark: str = "",
) -> ToolResult:
    """
    Return the result of a call that waited, after the *decision* of a person.

    *idempotency_key* and *claim_mark* are set in the call; see `ToolCall`.

    Raises:
        ApprovalError: The decision cannot be accepted.
        ValueError: *request* is a result that does not wait.
    """
    if isinstance(request, ToolResult):
        if request.request is None:
            raise ValueError(f"the result of `{request.tool}` is {request.kind!r}, and waits for no answer")
        request = request.request
    if session is not None and type(session) is not Session:
        check_session(session)
    if resources is not None:
        check_resource_keys(resources)
    approvals, started = settings.approvals, settings.clock()
    try:
        in_store = partial(settings.store_runner.run, seconds=timeout_seconds)
        record, plan = await _find_record_and_plan(request, settings, find_plan, in_store)
        await _check_answer(record, decision, session, principal, approvals, in_store, claim_mark)
        call = _build_call(record, plan, session, claim_mark)
        call.idempotency_key = idempotency_key or digest_parts("toolkit idempotency key", call.id, record.request.id)
        frame = CallFrame.of(plan, call)
        frame.started, frame.answer = started, (record, decision)
        if resources or timeout_seconds is not None:
            frame.limit(resources, timeout_seconds)
        if plan.may_detach:
            from .background.detached_calls import run_or_detach

            # Without its session, a caller could not find the job.
            return await run_or_detach(frame, settings, may_detach=session is not None)
        return await run_call(frame)
    except ApprovalError as error:
        deadline = Deadline(settings.clock, None if timeout_seconds is None else started + timeout_seconds)
        left = deadline.with_minimum(settings.cleanup_seconds).seconds_left()
        await _write_refusal(request, decision, error, settings, left)
        raise


async def _write_refusal(
    request: object, decision: Decision, error: ApprovalError, settings: Settings, seconds: float | None
) -> None:
    audit = settings.audit
    if audit is not None:
        masked = settings.redaction.mask_value({"reason": str(error), "by": decision.by})
        line = {"request": _id_of(request)[:64], "approved": decision.approved, "why": error.why, **masked}
        writing = settings.in_thread(lambda: audit.write("refused", **line))
        await settings.write_late("a refused answer", writing, seconds)


def _id_of(request: object) -> str:
    """Return the id in *request*, in each form that a caller may give it, or an empty text if it cannot be read."""
    try:
        return str(request.get("id") if isinstance(request, Mapping) else getattr(request, "id", request))
    except (Exception, SystemExit):  # noqa: BLE001 -- the caller's mapping may raise; the refusal must still be written
        return ""


async def _find_record_and_plan(
    handle: object, settings: Settings, find_plan: FindPlan, in_store: RunInStore
) -> tuple[Record, CallPlan]:
    """
    Return the record of a request and the plan of its tool.

    *handle* is the id of the request or the request itself. A caller that gives the request itself has shown it to a
    person, so the store's copy must be the same.
    """
    approvals = settings.approvals
    record = await _find_record(handle, approvals, find_plan, in_store)
    request, is_stored = record.request, approvals.seal is None
    if isinstance(handle, ApprovalRequest) and is_stored and not is_same_request(handle, request, settings.redaction):
        raise ApprovalError(
            f"request {request.id} in the store says something else than the request that was shown: one of them was "
            "altered; it cannot be used",
            why="forged",
        )
    plan = _require_plan(request, find_plan)
    if record.state != "pending":
        return record, plan  # an answered request can be reported, even if the tool has changed since
    if identity_of(plan.tool) != record.identity:
        raise ApprovalError(
            f"`{request.tool}` is not the tool that request {request.id} was about: its schema, facts, version, "
            f"origin or, if it comes from elsewhere, its description changed; call it again, so that people see "
            f"what they agree to",
            why="changed",
        )
    if not is_unaltered(record, plan.tool):
        raise ApprovalError(f"request {request.id} was altered; it cannot be used", why="forged")
    return record, plan


async def _find_record(handle: object, approvals: Approvals, find_plan: FindPlan, in_store: RunInStore) -> Record:
    if approvals.seal is None:
        name = handle.id if isinstance(handle, ApprovalRequest) else handle
        if not isinstance(name, str):
            raise TypeError(f"resume wants the id of a request, got {type(handle).__name__}")
        record: Record | None = await in_store("find request", repr(name[:64]), methodcaller("get", name))
        if record is None:
            raise ApprovalError(
                f"unknown request {name[:64]!r}; a call that was held back is simply sent again", why="unknown"
            )
        return record
    if isinstance(handle, Mapping):
        try:
            handle = ApprovalRequest.from_json(handle)
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- the caller's own mapping may raise any error
            raise ApprovalError(f"this is no sealed request: {describe_value(error)}", why="forged") from None
    if not isinstance(handle, ApprovalRequest):
        raise TypeError(
            f"without a store, resume wants the sealed request, or what its to_json() gave; got {type(handle).__name__}"
        )
    identity = identity_of(_require_plan(handle, find_plan).tool)
    if not approvals.seal.verify(handle, identity):
        raise ApprovalError(
            f"the seal of request {handle.id[:64]!r} does not fit: it was forged or altered, or its tool has changed",
            why="forged",
        )
    record = Record(request=handle, arguments=dict(handle.arguments), identity=identity, answers=handle.answers)
    stored_record: Record = await in_store(
        "keep request", repr(handle.id[:64]), lambda store: add_or_get(store, record)
    )
    if stored_record.request.digest != handle.digest:
        # Two callers have chosen the same id. The person who answers has seen only one of the requests.
        raise ApprovalError(
            f"the request id {handle.id[:64]!r} belongs to another call as well; choose another request_id for one of "
            "them",
            why="changed",
        )
    return stored_record


def _require_plan(request: ApprovalRequest, find_plan: FindPlan) -> CallPlan:
    plan = None if request.alias is None else find_plan(request.alias)
    if plan is None or plan.name != request.tool:  # the alias was not used, or belongs to another tool now
        plan = find_plan(request.tool)
    if plan is None:
        raise ApprovalError(
            f"there is no tool `{request.tool[:64]}` here; resume where the same catalog is", why="changed"
        )
    return plan


async def _check_answer(
    record: Record,
    decision: Decision,
    session: Session | None,
    principal: str | None,
    approvals: Approvals,
    in_store: RunInStore,
    claim_mark: str,
) -> None:
    """
    Raise `ApprovalError` if *decision* comes too late, a second time, or for another principal or session.

    An unfinished claim with *claim_mark* is no reason to refuse.
    """
    request, now = record.request, approvals.clock()
    # This check comes first and does not name the right session, so that a caller learns nothing about other requests.
    if session is not None and session.id != request.session:
        raise ApprovalError(
            f"request {request.id} belongs to another session; give Session(id=request.session), or none",
            why="principal",
        )
    principals = {decision.principal, principal, None if session is None else session.principal} - {None}
    if principals != {request.principal} - {None}:
        others = ", ".join(sorted(f"{name!r}" for name in principals)) or "no principal"
        raise ApprovalError(
            f"request {request.id} was not made for {others}; say for whom it was with Decision.approve(principal=...)",
            why="principal",
        )
    if record.state in ("denied", "done"):
        ending = "denied" if record.state == "denied" else "approved, and has run; `outcome` holds what came of it"
        raise ApprovalError(f"request {request.id} was {ending}", why="answered", outcome=record.outcome)
    if record.state == "claimed":
        if not is_marked_claim(record, claim_mark):
            await _check_unfinished_claim(record, decision, approvals, in_store)
    elif record.is_expired(now if decision.decided_at is None else min(decision.decided_at, now)):
        raise ApprovalError(f"request {request.id} has expired; call `{request.tool}` again", why="expired")
    if session is None and decision.grant is not None:
        raise ApprovalError("a grant is for a session; give the request's own with resume(session=...)", why="grant")


def _build_call(record: Record, plan: CallPlan, session: Session | None, claim_mark: str) -> ToolCall:
    """Return the call that *record* is about."""
    request = record.request
    if session is None and request.session is not None:
        session = Session(id=request.session, principal=request.principal)
        keep_no_outputs(session)  # the caller's own session would not have them
        keep_no_jobs(session)
    call = ToolCall(plan.called_name, record.arguments, request.call_id, session, request.principal, tool=plan.tool)
    if claim_mark:
        call.claim_mark = claim_mark
    return call


async def _check_unfinished_claim(
    record: Record, decision: Decision, approvals: Approvals, in_store: RunInStore
) -> None:
    """
    Raise `ApprovalError` if an answer to a claim without an outcome cannot be accepted.

    An answer is refused while the owner of the claim runs the call or may run it. A denial or other arguments are
    refused too, because the call was approved and started before.
    """
    request = record.request
    if not decision.approved:
        raise ApprovalError(f"request {request.id} was approved before, and started", why="answered")
    if decision.arguments is not None:
        raise ApprovalError(
            f"request {request.id} was approved before, and started with its own arguments; approve it without others",
            why="answered",
        )
    if decision.answers is not None and dict(decision.answers) != _answers_of(record):
        raise ApprovalError(
            f"request {request.id} was answered before, and its call started with those answers; approve it without "
            "others",
            why="answered",
        )
    runs = await find_running(record, approvals, in_store)
    if runs is not False:
        where = "runs" if runs else "may run where this process cannot see it"
        raise ApprovalError(f"request {request.id} was approved before, and {where}", why="running")


def _answers_of(record: Record) -> dict[str, Any]:
    """Return the answers to the questions of *record* by their keys. Those of earlier requests are not among them."""
    keys = {question.key for question in record.asked_questions}
    return {answered.question.key: answered.answer for answered in record.answers if answered.question.key in keys}
