"""
What the record of a call has besides its result, in the metadata of the result.

`StepNotes` are what the run of the call needs to go on from there. They are there while `Steps` have the result. A
`CallPause` is there as long as the call waits for runs inside it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..decisions import ApprovalRequest
from ..results import ToolCall, ToolResult
from .expense import Expense

__all__ = [
    "CallPause",
    "StepNotes",
    "attach_notes",
    "build_waiting_result",
    "detach_notes",
    "drop_pause",
    "read_pause",
    "read_spent",
    "with_metadata",
]

_NOTES = "toolkit.step"
_PAUSE = "toolkit.pause"
_NOTHING = Expense()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNotes:
    """What a call did besides its result: what its sub-runs used, its plan, and its sub-run as JSON if it waits."""

    spent: Expense = _NOTHING
    plan: str | None = None
    sub_run: Mapping[str, Any] | None = None


def attach_notes(result: ToolResult, notes: StepNotes) -> ToolResult:
    """Return *result* with *notes* in its metadata, in place of what its tool or a hook has put there."""
    spent = None if notes.spent == _NOTHING else notes.spent.to_json()
    data = {"spent": spent, "plan": notes.plan, "sub_run": notes.sub_run}
    return with_metadata(result, _NOTES, {name: note for name, note in data.items() if note is not None} or None)


def detach_notes(result: ToolResult) -> tuple[ToolResult, StepNotes]:
    """Return *result* without the notes in its metadata, and the notes; raise `ValueError` if they are none of ours."""
    data = (result.metadata or {}).get(_NOTES)
    if data is None:
        return result, StepNotes()
    if not isinstance(data, dict) or not isinstance(data.get("plan"), str | None):
        raise ValueError(f"the metadata of a result has `{_NOTES}`, which is not the notes of a step")  # noqa: TRY004 -- unread JSON
    notes = StepNotes(spent=read_spent(result), plan=data.get("plan"), sub_run=data.get("sub_run"))
    return with_metadata(result, _NOTES, None), notes


def read_spent(result: ToolResult) -> Expense:
    """Return what the notes of *result* say that the runs inside its call have used."""
    data = (result.metadata or {}).get(_NOTES)
    return Expense.from_json(data["spent"]) if isinstance(data, dict) and "spent" in data else _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPause:
    """
    Why a call waits that has runs inside.

    Attributes:
        requests: The requests of these runs.
        number: How many times the call has waited for runs inside it, with this time.
        request_id: The id of the request for the call itself, with which the call is made again.
        spent: What the runs have used so far, by their numbers.
    """

    requests: tuple[ApprovalRequest, ...] = ()
    number: int = 0
    request_id: str | None = None
    spent: Mapping[str, Expense] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        requests = [request.to_json() for request in self.requests]
        spent = {number: spent.to_json() for number, spent in self.spent.items()}
        return {"requests": requests, "number": self.number, "request_id": self.request_id, "spent": spent}

    def build_result(self, call: ToolCall) -> ToolResult:
        """Return the result of *call*, which waits for runs inside it."""
        return with_metadata(build_waiting_result(call, self.requests[0]), _PAUSE, self.to_json())


def build_waiting_result(call: ToolCall, request: ApprovalRequest) -> ToolResult:
    """Return the result of *call*, inside which another call waits for an answer to *request*."""
    text = f"waiting: inside it `{request.tool}` waits for a person: {request.reason}"
    return ToolResult(text, None, "waiting", request=request, call_id=call.id, tool=call.name)


def read_pause(result: ToolResult) -> CallPause | None:
    """Return why a call with this result waits for runs inside it; None if it does not."""
    data = (result.metadata or {}).get(_PAUSE) if result.kind == "waiting" else None
    if not isinstance(data, Mapping):
        return None
    return CallPause(
        requests=tuple(ApprovalRequest.from_json(request) for request in data["requests"]),
        number=data["number"],
        request_id=data["request_id"],
        spent={number: Expense.from_json(spent) for number, spent in data["spent"].items()},
    )


def drop_pause(result: ToolResult) -> ToolResult:
    """Return *result* without a pause, which only the steps of a run may state, and not a tool or a hook."""
    return with_metadata(result, _PAUSE, None)


def with_metadata(result: ToolResult, name: str, value: Any) -> ToolResult:
    """Return a copy of *result* with *value* under *name* in its metadata; None removes what is there."""
    metadata = result.metadata or {}
    if value is None and name not in metadata:
        return result
    others = {key: item for key, item in metadata.items() if key != name}
    changed = copy.copy(result)
    changed.metadata = (others if value is None else {**others, name: value}) or None
    return changed
