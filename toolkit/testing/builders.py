"""
Functions that build complete calls and results for tests. The test gives what matters to it; the rest has defaults.
"""

from __future__ import annotations

from typing import Any

from ..decisions import ApprovalRequest
from ..results import Kind, ToolCall, ToolResult
from ..session import Session
from ..values.rendering import as_json, as_text

__all__ = ["make_call", "make_error", "make_result", "make_waiting"]


def make_call(
    name: str = "probe",
    arguments: Any = None,
    *,
    id: str = "call_1",  # noqa: A002 -- `ToolCall` calls the field `id`, as everyone does
    session: Session | None = None,
    principal: str | None = None,
) -> ToolCall:
    """Build a call of the tool *name*."""
    return ToolCall(name, arguments, id, session, principal)


def make_result(value: Any = None, *, tool: str = "probe", call_id: str = "call_1", **fields: Any) -> ToolResult:
    """Build the result of a successful call: *value* in JSON form, and the text that a model would read for it."""
    form = as_json(value)
    return ToolResult(fields.pop("text", as_text(form)), form, tool=tool, call_id=call_id, attempts=1, **fields)


def make_error(
    kind: Kind, message: str = "it went wrong", *, tool: str = "probe", call_id: str = "call_1", **fields: Any
) -> ToolResult:
    """Build the result of a call that failed, with the same text that the dispatcher would give it."""
    return ToolResult.failure(kind, message, tool=tool, call_id=call_id, **fields)


def make_waiting(
    reason: str = "a person has to agree", *, tool: str = "probe", call_id: str = "call_1", **request: Any
) -> ToolResult:
    """Build the result of a call that waits for a person; *request* holds further fields of its `ApprovalRequest`."""
    approval_request = ApprovalRequest(tool=tool, call_id=call_id, reason=reason, **request)
    return ToolResult(
        f"waiting for approval: {reason}", None, "waiting", tool=tool, call_id=call_id, request=approval_request
    )
