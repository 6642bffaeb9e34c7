"""
Kinds of runs: what the program that has them gives to a host, and what it gets for each activation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..agent.steps import Steps
from ..decisions import ApprovalRequest, Decision
from .journal.records import RunRow, RunStatus

__all__ = ["Activate", "Activation", "Ended", "RunKind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """
    What a process needs to work on a run.

    Attributes:
        row: The run, as it was when this activation began. Its `outcome` is that of the last activation that waited.
        steps: The steps of the run. Those with a record return it.
        decisions: The answers of people since the run waits, by the ids of their requests.
        now: When the activation began, in seconds since 1970.
        spent_seconds: How long the steps took that have a record, by the clock on the wall.
        resources: The resources that the caller gave for this activation; None if it gave none.
    """

    row: RunRow
    steps: Steps
    decisions: Mapping[str, Decision]
    now: float
    spent_seconds: float = 0.0
    resources: Mapping[Any, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """
    How an activation has ended.

    Attributes:
        status: The new status of the run.
        outcome: What came of it, as plain JSON.
        refused: The decisions that could not be accepted, by the ids of their requests, with the reasons. The requests
            can be decided again.
    """

    status: RunStatus
    outcome: Mapping[str, Any]
    refused: Mapping[str, Exception] = field(default_factory=dict)


class Activate(Protocol):
    """Works on a run until it is over or waits. If `Fenced` is raised inside, it has to leave this function."""

    def __call__(self, activation: Activation, /) -> Awaitable[Ended]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """
    A kind of runs.

    Attributes:
        activate: The function that works on its runs.
        find_requests: Returns the requests that a run which waits has, from its row; None if that is not known.
        describe_stop: Returns the outcome of a run that is stopped from outside: from its row, its new status and the
            reason.
    """

    activate: Activate
    find_requests: Callable[[RunRow], Sequence[ApprovalRequest]] | None
    describe_stop: Callable[[RunRow, RunStatus, str], Mapping[str, Any]]
