"""
Durable runs of a flow: they are kept in the database of a `DurableHost`, and any process that has the flow goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import ref

from ..approvals import Approvals
from ..approvals.identity import digest_tools
from ..approvals.store import ApprovalStore
from ..decisions import ApprovalRequest
from ..dispatcher import Dispatcher
from ..durable.errors import DurableError
from ..durable.host import DurableHost
from ..durable.journal.records import RunRow, RunStatus, StepRow
from ..durable.run_kinds import Activation, ActivationEnd, RunRequests, keeps_approvals, open_approvals_beside
from ..errors import DefinitionError
from ..session import Session
from ..steps.call_step import RunScope
from ..steps.requests import list_waiting_spans
from ..steps.run_steps import escape_key
from .graph import Graph
from .outcomes import Failed, Waiting
from .runner import FlowRunner
from .step_calls import StepCaller, StepDispatchers
from .story import find_steps_done, list_left
from .value_types import FlowValue
from .visits import Paused

__all__ = ["DurableRuns", "find_host"]

_VERSION = 1


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
    *find_graph* returns the graph as it is now: a step may be added between two activations.
    """

    def __init__(
        self,
        host: DurableHost,
        flow: str,
        find_graph: Callable[[], Graph],
        *,
        max_visits: int,
        resources: Mapping[Any, Any],
        dispatchers: StepDispatchers,
    ) -> None:
        self._host = ref(host)
        self.kind = f"flow:{flow}"
        self._flow = flow
        self._find_graph = find_graph
        self._max_visits = max_visits
        self.resources = dict(resources)
        self._dispatchers = dispatchers
        self._store: ApprovalStore | None = None
        host.register(
            self.kind,
            self._activate,
            find_requests=self._find_requests,
            describe_stop=self._describe_stop,
            requests=RunRequests(self._open_requests, self._name_session),
            find_version=lambda: digest_tools(node.tool for node in self._find_graph().nodes.values()),
        )

    @property
    def host(self) -> DurableHost:
        """The host, which the caller has to keep."""
        host = self._host()
        if host is None:
            raise DurableError("the host of these runs is gone; keep it while they are used", why="store")
        return host

    def check_resources(self, resources: Mapping[Any, Any] | None) -> None:
        """Raise `DefinitionError` if a run with these resources would miss one."""
        self._dispatchers.build(None, {**self.resources, **(resources or {})})

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

    async def _activate(self, activation: Activation) -> ActivationEnd:
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
        dispatcher = self._dispatchers.build(None, resources, self._choose_approvals)
        scope = RunScope(
            steps=activation.steps,
            secret=row.secret,
            durable_id=row.id,
            dispatcher=dispatcher,
            decisions=activation.decisions,
            now=activation.now,
        )
        caller = StepCaller(
            dispatcher,
            scope,
            Session(id=self._name_session(row), principal=row.principal),
            key=escape_key(row.id),
            waited_in=list_waiting_spans(self._find_requests(row)),
        )
        runner = FlowRunner(
            graph,
            caller,
            name=self._flow,
            max_visits=self._max_visits,
            find_retries=lambda: self._find_retries(row.id),
        )
        outcome = await runner.run(start)
        if isinstance(outcome, Paused):
            requests = [request.to_json() for request in outcome.requests]
            data = {"version": _VERSION, "requests": requests}
            return ActivationEnd(status="waiting", outcome=data, refused=scope.refused)
        if isinstance(outcome, Failed):
            return ActivationEnd(status="failed", outcome={"version": _VERSION, "failed": outcome.to_json()})
        return ActivationEnd(status="done", outcome={"version": _VERSION, "end": outcome.to_json()})

    async def _check_steps(self, row: RunRow, graph: Graph) -> None:
        """Raise `DurableError` if a step has happened that is gone: under a new name it would happen again."""
        if row.epoch == 1:
            return
        gone = [name for name in find_steps_done(await self.host.events(row.id)) if name not in graph.nodes]
        if gone:
            names = ", ".join(f"`{name}`" for name in gone)
            raise DurableError(
                f"the run {row.id!r} has done {names}, which the flow `{self._flow}` does not have any more; bring it "
                f'back, under another function with `name="{gone[0]}"` if it was renamed, and retry the run, or start '
                "again under a new id",
                why="changed",
            )

    async def _find_retries(self, run_id: str) -> Sequence[int]:
        """Return after which activations the run was retried that had ended as `Failed`, and not for another reason."""
        epochs, has_failed = list[int](), False
        for event in await self.host.events(run_id):
            if event.kind == "ended":  # an exception has a problem; the failure of a step is an outcome
                has_failed = event.data.get("status") == "failed" and not event.data.get("problem")
            elif event.kind == "retried":
                epochs += [event.epoch] * has_failed
                has_failed = False
        return epochs

    def _find_requests(self, row: RunRow) -> Sequence[ApprovalRequest]:
        return [ApprovalRequest.from_json(data) for data in (row.outcome or {}).get("requests", ())]

    def _describe_stop(
        self, row: RunRow, status: RunStatus, reason: str, steps: Mapping[str, StepRow]
    ) -> Mapping[str, Any]:
        failed = Failed("", (reason or f"the run was {status}",))
        return {"version": _VERSION, "failed": failed.to_json()}

    def _name_session(self, row: RunRow) -> str:
        return f"{self.kind}:{row.id}"

    def _open_requests(self) -> Dispatcher:
        """Return a dispatcher for the requests of runs that are over. With the tools, what it does is in the audit."""
        try:
            return self._dispatchers.build(None, self.resources, self._choose_approvals)
        except DefinitionError:  # each run has resources of its own
            return self._dispatchers.build_without_tools(self._choose_approvals)

    def _choose_approvals(self, approvals: Approvals) -> Approvals:
        """Return *approvals*, or the same with a store beside the runs if their requests would end with the process."""
        if keeps_approvals(approvals):
            return approvals
        if self._store is None:
            self._store = open_approvals_beside(self.host.database)
        return approvals.with_store(self._store)
