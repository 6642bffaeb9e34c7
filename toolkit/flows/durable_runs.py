"""
Durable runs of a flow: they are kept in the database of a `DurableHost`, and any process that has the flow goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias
from weakref import ref

from ..approvals import Approvals
from ..approvals.memory_store import MemoryApprovals
from ..approvals.sqlite_store import SQLiteApprovals
from ..approvals.store import ApprovalStore
from ..decisions import ApprovalRequest
from ..dispatcher import Dispatcher
from ..durable.database_address import find_sqlite_path
from ..durable.errors import DurableError
from ..durable.host import DurableHost
from ..durable.journal.records import RunRow, RunStatus
from ..durable.run_kinds import Activation, Ended
from ..session import Session
from .effects import find_steps_left, list_left
from .graph import Graph
from .outcomes import Failed, Waiting
from .runner import FlowRunner
from .step_calls import StepCaller
from .value_types import FlowValue
from .visits import Paused

__all__ = ["BuildDispatcher", "DurableRuns", "find_host"]

_VERSION = 1

BuildDispatcher: TypeAlias = Callable[[Mapping[Any, Any], Callable[[Approvals], Approvals]], Dispatcher]
"""Returns a dispatcher for the steps, from resources and from a function that chooses the approvals."""


def find_host(durable: object) -> DurableHost:
    """Return the host of *durable*, which is a host itself or a `DurableAgent`; raise `TypeError` otherwise."""
    host = getattr(durable, "host", durable)
    if not isinstance(host, DurableHost):
        raise TypeError(
            f"a durable run needs a DurableAgent or a DurableHost, got {type(durable).__name__}; write "
            f'DurableHost("sqlite:///runs.sqlite")'
        )
    return host


class DurableRuns:
    """
    The runs of one flow in one host.

    The host keeps this object, and not the other way round, so that a flow keeps no host that the program has dropped.

    Args:
        find_graph: Returns the graph as it is now. A step may be added between two activations.
        resources: The resources of all runs, by type. Those that are given for one run come first.
    """

    def __init__(
        self,
        host: DurableHost,
        flow: str,
        find_graph: Callable[[], Graph],
        *,
        max_visits: int,
        resources: Mapping[Any, Any],
        build_dispatcher: BuildDispatcher,
    ) -> None:
        self._host = ref(host)
        self.kind = f"flow:{flow}"
        self._flow = flow
        self._find_graph = find_graph
        self._max_visits = max_visits
        self.resources = dict(resources)
        self._build_dispatcher = build_dispatcher
        self._store: ApprovalStore | None = None
        host.register(self.kind, self._activate, find_requests=self._find_requests, describe_stop=self._describe_stop)

    @property
    def host(self) -> DurableHost:
        """The host, which the caller has to keep."""
        host = self._host()
        if host is None:
            raise DurableError("the host of these runs is gone; keep it while they are used", why="store")
        return host

    def check_resources(self, resources: Mapping[Any, Any] | None) -> None:
        """Raise `DefinitionError` if a run with these resources would miss one."""
        self._build_dispatcher({**self.resources, **(resources or {})}, lambda approvals: approvals)

    async def get(self, run_id: str) -> RunRow:
        """Return the row of a run of this flow; raise `DurableError` if it is of another kind."""
        row = await self.host.get(run_id)
        if row.kind != self.kind:
            raise DurableError(
                f"the run {run_id!r} is of kind {row.kind!r}, and not of the flow `{self._flow}`; give its own id",
                why="changed",
            )
        return row

    async def read_outcome(self, row: RunRow) -> FlowValue | Failed | Waiting:
        """Return what came of a run that is over or waits."""
        outcome = row.outcome or {}
        if outcome.get("version", _VERSION) != _VERSION:
            raise DurableError(
                f"the outcome of the run {row.id!r} has version {outcome['version']!r}, and this program reads "
                f"version {_VERSION}; use the program that wrote it",
                why="changed",
            )
        if row.status == "waiting":
            return Waiting(tuple(self._find_requests(row)), id=row.id)
        if row.status == "done":
            return FlowValue.from_json(outcome.get("end"), f"the outcome of the run {row.id!r}")
        if "failed" in outcome:
            failed = Failed.from_json(outcome["failed"])
        else:
            failed = Failed("", (row.problem or f"the run is {row.status}",))
        if failed.step:
            return failed
        # The run was ended from outside, by something that does not know its steps.
        return replace(failed, left=list_left(await self.host.events(row.id)))

    async def _activate(self, activation: Activation) -> Ended:
        row = activation.row
        start = FlowValue.from_json(row.input, f"the start of the run {row.id!r}")
        graph = self._find_graph()
        graph.types.decode(start, f"the start of the run {row.id!r}")
        starts = [graph.nodes[name].takes.name for name in graph.starts]
        if start.type not in starts:
            raise DurableError(
                f"the run {row.id!r} began with `{start.type}`, and the flow `{self._flow}` begins with "
                f"{' or '.join(starts)} by now; mark the old step with `start=True`, or start again under a new id",
                why="changed",
            )
        await self._check_steps(row, graph)
        resources = {**self.resources, **(activation.resources or {})}
        caller = StepCaller(
            self._build_dispatcher(resources, self._choose_approvals),
            activation.steps,
            Session(id=f"{self.kind}:{row.id}", principal=row.principal),
            run_id=row.id,
            secret=row.secret,
            decisions=activation.decisions,
            now=activation.now,
        )
        runner = FlowRunner(
            graph, caller, max_visits=self._max_visits, count_retries=lambda: self._count_retries(row.id)
        )
        outcome = await runner.run(start)
        if isinstance(outcome, Paused):
            requests = [request.to_json() for request in outcome.requests]
            data = {"version": _VERSION, "requests": requests}
            return Ended(status="waiting", outcome=data, refused=caller.refused)
        if isinstance(outcome, Failed):
            return Ended(status="failed", outcome={"version": _VERSION, "failed": outcome.to_json()})
        return Ended(status="done", outcome={"version": _VERSION, "end": outcome.to_json()})

    async def _check_steps(self, row: RunRow, graph: Graph) -> None:
        """Raise `DurableError` if a step has happened that is gone: under a new name it would happen again."""
        if row.epoch == 1:
            return
        gone = [name for name in find_steps_left(await self.host.events(row.id)) if name not in graph.nodes]
        if gone:
            names = ", ".join(f"`{name}`" for name in gone)
            raise DurableError(
                f"the run {row.id!r} has done {names}, which the flow `{self._flow}` does not have any more; bring it "
                f'back, under another function with `name="{gone[0]}"` if it was renamed, and retry the run, or start '
                "again under a new id",
                why="changed",
            )

    async def _count_retries(self, run_id: str) -> int:
        """Return how often the run was retried after it had ended as `Failed`, and not for another reason."""
        count, has_failed = 0, False
        for event in await self.host.events(run_id):
            if event.kind == "ended":  # an exception has a problem; the failure of a step is an outcome
                has_failed = event.data.get("status") == "failed" and not event.data.get("problem")
            elif event.kind == "retried":
                count, has_failed = count + has_failed, False
        return count

    def _find_requests(self, row: RunRow) -> Sequence[ApprovalRequest]:
        return [ApprovalRequest.from_json(data) for data in (row.outcome or {}).get("requests", ())]

    def _describe_stop(self, row: RunRow, status: RunStatus, reason: str) -> Mapping[str, Any]:
        failed = Failed("", (reason or f"the run was {status}",))
        return {"version": _VERSION, "failed": failed.to_json()}

    def _choose_approvals(self, approvals: Approvals) -> Approvals:
        """Return *approvals*, or the same with a store beside the runs if their requests would end with the process."""
        if not isinstance(approvals.store, MemoryApprovals):
            return approvals
        if self._store is None:
            self._store = _open_store(self.host.database)
        return approvals.with_store(self._store)


def _open_store(database: str) -> ApprovalStore:
    path = find_sqlite_path(database)
    if path is not None:
        return SQLiteApprovals(f"{path}.approvals.sqlite")
    from ..approvals.postgres_store import PostgresApprovals  # it needs a package of the extra

    return PostgresApprovals(database)
