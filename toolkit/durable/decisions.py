"""
What people say to a run of a host: decisions about its requests, and the order to carry out its plan.

The journal has decisions as JSON, and an event of their run if they were refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..approvals.records import ApprovalError
from ..decisions import ApprovalRequest, Decision, Grant
from ..questions import DECLINED
from .errors import DurableError
from .journal.records import EventRow, RunRow
from .journal.run_changes import OVER
from .journal.run_journal import Journal
from .run_kinds import RunKinds
from .run_queue import InThread

__all__ = ["add_decisions", "decision_from_json", "decision_to_json", "describe_refusals", "find_refusal", "order_plan"]

_VERSION = 1


async def add_decisions(
    journal: Journal, kinds: RunKinds, in_thread: InThread, row: RunRow, decisions: Any, now: float
) -> RunRow:
    """Add *decisions* to the run *row*, and return its row; raise `DurableError` if it does not wait for them."""
    if not isinstance(decisions, Mapping):
        raise TypeError("decisions are a dictionary: {request.id: Decision.approve()}")
    data = {request_id: decision_to_json(decision, decided_at=now) for request_id, decision in decisions.items()}
    if (requests := kinds.find_requests(row)) is not None:
        _check_decided_requests(row, data, requests, now)
    if not data:
        return row
    decided: RunRow = await in_thread(lambda: journal.decide(row.id, data, now=now))
    return decided


def _check_decided_requests(
    row: RunRow, decisions: Mapping[str, object], requests: Collection[ApprovalRequest], now: float
) -> None:
    """Raise `DurableError` if one of *decisions* is about a request that has expired, or that *row* does not have."""
    known = {request.id: request for request in requests}
    for request_id in decisions:
        if request_id in known:
            expires_at = known[request_id].expires_at
            if row.status == "waiting" and expires_at is not None and expires_at <= now:
                raise DurableError(
                    f"the request {request_id!r} of the run {row.id!r} has expired, so it is denied when it goes on",
                    why="expired",
                )
            continue
        if row.status in OVER:
            raise DurableError(f"the run {row.id!r} is {row.status}, and takes no decision any more", why="over")
        names = ", ".join(f"{request.id} (`{request.tool}`)" for request in requests) or "no request"
        raise DurableError(
            f"the run {row.id!r} does not wait for {str(request_id)[:64]!r}; it waits for {names}", why="unknown"
        )


async def order_plan(journal: Journal, in_thread: InThread, run_id: str, order: Mapping[str, Any], now: float) -> None:
    """Order that the plan of a run is carried out. The same order again does nothing, and another one is refused."""
    try:
        await in_thread(lambda: journal.execute(run_id, order, now=now))
    except DurableError as error:
        events = await in_thread(lambda: journal.read_events(run_id))
        earlier = [event.data for event in events if event.kind == "executed"]
        if error.why != "over" or not earlier:
            raise
        if earlier[-1] != order:
            raise DurableError(
                f"the plan of the run {run_id!r} was ordered with another prompt or in another mode; give the same "
                "ones",
                why="changed",
            ) from None


def decision_to_json(decision: Decision, *, decided_at: float | None = None) -> dict[str, Any]:
    """
    Return *decision* as plain JSON with a version. An answer that was declined is in a list of its own.

    *decided_at* takes the place of the time in the decision, because its request may expire before it is read.
    """
    if not isinstance(decision, Decision):
        raise TypeError(f"a decision is Decision.approve() or Decision.deny(); got {type(decision).__name__}")
    data: dict[str, Any] = {"version": _VERSION, "approved": decision.approved}
    texts = {"reason": decision.reason or None, "by": decision.by, "principal": decision.principal}
    data |= {name: text for name, text in texts.items() if text is not None}
    decided_at = decision.decided_at if decided_at is None else decided_at
    if decided_at is not None:
        data["decided_at"] = decided_at
    if decision.arguments is not None:
        data["arguments"] = dict(decision.arguments)
    if decision.grant is not None:
        data["grant"] = {member.name: getattr(decision.grant, member.name) for member in fields(decision.grant)}
    if decision.answers is not None:
        data["answers"] = {key: answer for key, answer in decision.answers.items() if answer is not DECLINED}
        data["declined"] = [key for key, answer in decision.answers.items() if answer is DECLINED]
    return data


def decision_from_json(data: Mapping[str, Any]) -> Decision:
    """Return the decision that `decision_to_json` wrote; raise `ValueError` if *data* is something else."""
    if not isinstance(data, Mapping) or data.get("version") != _VERSION:
        raise ValueError(f"not a decision of version {_VERSION}: {data!r:.60}")
    names = ("approved", "reason", "by", "principal", "arguments", "decided_at")
    values = {name: data[name] for name in names if name in data}
    try:
        if "grant" in data:
            values["grant"] = Grant(**data["grant"])
        if "answers" in data:
            values["answers"] = {**data["answers"], **dict.fromkeys(data["declined"], DECLINED)}
        return Decision(**values)
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a decision: {error}") from None


def describe_refusals(refused: Mapping[str, Exception]) -> dict[str, Any]:
    """Return the data of the event "refused", from the errors by the ids of their requests."""
    return {
        "requests": {request_id: str(error) for request_id, error in refused.items()},
        "why": {request_id: error.why for request_id, error in refused.items() if isinstance(error, ApprovalError)},
    }


def find_refusal(events: Sequence[EventRow], request_ids: Collection[str]) -> ApprovalError | None:
    """Return the error about the first of *request_ids* whose last decision was refused; None if there is none."""
    refusals: dict[str, ApprovalError] = {}
    for event in events:
        if event.kind == "decided":
            for request_id in event.data["requests"]:
                refusals.pop(request_id, None)
        elif event.kind == "refused":
            whys = event.data.get("why", {})
            for request_id, reason in event.data["requests"].items():
                refusals[request_id] = ApprovalError(reason, why=whys.get(request_id, "answers"))
    return next((refusals[request_id] for request_id in request_ids if request_id in refusals), None)
