"""
The claim of an approved call, its outcome, and the end of a request that no person has answered.

A claim is committed before the call runs, so an approval is used at most once. The outcome is stored after the call
has run. If a claim has no outcome, it is not known what happened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from ...approvals.policy import Approvals
from ...approvals.records import ApprovalError, Record
from ...approvals.repeated_calls import WITHDRAWN, has_approved_askers
from ...approvals.store import ApprovalStore, Settlement
from ...approvals.store_runner import StoreRunner, StoreTimeoutError
from ...decisions import Decision
from ...questions import AnsweredQuestion
from ...results import ToolCall, ToolResult
from ...storage.process_owner import is_alive, is_this_process, owner
from ...values.rendering import describe_value
from ..call_frame import CallFrame
from ..settings import Settings
from .case import ApprovalCase, get_case
from .request import close_pending

__all__ = [
    "RunInStore",
    "build_lost_result",
    "build_repeated_result",
    "claim_request",
    "deny_request",
    "find_running",
    "has_approval_before",
    "record_cut_short",
    "record_intent",
    "record_outcome",
    "withdraw_request",
    "withdraw_undelivered",
    "withdraw_unless_carried_by",
]

_log = logging.getLogger("toolkit")

RunInStore: TypeAlias = Callable[[str, str, Callable[[Any], Any]], Awaitable[Any]]

_TAKEN_OVER = "the claim of this process was taken over, because the process seemed to be dead"


async def build_repeated_result(case: ApprovalCase, record: Record) -> ToolResult:
    """Return the result of a call that asks again although *record*, its request, was answered before."""
    if record.state == "denied":
        return ToolResult.failure("denied", record.denial or "the user said no")
    case.frame.repeats = record
    if record.outcome is not None:  # it says itself what people changed
        return ToolResult.from_json(record.outcome)
    case.frame.edits = case.find_edits(record)
    runs = await find_running(record, case.approvals, case.run_in_store)
    if runs is False:
        return build_lost_result(record, case.approvals)
    return ToolResult.failure(
        "failed",
        f"the same call was approved before, and {'runs' if runs else 'may run where this process cannot see it'}",
        details={"happened": "maybe"},
        advice="Wait for its result; it is not started a second time.",
    )


def build_lost_result(record: Record, approvals: Approvals) -> ToolResult:
    """
    Return the result of a call that was claimed but has no outcome in the store, and does not run.

    The result says why the outcome is missing. Before the request expires, only a process that is dead loses a claim.
    """
    claimed_by = "" if record.claim is None else record.claim.owner
    if record.request.id in approvals.lost and is_this_process(claimed_by):
        why = "it was approved and started in this process, but the store could not keep its outcome (the log says why)"
    elif is_alive(claimed_by) is False or not record.is_expired(approvals.clock()):
        why = "it was approved and started, but its process ended before the outcome was kept"
    else:
        why = "it was approved and started where this process cannot see it, and no outcome was kept"
    return ToolResult.failure(
        "failed",
        f"{why}: it may or may not have happened",
        details={"happened": "maybe"},
        advice="Find out what happened before you call it again.",
    )


async def has_approval_before(case: ApprovalCase, record: Record) -> bool:
    """Return whether a person has approved the call of *record* before, if *record* asks for something else."""
    if record.request.is_approval:
        return True
    name = record.request.id
    return await case.run_in_store("find request", name, lambda store: has_approved_askers(store, record))


async def claim_request(
    case: ApprovalCase,
    record: Record,
    decision: Decision,
    arguments: Any,
    answers: tuple[AnsweredQuestion, ...] | None = None,
) -> None:
    """
    Claim the approval for this call alone, or raise `ApprovalError` if another caller has claimed it.

    *arguments* and *answers* replace those of the record, unless they are None.
    """
    now = _find_decision_time(decision, case.approvals)
    case.owner = mine = owner(mark=case.call.claim_mark)

    def claim(store: ApprovalStore) -> bool:
        name = record.request.id
        present: Record | None = record
        if record.state != "claimed":
            if store.settle(
                name, Settlement("claimed", by=decision.by, owner=mine, now=now, arguments=arguments, answers=answers)
            ):
                return True
            # An earlier attempt at the same step, whose process was replaced, may have been faster.
            present = store.get(name) if case.is_step else None
            if present is None or not case.is_own_claim(present):
                return False
        theirs = "" if present is None or present.claim is None else present.claim.owner
        return store.reclaim(name, from_owner=theirs, owner=mine, now=now)

    def close_unused(store: ApprovalStore, is_ours: bool) -> None:
        # The claim succeeded after the call had stopped waiting for it.
        if is_ours and not case.is_step:
            _write_outcome(case, store, record, _build_cut_short_result(0))

    name, former = record.request.id, case.claimed_record
    if not await case.run_in_store("claim request", name, claim, on_late=close_unused):
        raise ApprovalError(f"request {name} was answered by another person or process in the meantime", why="answered")
    case.claimed_record, case.open_record = record, None
    if former is not None:
        await _store_outcome(
            case, former, ToolResult("it was not done, and asked about again", None, "waiting", request=record.request)
        )


async def deny_request(case: ApprovalCase, record: Record, decision: Decision, reason: str) -> None:
    """Close the request, or raise `ApprovalError` if it was answered before. *reason* is what the model is told."""
    name, now = record.request.id, _find_decision_time(decision, case.approvals)
    settlement = Settlement("denied", by=decision.by, now=now, denial=case.frame.redaction().mask_text(reason))
    if not await case.run_in_store("deny request", name, lambda store: store.settle(name, settlement)):
        raise ApprovalError(f"request {name} was answered before", why="answered")
    case.open_record = None


async def withdraw_request(case: ApprovalCase, record: Record, error: BaseException | None = None) -> None:
    """
    Close a request whose call ends without an answer, unless another call holds the same request.

    If *error* ends the call, the request may be closed in the background, without waiting. If it ends a step of a
    run, the request stays, because the step is done again and finds it. A request that a person has answered stays
    too, because its answer was not accepted and can be given again. With any result, an answer is used up.
    """
    name, case.open_record = record.request.id, None
    is_resumed = case.is_resumed_by(record)
    if not is_resumed and not case.approvals.holders.remove(name, is_maker=name in case.made_ids):
        return
    if error is not None and (is_resumed or (case.is_step and not isinstance(error, Exception))):
        return
    seconds = case.seconds_at_end(is_cancelled=isinstance(error, asyncio.CancelledError))
    await _close_request(
        case.store_runner, name, lambda store: close_pending(store, record, case.approvals), seconds, error
    )


async def _close_request(
    store_runner: StoreRunner, name: str, work: Callable[[Any], object], seconds: float | None, error: object
) -> None:
    """Close the request *name* with *work*: in the background if *error*, which ends its call, forbids to wait."""
    # During a GeneratorExit the coroutine may not await. A store that timed out would make it wait once more.
    if isinstance(error, (GeneratorExit, StoreTimeoutError)):
        store_runner.detach("withdraw request", work)
        return
    try:
        await store_runner.run("withdraw request", name, work, seconds=seconds, must_happen=True)
    except Exception as store_error:  # noqa: BLE001 -- the end of the call matters more than this failure
        _log.error("request %s may not have been withdrawn: %s", name, store_error)


async def withdraw_unless_carried_by(case: ApprovalCase, result: ToolResult | None) -> None:
    """Withdraw the open request, unless *result* carries it to the person who answers."""
    opened = case.open_record
    carried = None if result is None or result.kind != "waiting" or result.request is None else result.request.id
    if opened is not None and carried != opened.request.id:
        await withdraw_request(case, opened)


async def record_intent(frame: CallFrame) -> None:
    """Write to the audit log, if there is one, that the tool is about to run. If this raises, the call does not run."""
    case, arguments = get_case(frame), frame.arguments
    arguments = dict(arguments) if isinstance(arguments, dict) else arguments
    await case.write_line("intent", arguments=arguments, **case.describe_edits())


async def record_outcome(frame: CallFrame) -> None:
    """
    Write the result to the approval store and the audit log.

    The call has happened, so a failure to write the outcome is only logged, and noted in the metadata of the result. If
    the caller goes away meanwhile, it does not get the result, so the request that the result carries is withdrawn.
    """
    case: ApprovalCase = frame.approval_case or get_case(frame)
    result = frame.result
    frame.approval_case = None  # it holds the frame
    if frame.deadline.at is not None:
        frame.extend_deadline()  # the outcome is written down even if the time of the call is over
    if result is None:
        return
    try:
        try:
            if case.open_record is not None:
                await withdraw_unless_carried_by(case, result)
        finally:  # a cancellation during the `await` above must not leave a claim without its outcome
            problem = "" if case.claimed_record is None else await _store_outcome(case, case.claimed_record, result)
            if problem:
                result.metadata = {**(result.metadata or {}), "not_recorded": frame.redaction().mask_text(problem)}
        if case.plan.is_recorded:
            await case.write_outcome(result)
    except BaseException as error:
        if case.open_record is not None:
            await withdraw_request(case, case.open_record, error)
        raise


async def _store_outcome(case: ApprovalCase, record: Record, result: ToolResult, *, is_cancelled: bool = False) -> str:
    """Store *result* as the outcome of *record*, and return why that failed, or an empty text."""
    name, problems = record.request.id, list[str]()

    def close(store: ApprovalStore) -> None:
        problems.append(_write_outcome(case, store, record, result))

    try:
        seconds = case.seconds_at_end(is_cancelled=is_cancelled)
        await case.store_runner.run("keep the outcome of request", name, close, seconds=seconds, must_happen=True)
    except asyncio.CancelledError:
        if not problems:
            case.approvals.lost[name] = True  # a thread that stores the outcome later removes the name again
        raise
    except Exception as error:  # noqa: BLE001 -- the call has happened; a store error must not lose its result
        _log.error("the outcome of request %s could not be kept: %s", name, error)
        case.approvals.lost[name] = True
        return str(error)
    return problems[0]


def _build_cut_short_result(attempts: int) -> ToolResult:
    """Return the outcome of a call that ended before it had a result."""
    how = "it may or may not have happened" if attempts else "before it started"
    happened = {"happened": "maybe" if attempts else "no"}
    return ToolResult.failure("cancelled", f"it was cut short{': ' if attempts else ' '}{how}", details=happened)


async def record_cut_short(frame: CallFrame, error: BaseException) -> None:
    """
    Close the open request and the claim, because *error* ends the call and no result carries them further.

    The claim of a step of a run stays. The steps know whether the call has begun, and may run it.
    """
    case, frame.approval_case = get_case(frame), None  # it holds the frame
    opened, record, result = case.open_record, case.claimed_record, _build_cut_short_result(frame.attempts)
    if opened is not None:
        await withdraw_request(case, opened, error)
    if case.is_step or record is None:
        return
    if isinstance(error, GeneratorExit):
        case.store_runner.detach(
            "keep the outcome of request", lambda store: _write_outcome(case, store, record, result)
        )
    else:
        await _store_outcome(case, record, result, is_cancelled=True)


def _write_outcome(case: ApprovalCase, store: ApprovalStore, record: Record, result: ToolResult) -> str:
    # The call has happened, so an outcome that cannot be stored must not be lost. If the whole result cannot be
    # stored, because a part of it is not JSON, a short result is stored.
    name, problem = record.request.id, ""
    for is_short in (False, True):
        try:
            outcome = result
            if is_short:
                outcome = ToolResult(result.text, None, result.kind, call_id=result.call_id, tool=result.tool)
            is_kept = store.finish(name, outcome.to_json(), owner=case.owner)
        except Exception as error:  # noqa: BLE001 -- the reason is given above
            _log.exception("the outcome of request %s could not be kept", name)
            problem = describe_value(error)
        else:
            case.approvals.lost.pop(name, None)
            if is_kept is not False:  # a store of the user may return None
                return ""
            _log.error("the outcome of request %s was not kept: %s", name, _TAKEN_OVER)
            return _TAKEN_OVER
    case.approvals.lost[name] = True
    return problem


async def withdraw_undelivered(
    result: ToolResult, call: ToolCall | None, settings: Settings, error: BaseException
) -> None:
    """
    Withdraw the request that *result* carries, because *error* keeps the caller of *call* from getting *result*.

    A sealed request is in no store, so it is lost with *result*. The request of a step of a run stays, see `withdraw`.
    """
    request, approvals = result.request, settings.approvals
    if request is None or request.waits_for or approvals.seal is not None or (call is not None and call.claim_mark):
        return
    if not approvals.holders.remove(request.id, is_maker=False):
        return
    name, now = request.id, approvals.clock()

    def close(store: ApprovalStore) -> None:
        store.settle(name, Settlement("denied", by=WITHDRAWN, now=now))

    await _close_request(settings.store_runner, name, close, settings.cleanup_seconds, error)


def _find_decision_time(decision: Decision, approvals: Approvals) -> float:
    """Return when a person answered: now, unless the answer was kept since then."""
    now = approvals.clock()
    return now if decision.decided_at is None else min(decision.decided_at, now)


async def find_running(record: Record, approvals: Approvals, in_store: RunInStore) -> bool | None:
    """
    Return whether the call of a claimed *record* runs; None if it may run where this process cannot see it.

    A store with the method `is_owner_alive` can see processes on other machines. Without it, the claim of another
    machine counts as lost once the request has expired.
    """
    theirs = "" if record.claim is None else record.claim.owner
    if is_this_process(theirs):
        return record.request.id not in approvals.lost
    runs = is_alive(theirs)
    if runs is None and hasattr(approvals.store, "is_owner_alive"):
        name = repr(record.request.id[:64])
        runs = await in_store("find the process of request", name, lambda store: store.is_owner_alive(theirs))
    return False if runs is None and record.is_expired(approvals.clock()) else runs
