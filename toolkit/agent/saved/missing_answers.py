"""
Says why a run has no answer, and what the caller can do about it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...decisions import ApprovalRequest
from ...errors import ToolkitError

__all__ = ["NoAnswer", "explain_missing_answer"]

_MAX_REQUESTS = 5
_MAX_REASON_CHARS = 1_000

_HEADS = {
    "failed": "the run failed",
    "stopped": "the run was stopped",
    "waiting": "the run waits for a person",
    "planned": "the run has planned and not answered",
    "running": "the run was still under way",
}
_REMEDIES = {
    "failed": "mend that, and go on where it ended with `agent.run(run=run)`",
    "stopped": "go on with `agent.run(run=run)`, which starts with a new budget",
    "waiting": (
        "answer with `agent.resume(run, {request_id: Decision.approve()})`, or `Decision.deny(reason)`; a durable run "
        "with `durable.resume(id, ...)`"
    ),
    "planned": "read `run.plan`, and have it carried out with `agent.execute(run)`",
    "running": "wait for its end, or go on with this state of it with `agent.run(run=run)`",
}
_STOP_REMEDIES = {
    "turns": "go on with `agent.run(run=run)`, which starts with a new budget, or give the agent more `max_turns`",
    "halt": "see to what the hook wants, and go on with `agent.run(run=run)`",
    "length": "go on with `agent.run(run=run)`, or give the provider more `max_tokens`",
    "refusal": "ask in another way, with `agent.run(prompt, run=run)`",
    "output": "go on with `agent.run(run=run)`, or give the agent more `output_retries` or a simpler `output`",
}


class NoAnswer(ToolkitError):  # noqa: N818 -- the name says what happened
    """
    The answer of a run was asked for, and the run has none.

    The message says how the run ended, why, and what to do. An exception that ended the run is the `__cause__`.

    Attributes:
        status: How the run ended; see `Run.status`.
        reason: Why, in words.
        requests: The requests that people have to answer first.
    """

    def __init__(
        self, message: str, *, status: str = "", reason: str = "", requests: Sequence[ApprovalRequest] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.requests = tuple(requests)


def explain_missing_answer(status: str, stop: str | None, reason: str, requests: Sequence[ApprovalRequest]) -> str:
    """Return why a run with *status* has no answer, and what the caller can do about it."""
    head = _HEADS.get(status, f"the run is {status}")
    if stop is not None:
        head = f"{head} ({stop})"
    details = _list_requests(requests) if status == "waiting" and requests else _shorten(reason)
    remedy = _STOP_REMEDIES.get(stop or "", _REMEDIES.get(status, "look at `run.messages`"))
    return f"{head}: {details}; {remedy}" if details else f"{head}; {remedy}"


def _list_requests(requests: Sequence[ApprovalRequest]) -> str:
    lines = [f"request {request.id} (`{request.tool}`: {_shorten(request.reason)})" for request in requests]
    more = [f"and {len(lines) - _MAX_REQUESTS} more"] if len(lines) > _MAX_REQUESTS else []
    return ", ".join(lines[:_MAX_REQUESTS] + more)


def _shorten(text: str) -> str:
    text = text.strip().rstrip(".;")
    return text if len(text) <= _MAX_REASON_CHARS else f"{text[:_MAX_REASON_CHARS]}..."
