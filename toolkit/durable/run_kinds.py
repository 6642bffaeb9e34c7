"""
Kinds of runs: what the program that has them gives to a host, and what it gets for each activation.

The requests for approval of the runs are in a store of approvals that outlives the process.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ..approvals.memory_store import MemoryApprovals
from ..approvals.policy import Approvals
from ..approvals.records import ApprovalError
from ..approvals.repeated_calls import WITHDRAWN
from ..approvals.sql_store import SQLiteApprovals
from ..approvals.store import ApprovalStore
from ..decisions import ApprovalRequest, Decision
from ..dispatcher import Dispatcher
from ..steps.base import Steps
from ..steps.requests import delete_session_requests, withdraw_session_requests
from .database_address import find_sqlite_path
from .errors import DurableError
from .journal.records import RunRow, RunStatus, StepRow
from .journal.run_changes import CUT_SHORT, OVER

__all__ = [
    "Activate",
    "Activation",
    "ActivationEnd",
    "DescribeStop",
    "RunKind",
    "RunKinds",
    "RunRequests",
    "keeps_approvals",
    "open_approvals_beside",
]

_log = logging.getLogger("toolkit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """
    What a process needs to work on a run.

    Attributes:
        row: The run, as it was when this activation began. Its `outcome` is that of the last activation that waited.
        steps: The steps of the run. Those with a record return it.
        decisions: The answers of people since the run waits, by the ids of their requests.
        now: When the activation began, in seconds since 1970.
        spent_seconds: How many seconds the steps took that have a record. Those at the same time count once.
        resources: The resources that the caller gave for this activation; None if it gave none.
    """

    row: RunRow
    steps: Steps
    decisions: Mapping[str, Decision]
    now: float
    spent_seconds: float = 0.0
    resources: Mapping[Any, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationEnd:
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


Activate: TypeAlias = Callable[[Activation], Awaitable[ActivationEnd]]
"""Works on a run until it is over or waits. If `RunTakenOver` is raised inside, it has to leave this function."""

DescribeStop: TypeAlias = Callable[[RunRow, RunStatus, str, Mapping[str, StepRow]], Mapping[str, Any]]
"""Returns the outcome of a run that is stopped from outside. Its row has the outcome with which it last waited."""


@dataclass(frozen=True, slots=True)
class RunRequests:
    """The requests of the runs of one kind. The methods raise `ApprovalError` if the store cannot be used."""

    find_dispatcher: Callable[[], Dispatcher]
    name_session: Callable[[RunRow], str]

    async def withdraw(self, row: RunRow, kept_ids: Collection[str], reason: str) -> None:
        """Withdraw the requests of a run that is over, but for those with *kept_ids*. A retry makes the calls again."""
        await withdraw_session_requests(
            self.find_dispatcher(), self.name_session(row), kept_ids=kept_ids, reason=reason, by=WITHDRAWN
        )

    async def delete(self, rows: Sequence[RunRow]) -> None:
        """Delete what the store has about requests of runs that were deleted."""
        await delete_session_requests(self.find_dispatcher(), {self.name_session(row) for row in rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """A kind of runs. `DurableHost.register` explains the fields."""

    activate: Activate
    find_requests: Callable[[RunRow], Sequence[ApprovalRequest]] | None = None
    describe_stop: DescribeStop | None = None
    requests: RunRequests | None = None
    find_version: Callable[[], str] = lambda: ""

    async def withdraw_forgotten(self, row: RunRow, ended: ActivationEnd) -> None:
        """
        Withdraw the requests of the run *row* that it does not wait for after an activation has *ended*.

        An earlier activation made them and was broken off, so no code would ask for their answers.
        """
        if self.requests is None or self.find_requests is None or ended.status in CUT_SHORT:
            return  # those of a run that was cut short are withdrawn when it is over
        requests = self.find_requests(replace(row, outcome=ended.outcome)) if ended.status == "waiting" else ()
        try:
            await self.requests.withdraw(
                row, {request.id for request in requests}, "its process ended before the run knew of this request"
            )
        except ApprovalError as error:
            _log.warning("run %r: requests that were forgotten could not be withdrawn: %s", row.id, error)


class RunKinds:
    """The kinds of runs that a host has, by their names."""

    def __init__(self) -> None:
        self._kinds: dict[str, RunKind] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def add(self, name: str, kind: RunKind) -> None:
        """Add *kind*; raise `ValueError` if there is one of this name."""
        if name in self._kinds:
            raise ValueError(f"this host has runs of kind {name!r} already; give another name")
        self._kinds[name] = kind

    def require(self, row: RunRow) -> RunKind:
        """Return the kind of the run *row*; raise `DurableError` if this host does not have it."""
        kind = self._kinds.get(row.kind)
        if kind is None:
            known = ", ".join(map(repr, self._kinds)) or "none"
            raise DurableError(
                f"this worker has no {row.kind!r}, which the run was started with (it has {known}); start a worker "
                "that has it, and retry the run",
                why="changed",
            )
        return kind

    def list_versions(self) -> dict[str, str]:
        """Return the version that each kind has now."""
        return {name: kind.find_version() for name, kind in self._kinds.items()}

    def may_work_on(self, row: RunRow, versions: Mapping[str, str] | None = None) -> bool:
        """Return whether a worker with these *versions* may go on with the run *row*, or close it if it is over."""
        versions = self.list_versions() if versions is None else versions
        return row.kind in versions and (row.status in OVER or row.version in ("", versions[row.kind]))

    def find_requests(self, row: RunRow) -> Sequence[ApprovalRequest] | None:
        """Return the requests that the run *row* waits for; None if they cannot be found."""
        kind = self._kinds.get(row.kind)
        if kind is None or kind.find_requests is None:
            return None
        return () if row.outcome is None else kind.find_requests(row)

    def find_due_time(self, row: RunRow, outcome: Mapping[str, Any]) -> float | None:
        """Return when the run *row*, which waits with *outcome*, has to go on without an answer; None if never."""
        requests = self.find_requests(replace(row, outcome=outcome)) or ()
        times = [row.deadline, *(request.expires_at for request in requests)]
        return min((time for time in times if time is not None), default=None)

    def find_run_requests(self, name: str) -> RunRequests | None:
        """Return what closes the requests of runs of the kind *name*; None if this host has nothing that does."""
        kind = self._kinds.get(name)
        return None if kind is None else kind.requests

    def describe_stop(
        self, row: RunRow, status: RunStatus, reason: str, steps: Mapping[str, StepRow]
    ) -> Mapping[str, Any]:
        """Return the outcome of a run that is stopped; an empty one if the run cannot be read. The end counts."""
        kind = self._kinds.get(row.kind)
        try:
            if kind is None or kind.describe_stop is None:
                return {} if kind is None else {"status": status, "reason": reason}
            return kind.describe_stop(row, status, reason, steps)
        except Exception as error:  # noqa: BLE001 -- a record of another version may raise any error
            _log.warning("run %r: what it did until it was %s cannot be told: %s", row.id, status, error)
            return {}


def keeps_approvals(approvals: Approvals) -> bool:
    """Return whether the requests of *approvals* are still there after the process has ended."""
    return not isinstance(approvals.store, MemoryApprovals)


def open_approvals_beside(database: str) -> ApprovalStore:
    """Return a store in the file `PATH.approvals.sqlite`, or in the PostgreSQL database *database*."""
    path = find_sqlite_path(database)
    if path is not None:
        return SQLiteApprovals(f"{path}.approvals.sqlite")
    from ..approvals.postgres_store import PostgresApprovals  # it needs a package of the extra

    return PostgresApprovals(database)
