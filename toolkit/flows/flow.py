"""
The `Flow`: steps that are plain functions, connected by the types that they take and return.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, cast, overload
from weakref import WeakKeyDictionary

from typing_extensions import TypeVar, Unpack

from ..agent.resume import Decisions
from ..calls.resources import check_resource_keys
from ..catalog import Catalog, decorate
from ..decisions import Decision
from ..dispatcher import Dispatcher
from ..durable.host import DurableHost
from ..durable.journal.records import RunRow
from ..errors import DefinitionError
from ..facts import build_facts, check_name
from ..functions.callables import find_source_location, get_qualname, subject_of
from ..functions.namespaces import Scope, is_in_class_body
from ..hooks.base import SpanRecorder
from ..session import Session
from ..spec import get_attached_tool
from ..steps.base import MemorySteps
from ..steps.call_step import CallStep, RunScope, find_open_step
from ..steps.requests import check_answers, list_waiting_spans, name_request, share_store
from ..steps.run_steps import escape_key
from ..values.strictjson.canonical import digest_parts
from .durable_runs import DurableRuns, find_host
from .graph import Graph
from .graph_builder import build_graph
from .mermaid import draw_graph
from .outcomes import Failed, Waiting
from .runner import FlowRunner
from .step_calls import StepCaller, StepDispatchers
from .step_hints import StepHints
from .step_options import StepOptions, StepSpec, split_options
from .story import FlowEvent, tell_events, tell_results
from .value_types import FlowValue
from .visits import Paused

__all__ = ["Flow"]

F = TypeVar("F", bound=Callable[..., Any])
E = TypeVar("E", default=Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowMemory:
    """A run that is not durable: where it began, what it has done, and with which objects it goes on."""

    flow: Flow[Any]
    run_id: str
    secret: str
    value: FlowValue
    steps: MemorySteps
    session: Session
    dispatcher: Dispatcher


class Flow(Generic[E]):
    """
    Steps that lead from a value to one of several ends.

        release = Flow[Released | Rejected]("release")

        @release.step(read_only=True)
        async def plan(task: Task, agent: Inject[Agent]) -> Plan | Rejected: ...

        @release.step(check=tests_pass, undo=restore, attempts=3)
        async def edit(plan: Plan, problems: Inject[Problems]) -> Edited: ...

    The type of the value that a step returns selects the next step. A type that no step takes is an end. The ends in
    the brackets are for type checkers, and the flow checks that they are right. Without them, `run` returns `Any`.

    Args:
        name: The name of the flow. Durable runs are stored under it.
        dispatcher: The dispatcher whose permissions, approvals, hooks, retries and audit log hold for the steps. Its
            own tools play no part. The default has the mode `auto`, so it asks before a destructive step.
        telemetry: `Telemetry` or `TraceFile`, which records the runs and all that they start.
        max_visits: How often the flow may come to one step.

    Attributes:
        catalog: The tools of the steps.
    """

    def __init__(
        self,
        name: str,
        *,
        dispatcher: Dispatcher | None = None,
        telemetry: SpanRecorder | None = None,
        max_visits: int = 20,
    ) -> None:
        self.name = check_name(name, "a flow")
        if not isinstance(max_visits, int) or isinstance(max_visits, bool) or max_visits < 1:
            raise ValueError(f"max_visits has to be a whole number from 1, got {max_visits!r}")
        self._dispatchers = StepDispatchers(dispatcher, telemetry, lambda: self.graph)
        self.catalog = Catalog()
        self.max_visits = max_visits
        self._specs: dict[str, StepSpec] = {}
        self._hints: dict[str, StepHints] = {}
        self._graph: Graph | None = None
        self._durable_runs: WeakKeyDictionary[DurableHost, DurableRuns] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"<Flow {self.name}: {', '.join(self._specs) or 'no steps'}>"

    @overload
    def step(self, function: F, /) -> F: ...
    @overload
    def step(self, /, **options: Unpack[StepOptions]) -> Callable[[F], F]: ...
    def step(self, function: Any = None, /, **options: Any) -> Any:
        """
        Make a step from a function, which stays itself. `StepOptions` lists the options.

        The function has one parameter for the value. All others are annotated `Context` or `Inject[T]`.

        Raises:
            DefinitionError: An option has a value that it cannot have. Mistakes in the graph are reported when the flow
                is first used.
        """
        if function is None:
            return lambda function: self._add_step(function, options)
        return self._add_step(function, options)

    def _add_step(self, function: Any, options: Mapping[str, Any]) -> Any:
        subject = subject_of(function)
        if not callable(function) or isinstance(function, (type, staticmethod, classmethod)):
            raise DefinitionError(f"{subject}: a step is a function, got {type(function).__name__}")
        if is_in_class_body(function):
            raise DefinitionError(f"{subject}: a step is a function, not a method; write it outside the class")
        tool_options, own = split_options(options, subject)
        build_facts(tool_options, subject)  # wrong facts are reported here, where they are written
        name = tool_options.get("name") or get_qualname(function).rpartition(".")[2] or type(function).__name__
        is_plain = get_attached_tool(function) is None or bool(tool_options)
        if is_plain and not (function.__doc__ or "").strip():
            tool_options.setdefault("description", f"The step `{name}` of the flow `{self.name}`.")
        tool, mistake = None, None
        try:
            decorate(function, self.catalog, **cast("Any", tool_options))
            tool = next(tool for tool in self.catalog if tool.function is function)
            name = tool.name
        except DefinitionError as error:
            mistake = str(error).removeprefix(f"{subject}: ")
        self._specs[name] = StepSpec(
            name=name,
            function=function,
            tool=tool,
            mistake=mistake,
            place=":".join(map(str, find_source_location(function))),
            scope=Scope(function),
            **own,
        )
        self._hints.pop(name, None)
        self._graph = None
        return function

    @property
    def graph(self) -> Graph:
        """
        The graph of the flow.

        Raises:
            DefinitionError: The graph has mistakes. The error lists all of them, with the place and the remedy.
        """
        if self._graph is None:
            alias = getattr(self, "__orig_class__", None)
            ends = None if alias is None else alias.__args__[0]
            self._graph = build_graph(self.name, self._specs, ends, self._hints)
            # The frames of the functions around the steps are not needed any more.
            self._specs = {name: replace(spec, scope=None) for name, spec in self._specs.items()}
        return self._graph

    def mermaid(self) -> str:
        """Return a drawing of the graph as Mermaid text."""
        return draw_graph(self.graph)

    async def run(
        self,
        value: object,
        durable: object = None,
        *,
        id: str | None = None,
        resources: Mapping[Any, Any] | None = None,
        session: Session | None = None,
        dispatcher: Dispatcher | None = None,
        principal: str | None = None,
        deadline_seconds: float | None = None,
    ) -> E | Waiting | Failed:
        """
        Run the flow from *value* to its end.

        Args:
            durable: A `DurableAgent` or a `DurableHost`, whose database keeps the run. Without it, the run ends with
                the process. The same *id* again continues the run, or returns what came of it.
            id: The id of the run. A run that is not durable needs none.
            resources: The values for the `Inject[T]` parameters of the steps of this run, by type. A worker that goes
                on with a durable run has those of `register`.
            session: The session of the calls, if the run is not durable. A durable run has one of its own.
            dispatcher: The dispatcher for this run, in place of that of the flow; see `register` for durable runs.
            principal: On whose behalf the run acts.
            deadline_seconds: How long a durable run may take in all, waits included.

        Returns:
            The value that no step takes, or `Waiting` if people have to answer first, or `Failed`.

        Raises:
            DefinitionError: The graph has mistakes, or a resource is missing.
            TypeError: The flow does not begin with a value of this type.
            DurableError: The id belongs to another run, or the database cannot be used.
        """
        start = self.encode_start(value)
        if durable is not None:
            if id is None or session is not None or dispatcher is not None:
                raise TypeError(
                    "a durable run needs an `id`, has a session of its own, and takes its dispatcher from "
                    "`Flow(dispatcher=...)`"
                )
            return await self._run_durable(
                durable, id, start, principal=principal, deadline_seconds=deadline_seconds, resources=resources
            )
        if deadline_seconds is not None:
            raise TypeError("only a durable run has a deadline; use `asyncio.timeout` around this one")
        if (step := find_open_step()) is not None:
            return await self._run_in_step(step, start, resources, session, dispatcher)
        run_id = os.urandom(8).hex() if id is None else id
        memory = FlowMemory(
            flow=self,
            run_id=run_id,
            secret=os.urandom(16).hex(),
            value=start,
            steps=MemorySteps(),
            session=session or Session(id=f"flow:{self.name}:{run_id}", principal=principal),
            dispatcher=self._dispatchers.build(dispatcher, resources or {}),
        )
        return await self._run_in_memory(memory, {}, ())

    async def _run_durable(self, durable: object, id: str, start: FlowValue, **options: Any) -> E | Waiting | Failed:
        runs = self._find_runs(durable)
        return await self._read_outcome(runs, await runs.host.run(runs.kind, id, start.to_json(), **options))

    async def resume(
        self,
        waiting: Waiting | str,
        decisions: Decisions | Decision,
        durable: object = None,
        *,
        resources: Mapping[Any, Any] | None = None,
    ) -> E | Waiting | Failed:
        """
        Go on with a run that waits: `await flow.resume(waiting, {request.id: Decision.approve(by="ada")})`.

        If the run waits for one request, the decision alone is enough: `flow.resume(waiting, Decision.approve())`.
        A durable run is named by its id, in any process: `await flow.resume("release-7", decisions, durable)`.

        Raises:
            ApprovalError: The run does not wait for one of these requests, or an answer cannot be accepted.
            DurableError: There is no such run, or it is over.
        """
        named: Decisions = name_request(decisions, () if isinstance(waiting, str) else waiting.requests)
        if durable is not None:
            runs = self._find_runs(durable)
            run_id = waiting if isinstance(waiting, str) else waiting.id
            await runs.get(run_id)
            runs.check_resources(resources)  # an answer is not accepted for a run that would fail with it
            return await self._read_outcome(runs, await runs.host.resume(run_id, named, resources=resources))
        if isinstance(waiting, str) or waiting.memory is None:
            raise TypeError("a durable run is resumed with its database: flow.resume(id, decisions, durable)")
        memory: FlowMemory = waiting.memory
        if memory.flow is not self:
            name = memory.flow.name
            raise TypeError(f"the run `{waiting.id}` is one of another flow, `{name}`; resume it with that one")
        check_answers(named, waiting.requests, f"the run `{waiting.id}`", "flow.resume(waiting, {})")
        return await self._run_in_memory(memory, named, list_waiting_spans(waiting.requests))

    async def start(
        self,
        value: object,
        durable: object,
        *,
        id: str,
        priority: int = 0,
        principal: str | None = None,
        deadline_seconds: float | None = None,
    ) -> RunRow:
        """Leave a durable run to any worker that has registered this flow. Answers go through `host.decide`."""
        start, runs = self.encode_start(value), self._find_runs(durable)
        return await runs.host.start(
            runs.kind, id, start.to_json(), priority=priority, principal=principal, deadline_seconds=deadline_seconds
        )

    def register(self, durable: object, *, resources: Mapping[Any, Any] | None = None) -> None:
        """
        Let the workers of *durable* in this process work on the runs of this flow, with these *resources*.

        `run`, `resume` and `start` do the same, without resources, if it was not done before. The last call counts.

        Raises:
            ValueError: The host has another flow of this name.
        """
        host, own = find_host(durable), check_resource_keys(resources or {})
        if host in self._durable_runs:
            self._durable_runs[host].resources = dict(own)
            return
        self.graph  # noqa: B018 -- its mistakes are reported here
        self._durable_runs[host] = DurableRuns(
            host,
            self.name,
            lambda: self.graph,
            max_visits=self.max_visits,
            resources=own,
            dispatchers=self._dispatchers,
        )

    async def replay(self, run: str | Waiting, durable: object = None) -> list[FlowEvent]:
        """
        Return what happened in a run, in order. `str(event)` is a sentence.

        *run* is the id of a durable run, or the `Waiting` of a run in memory.
        """
        if durable is not None:
            runs = self._find_runs(durable)
            row = await runs.get(run if isinstance(run, str) else run.id)
            return tell_events(await runs.host.events(row.id))
        if isinstance(run, str) or run.memory is None:
            raise TypeError("a durable run is told from its database: flow.replay(id, durable)")
        return tell_results(run.memory.steps.results)

    def _find_runs(self, durable: object) -> DurableRuns:
        host = find_host(durable)
        if host not in self._durable_runs:
            self.register(host)
        return self._durable_runs[host]

    async def _read_outcome(self, runs: DurableRuns, row: RunRow) -> E | Waiting | Failed:
        outcome = await runs.read_outcome(row)
        return self._decode_end(outcome) if isinstance(outcome, FlowValue) else outcome

    async def _run_in_memory(
        self, memory: FlowMemory, decisions: Decisions, waited_in: tuple[str, ...]
    ) -> E | Waiting | Failed:
        scope = RunScope(steps=memory.steps, secret=memory.secret, dispatcher=memory.dispatcher, decisions=decisions)
        caller = StepCaller(
            memory.dispatcher, scope, memory.session, key=escape_key(memory.run_id), waited_in=waited_in
        )
        async with memory.steps.take_turn():
            outcome = await FlowRunner(self.graph, caller, name=self.name, max_visits=self.max_visits).run(memory.value)
        for error in scope.refused.values():
            raise error
        if isinstance(outcome, Paused):
            return Waiting(outcome.requests, id=memory.run_id, memory=memory)
        return outcome if isinstance(outcome, Failed) else self._decode_end(outcome)

    async def _run_in_step(
        self,
        step: CallStep,
        start: FlowValue,
        resources: Mapping[Any, Any] | None,
        session: Session | None,
        dispatcher: Dispatcher | None,
    ) -> E | Failed:
        """Run the flow as a part of *step*, a step of another run. If it has to wait, so does that run."""
        scope, nested, own_session = step.scope, step.nested, session or Session(id=step.session.id)
        own_session.principal = own_session.principal or step.session.principal
        built = self._dispatchers.build(dispatcher, resources or {}, lambda approvals: share_store(approvals, scope))
        async with nested.open(f"the flow `{self.name}`", digest_parts(self.name, json.dumps(start.to_json()))) as run:
            caller = StepCaller(built, scope, own_session, key=run.key, outer=step)
            outcome = await FlowRunner(self.graph, caller, name=self.name, max_visits=self.max_visits).run(start)
            nested.add_spent(run.number, caller.spent)
            if isinstance(outcome, Paused):
                await nested.pause(run.number, outcome.requests)
        return outcome if isinstance(outcome, Failed) else self._decode_end(outcome)

    def encode_start(self, value: object) -> FlowValue:
        """Return the JSON form of a value that the flow can begin with, or raise `TypeError`."""
        graph = self.graph
        refs = [graph.nodes[name].takes for name in graph.starts]
        ref = graph.types.find_ref(value, refs)
        if ref is None:
            wanted = " or ".join(f"`{ref.name}`" for ref in refs)
            raise TypeError(
                f"the flow `{self.name}` begins with {wanted}, got `{type(value).__name__}`; a step with `start=True` "
                f"is another place to begin"
            )
        return graph.types.encode(value, ref)

    def _decode_end(self, value: FlowValue) -> E:
        return cast("E", self.graph.types.decode(value, f"the end of `{self.name}`"))
