"""
The requests of one session in the store of approvals: withdraw them, find those that were withdrawn, delete them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import partial

from ..approvals.records import ApprovalError, Record
from ..approvals.repeated_calls import WITHDRAWN
from ..approvals.store import ApprovalStore, Settlement
from ..decisions import ApprovalRequest, Decision
from ..dispatcher import Dispatcher
from ..session import Session

__all__ = ["delete_session_requests", "find_withdrawn_ids", "withdraw_session_requests"]


async def withdraw_session_requests(
    dispatcher: Dispatcher, session_id: str, *, kept_ids: Collection[str], reason: str, by: str | None = None
) -> None:
    """
    Deny the requests of a session that wait for an answer, but for those with *kept_ids*.

    Args:
        by: Who has denied them. If that is `WITHDRAWN`, the denial does not count as one by a person.

    Raises:
        ApprovalError: The store cannot be used.
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
            await runner.run("deny request", request.id, partial(_deny, request.id, by, approvals.clock()))


async def find_withdrawn_ids(dispatcher: Dispatcher, requests: Iterable[ApprovalRequest]) -> frozenset[str]:
    """
    Return the ids of those of *requests* that were withdrawn. No person has answered them, and none can.

    Raises:
        ApprovalError: The store cannot be used.
    """
    runner, withdrawn = dispatcher.settings.store_runner, set[str]()
    for request in requests:
        try:
            record = await runner.run("find request", request.id, partial(_get, request.id))
        except ApprovalError as error:
            if error.why == "store":
                raise
            continue  # the record was altered, and whoever uses it is told so
        if record is not None and record.state == "denied" and record.decided_by == WITHDRAWN:
            withdrawn.add(request.id)
    return frozenset(withdrawn)


async def delete_session_requests(dispatcher: Dispatcher, session_ids: Collection[str]) -> None:
    """Delete the records of sessions whose requests are over. A claim without an outcome stays."""

    def purge(store: ApprovalStore) -> int:
        return store.purge(before=math.inf, sessions=session_ids)

    await dispatcher.settings.store_runner.run("delete requests", "", purge)


def _get(request_id: str, store: ApprovalStore) -> Record | None:
    return store.get(request_id)


def _deny(request_id: str, by: str | None, now: float, store: ApprovalStore) -> bool:
    return store.settle(request_id, Settlement("denied", by=by, now=now))
