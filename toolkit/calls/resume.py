"""
Going on with a call that somebody has answered, in whatever process.

The store's copy of a request is the truth; without a store the seal is. What
is found here may be run: it is known, in time, unanswered, of this principal
and for the same tool. Whether it still may run is judged afterwards.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from ..approvals.comparisons import is_same_request
from ..approvals.identity import identity_of
from ..approvals.policy import Approvals
from ..approvals.process_owner import is_alive, owner
from ..approvals.records import ApprovalError, Record
from ..approvals.store import ApprovalStore
from ..concurrency.deadline import Deadline
from ..decisions import ApprovalRequest, Decision
from ..policies.audit import AuditError
from ..policies.redaction import Redaction
from ..results import ToolCall, ToolResult
from ..session import Session
from ..values.codecs import UNSURE
from ..values.rendering import described
from .approval import is_exact
from .pipeline import Walk
from .plan import Plan
from .settings import MAX_NOTE_SECONDS, Settings

__all__ = ["call_of", "record_of", "resumed"]

_log = logging.getLogger("toolkit")

InStore: TypeAlias = Callable[[str, str, Callable[[ApprovalStore], Any]], Awaitable[Any]]
FindPlan: TypeAlias = Callable[[str], Plan | None]


async def resumed(
    request: object,
    decision: Decision,
    find: FindPlan,
    settings: Settings,
    *,
    session: Session | None,
    principal: str | None,
    resources: Mapping[Any, Any],
    timeout_seconds: float | None,
) -> ToolResult:
    """The result of a call that waited, now that there is a *decision*; `ApprovalError` if that cannot be taken."""
    approvals, started = settings.approvals, settings.clock()
    try:
        in_store = partial(settings.store_runner.run, seconds=timeout_seconds)
        record, plan = await record_of(request, approvals, find, in_store, settings.redaction)
        call = call_of(record, plan, decision, session, principal, approvals)
        way = Walk(call, plan, settings, started, UNSURE, resources, timeout_seconds)
        return await way.resumed(record, decision)
    except ApprovalError as error:
        deadline = Deadline(settings.clock, None if timeout_seconds is None else started + timeout_seconds)
        left = deadline.extended(settings.cleanup_seconds).left()
        await _note_refusal(request, decision, error, settings, MAX_NOTE_SECONDS if left is None else left)
        raise


async def _note_refusal(
    request: object, decision: Decision, error: ApprovalError, settings: Settings, seconds: float
) -> None:
    audit = settings.audit
    if audit is None:
        return
    line = {"request": _id_of(request)[:64], "approved": decision.approved, "by": decision.by, "why": error.why}
    try:
        async with asyncio.timeout(seconds):
            await settings.in_thread(lambda: audit.write("refused", reason=str(error), **line))
    except AuditError as failed:  # nothing has happened, and the one who answered is told
        _log.error("a refused answer is missing in the audit log: %s", failed)
    except TimeoutError:
        _log.error("a refused answer may be missing in the audit log: writing takes too long")


def _id_of(request: object) -> str:
    """Return the id in *request*, in whatever form the caller gave it; empty if that cannot be read."""
    try:
        return str(request.get("id") if isinstance(request, Mapping) else getattr(request, "id", request))
    except (Exception, SystemExit):  # noqa: BLE001 -- the mapping is the caller's own; that the answer was refused is what matters
        return ""


async def record_of(
    given: object, approvals: Approvals, find: FindPlan, in_store: InStore, redaction: Redaction
) -> tuple[Record, Plan]:
    """
    Return the record of a request, by its id or by the request itself, and its tool's plan.

    The caller who gives the request itself has shown it: the store's copy has to say the same.
    """
    record = await _looked_up(given, approvals, find, in_store)
    request = record.request
    if isinstance(given, ApprovalRequest) and approvals.seal is None and not is_same_request(given, request, redaction):
        raise ApprovalError(
            f"request {request.id} in the store says something else than the request that was shown: one of them was "
            "altered; it cannot be used",
            why="forged",
        )
    plan = _plan(request, find)
    if record.state != "pending":
        return record, plan  # what was answered can be reported, whatever has changed since
    if identity_of(plan.tool) != record.identity:
        raise ApprovalError(
            f"`{request.tool}` is not the tool that request {request.id} was about: its schema, facts, version, "
            f"origin or, if it comes from elsewhere, its description changed; call it again, so that people see "
            f"what they agree to",
            why="changed",
        )
    if not is_exact(record, plan.tool):
        raise ApprovalError(f"request {request.id} was altered; it cannot be used", why="forged")
    return record, plan


async def _looked_up(given: object, approvals: Approvals, find: FindPlan, in_store: InStore) -> Record:
    if approvals.seal is None:
        name = given.id if isinstance(given, ApprovalRequest) else given
        if not isinstance(name, str):
            raise TypeError(f"resume wants the id of a request, got {type(given).__name__}")
        record: Record | None = await in_store("find request", repr(name[:64]), lambda store: store.get(name))
        if record is None:
            raise ApprovalError(
                f"nobody knows the request {name[:64]!r}; a call that was held back is simply sent again", why="unknown"
            )
        return record
    if isinstance(given, Mapping):
        try:
            given = ApprovalRequest.from_json(given)
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- the caller's own mapping
            raise ApprovalError(f"this is no sealed request: {described(error)}", why="forged") from None
    if not isinstance(given, ApprovalRequest):
        raise TypeError(
            f"without a store, resume wants the sealed request, or what its to_json() gave; got {type(given).__name__}"
        )
    identity = identity_of(_plan(given, find).tool)
    if not approvals.seal.verify(given, identity):
        raise ApprovalError(
            f"the seal of request {given.id[:64]!r} does not fit: it was forged or altered, or its tool has changed",
            why="forged",
        )
    remembered: Record = await in_store(
        "keep request", repr(given.id[:64]), lambda store: _remembered(store, given, identity)
    )
    return remembered


def _remembered(store: Any, request: ApprovalRequest, identity: str) -> Record:
    """The record of a sealed request: as it was when it last came back, or a new one."""
    fresh = Record(request=request, arguments=dict(request.arguments), identity=identity)
    try:
        store.add(fresh)
    except ValueError:
        known: Record | None = store.get(request.id)
        return fresh if known is None else known
    return fresh


def _plan(request: ApprovalRequest, find: FindPlan) -> Plan:
    plan = find(request.tool)
    if plan is None:
        raise ApprovalError(
            f"there is no tool `{request.tool[:64]}` here; resume where the same catalog is", why="changed"
        )
    return plan


def call_of(
    record: Record,
    plan: Plan,
    decision: Decision,
    session: Session | None,
    principal: str | None,
    approvals: Approvals,
) -> ToolCall:
    """The call that *record* is about; `ApprovalError` if *decision* comes too late, twice, or for somebody else."""
    request = record.request
    # First, and without naming the right one: whoever asks for somebody else's learns nothing.
    if session is not None and session.id != request.session:
        raise ApprovalError(
            f"request {request.id} belongs to another session; give Session(id=request.session), or none",
            why="principal",
        )
    named = {decision.principal, principal, None if session is None else session.principal} - {None}
    if named != {request.principal} - {None}:
        others = ", ".join(sorted(f"{each!r}" for each in named)) or "nobody in particular"
        raise ApprovalError(
            f"request {request.id} was not made for {others}; say for whom it was with resume(principal=...)",
            why="principal",
        )
    if record.state in ("denied", "done"):
        was = "denied" if record.state == "denied" else "approved, and has run; `outcome` holds what came of it"
        raise ApprovalError(f"request {request.id} was {was}", why="answered", outcome=record.outcome)
    if record.state == "claimed":
        _check_lost(record, decision, approvals)
    elif record.is_expired(approvals.clock()):
        raise ApprovalError(f"request {request.id} has expired; call `{request.tool}` again", why="expired")
    if session is None and decision.grant is not None:
        raise ApprovalError("a grant is for a session; give the request's own with resume(session=...)", why="grant")
    if session is None and request.session is not None:
        session = Session(id=request.session, principal=request.principal)
    return ToolCall(request.tool, record.arguments, request.call_id, session, request.principal, tool=plan.tool)


def _check_lost(record: Record, decision: Decision, approvals: Approvals) -> None:
    """A claim without an outcome: refuse the answer while its owner runs it."""
    request = record.request
    if not decision.approved:
        raise ApprovalError(f"request {request.id} was approved before, and started", why="answered")
    if decision.arguments is not None:
        raise ApprovalError(
            f"request {request.id} was approved before, and started with its own arguments; approve it without others",
            why="answered",
        )
    theirs = "" if record.claim is None else record.claim.owner
    runs = request.id not in approvals.lost if theirs == owner() else is_alive(theirs)
    # Out of sight is not gone: another machine may run it. Once nobody could have answered it any more, it is lost.
    if runs or (runs is None and not record.is_expired(approvals.clock())):
        where = "runs" if runs else "may run where this process cannot see it"
        raise ApprovalError(f"request {request.id} was approved before, and {where}", why="running")
