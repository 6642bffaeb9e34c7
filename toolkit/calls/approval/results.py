"""
The results of calls that end because of their approval: denied, asked before, lost or cut short.
"""

from __future__ import annotations

from ...approvals.policy import Approvals
from ...approvals.process_owner import is_alive, is_this_process
from ...approvals.records import Record
from ...approvals.repeated_calls import WITHDRAWN
from ...permissions.judgement import Judgement
from ...results import ToolResult
from .opening import RequestIdTakenError

__all__ = [
    "build_cut_short_result",
    "build_denied_result",
    "build_lost_result",
    "build_repeated_denial",
    "build_taken_id_result",
]


def build_denied_result(judgement: Judgement) -> ToolResult:
    """Return the result of a call whose verdict is a denial."""
    verdict = judgement.verdict
    decisive = verdict.findings[0] if verdict.findings else None
    sources = [finding.source for finding in verdict.findings if finding.word == "deny"]
    if decisive is None or decisive.word != "deny" or decisive.source not in ("check", "arguments"):
        return ToolResult.failure("denied", verdict.reason)
    # The model may correct wrong arguments, unless a check refuses the call as well.
    return ToolResult.failure("safety" if "check" in sources else "bad_args", verdict.reason)


def build_cut_short_result(attempts: int) -> ToolResult:
    """Return the outcome of a call that ended before it had a result."""
    how = "it may or may not have happened" if attempts else "before it started"
    happened = {"happened": "maybe" if attempts else "no"}
    return ToolResult.failure("cancelled", f"it was cut short{': ' if attempts else ' '}{how}", details=happened)


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


def build_repeated_denial(record: Record) -> ToolResult:
    """Return the result of a call that asks again although *record*, its request, was denied or withdrawn."""
    is_withdrawn = record.decided_by == WITHDRAWN
    why = "the same call ended before a person answered" if is_withdrawn else "the user said no"
    return ToolResult.failure("denied", record.denial or why)


def build_taken_id_result(error: RequestIdTakenError) -> ToolResult:
    """Return the result of a call that is not started, because its caller has chosen the request id of another call."""
    return ToolResult.failure(
        "failed",
        f"it was not started: {error}",
        details={"happened": "no"},
        cause=error,
        advice="The program that makes the call has to choose another request_id.",
    )
