"""
How activations of an agent's run end, and what a run looks like that was ended from outside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..agent.run_fields import Status, Stop
from ..agent.runs import Run
from ..agent.step_records import dump_run
from ..decisions import Decision
from .run_kinds import Ended

__all__ = ["build_end", "deny_expired", "stop_run"]


def stop_run(run: Run[Any], status: Status, stop: Stop | None, reason: str) -> Run[Any]:
    """Return *run* with another status. Calls that wait are left out of it, because only a run that waits has some."""
    messages = run.messages[:-2] if run.requests else run.messages
    return replace(run, status=status, stop=stop, reason=reason, messages=messages, subs=(), answer=None, plan=None)


def build_end(run: Run[Any]) -> Ended:
    """Return how an activation has ended that has brought a run to *run*."""
    # A run that is "running" was interrupted, and an exception says so.
    return Ended(status="failed" if run.status == "running" else run.status, outcome=dump_run(run))


def deny_expired(run: Run[Any], now: float) -> dict[str, Decision]:
    """Return a denial for each request of *run* that can be answered no more. It is not run then."""
    reason = "nobody answered in time, so it was not run"
    return {
        request.id: Decision.deny(reason, principal=request.principal)
        for request in run.requests
        if request.expires_at is not None and request.expires_at <= now
    }
