"""
Decisions that were refused, as events of their run, so that each person hears of his own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..approvals.records import ApprovalError
from .journal.records import EventRow

__all__ = ["describe_refusals", "find_refusal"]


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
