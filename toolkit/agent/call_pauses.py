"""
Calls that wait for people because a run inside them does.

The result of such a call waits. Its metadata says which requests have to be answered, and how the call is made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..decisions import ApprovalRequest
from ..results import ToolCall, ToolResult
from .budgets import Spent

__all__ = ["CallPause", "drop_pause", "read_pause"]

_KEY = "toolkit.pause"


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
    spent: Mapping[str, Spent] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain JSON."""
        requests = [request.to_json() for request in self.requests]
        spent = {number: spent.to_json() for number, spent in self.spent.items()}
        return {"requests": requests, "number": self.number, "request_id": self.request_id, "spent": spent}

    def build_result(self, call: ToolCall) -> ToolResult:
        """Return the result of *call*, which waits for runs inside it."""
        request = self.requests[0]
        text = f"waiting: inside it `{request.tool}` waits for a person: {request.reason}"
        metadata = {_KEY: self.to_json()}
        return ToolResult(text, None, "waiting", request=request, call_id=call.id, tool=call.name, metadata=metadata)


def read_pause(result: ToolResult) -> CallPause | None:
    """Return why a call with this result waits for runs inside it; None if it does not."""
    data = (result.metadata or {}).get(_KEY) if result.kind == "waiting" else None
    if not isinstance(data, Mapping):
        return None
    requests = tuple(ApprovalRequest.from_json(request) for request in data["requests"])
    return CallPause(
        requests=requests,
        number=data["number"],
        request_id=data["request_id"],
        spent={number: Spent.from_json(spent) for number, spent in data["spent"].items()},
    )


def drop_pause(result: ToolResult) -> ToolResult:
    """Return *result* without a pause, which only the steps of a run may state, and not a tool or a hook."""
    if result.metadata and _KEY in result.metadata:
        result.metadata = {name: value for name, value in result.metadata.items() if name != _KEY} or None
    return result
