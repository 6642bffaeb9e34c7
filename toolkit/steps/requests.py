"""
The requests of runs and the answers to them, and the requests of one session in the store of approvals.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import methodcaller
from typing import Any

from .._option_checks import describe_type
from ..approvals.policy import Approvals
from ..approvals.records import ApprovalError
from ..approvals.repeated_calls import is_withdrawn
from ..approvals.store import Settlement
from ..decisions import ApprovalRequest, Decision
from ..dispatcher import Dispatcher
from ..session import Session
from .call_step import RunScope

__all__ = [
    "ASK_AGAIN",
    "check_answers",
    "delete_session_requests",
    "deny_if_expired",
    "find_answer",
    "find_withdrawn_ids",
    "list_waiting_spans",
    "name_request",
    "share_store",
    "withdraw_session_requests",
]

_MAX_SHOWN_IDS = 5

ASK_AGAIN = Decision.deny("the request was withdrawn, and nobody was asked again")
"""
Stands in place of a decision about a request that was withdrawn. The call is made again, and asks again if it has to.

Only a run with steps can do this, because the new request needs a key of its own.
"""


def list_waiting_spans(requests: Iterable[ApprovalRequest]) -> tuple[str, ...]:
    """Return the spans in which calls wait for *requests*, as W3C trace context."""
    return tuple(dict.fromkeys(filter(None, (request.trace_parent for request in requests))))


async def withdraw_session_requests(
    dispatcher: Dispatcher, session_id: str, *, kept_ids: Collection[str], reason: str, by: str | None = None
) -> None:
    """
    Deny the requests of a session that wait for an answer, but for those with *kept_ids*.

    If they are denied *by* `WITHDRAWN`, the denial does not count as one by a person.
    """
    approvals, runner = dispatcher.settings.approvals, dispatcher.settings.store_runner
    if approvals.seal is not None:
        return  # the caller has the sealed requests; they are not in the store
    for request in await runner.run("list pending requests", "", lambda store: store.pending(session=session_id)):
        if request.id in kept_ids:
            continue
        decision = Decision.deny(reason, by=by, principal=request.principal)
        try:
            await dispatcher.resume(request.id, decision, session=Session(id=session_id, principal=request.principal))
        except ApprovalError:
            # The tool has changed or was removed. The request cannot be approved here then, but perhaps in another
            # process.
            settlement = Settlement("denied", by=by, now=approvals.clock())
            await runner.run("deny request", request.id, methodcaller("settle", request.id, settlement))


async def find_withdrawn_ids(dispatcher: Dispatcher, requests: Iterable[ApprovalRequest]) -> frozenset[str]:
    """Return the ids of those of *requests* that were withdrawn. No person has answered them, and none can."""
    runner, withdrawn = dispatcher.settings.store_runner, set[str]()
    for request in requests:
        try:
            record = await runner.run("find request", request.id, methodcaller("get", request.id))
        except ApprovalError as error:
            if error.why == "store":
                raise
            continue  # the record was altered, and the store refuses its use with that reason
        if record is not None and is_withdrawn(record):
            withdrawn.add(request.id)
    return frozenset(withdrawn)


async def find_answer(scope: RunScope, request: ApprovalRequest) -> Decision | None:
    """Return the answer to *request*, which a run with this *scope* has made; None if it has to wait."""
    if request.id in scope.refused or scope.dispatcher is None:
        return None
    if await find_withdrawn_ids(scope.dispatcher, [request]):
        return ASK_AGAIN
    now = scope.dispatcher.approvals.clock() if scope.now is None else scope.now
    return scope.decisions.get(request.id) or deny_if_expired(request, now)


def deny_if_expired(request: ApprovalRequest, now: float) -> Decision | None:
    """Return a denial of *request* if it can be answered no more. Its call is not run then."""
    if request.expires_at is None or now < request.expires_at:
        return None
    return Decision.deny("nobody answered in time, so it was not run", principal=request.principal)


def name_request(decisions: Any, requests: Sequence[ApprovalRequest]) -> Any:
    """Return *decisions*; a single decision is returned by the id of the only request, if there is only one."""
    is_clear = isinstance(decisions, Decision) and len(requests) == 1
    return {requests[0].id: decisions} if is_clear else decisions


def check_answers(
    decisions: Any, requests: Sequence[ApprovalRequest], subject: str, call: str, held_ids: Collection[str] = ()
) -> None:
    """
    Raise an error unless *decisions* is a dictionary by the ids of *requests*, for which *subject* waits.

    *call* takes the decisions, with `{}` in place of the dictionary. *held_ids* are those of calls that are held back.
    """
    if not isinstance(decisions, Mapping):
        answer = "Decision.approve()"
        if isinstance(decisions, Decision):
            answer = f"Decision.{'approve' if decisions.approved else 'deny'}(...)"
        ids = [request.id for request in requests] or ["the id of a request"]
        entries = ", ".join(f"{request_id!r}: {answer}" for request_id in ids[:_MAX_SHOWN_IDS])
        more = ", ..." if len(ids) > _MAX_SHOWN_IDS else ""
        raise TypeError(
            f"resume wants the decisions in a dictionary, by the ids of the requests, got {describe_type(decisions)}; "
            f"write {call.format(f'{{{entries}{more}}}')}"
        )
    for decision in decisions.values():
        if not isinstance(decision, Decision):
            raise TypeError(f"a decision is Decision.approve() or Decision.deny(); got {type(decision).__name__}")
    names = {request.id: f"{request.id} (`{request.tool}`)" for request in requests}
    if unknown_ids := [key for key in decisions if key not in names]:
        hint = "; a call that is held back is asked about when its turn comes" if {*unknown_ids} & {*held_ids} else ""
        unknown_list = ", ".join(repr(str(key)[:64]) for key in unknown_ids)
        raise ApprovalError(
            f"{subject} does not wait for {unknown_list}{hint}; it waits for {', '.join(names.values())}", why="unknown"
        )


async def delete_session_requests(dispatcher: Dispatcher, session_ids: Collection[str]) -> None:
    """Delete the records of sessions whose requests are over. A claim without an outcome stays."""
    purge = methodcaller("purge", before=math.inf, sessions=session_ids)
    await dispatcher.settings.store_runner.run("delete requests", "", purge)


def share_store(approvals: Approvals, scope: RunScope) -> Approvals:
    """Return *approvals* with the store of the outer run, in which the requests of both are, if both can share one."""
    outer = None if scope.dispatcher is None else scope.dispatcher.approvals
    if outer is None or outer.seal is not None or approvals.seal is not None or outer.store is approvals.store:
        return approvals
    return approvals.with_store(outer.store)
