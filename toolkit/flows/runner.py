"""
The walk through the graph: each value selects the next step, until a value that no step takes.

If a step cannot be done, the flow goes back to the step that it names. On the way, the steps are undone in reverse
order. Everything that costs or changes something is a recorded call, so the same walk after a crash leads to the same
place without doing anything twice. The same holds after a retry of a run that has failed: the walk leads to the
failure, and there the flow comes to the step once more.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import TypeAlias

from ..calls.listeners import tell_around
from ..calls.plan import may_run_concurrently
from ..hooks.events import FlowEnded, FlowInfo, FlowStarted
from .graph import Graph, Route, StepNode
from .outcomes import Failed, Problems
from .step_calls import StepCaller
from .value_types import FlowValue, TypeRef
from .visits import Broken, ItemVisit, Passed, Paused, VisitOutcome

__all__ = ["FlowOutcome", "FlowRunner"]

FlowOutcome: TypeAlias = FlowValue | Failed | Paused


@dataclass(frozen=True, slots=True)
class _StepVisit:
    """A visit of a step that has passed, with the whole value that it got, and its *place* among all visits."""

    place: int
    node: StepNode
    value: FlowValue
    items: Sequence[tuple[ItemVisit, Passed]]

    @property
    def labels(self) -> list[tuple[int, str]]:
        """The items that have changed something, in words, with the place of the visit."""
        return [] if self.node.tool.facts.read_only else [(self.place, visit.label) for visit, _ in self.items]


@dataclass(frozen=True, slots=True)
class _FailedVisit:
    """
    The end of a flow whose step could not be done.

    *left* is what is still there of the step itself. The *obstacle* says why a retry cannot run it again, if it cannot.
    """

    outcome: Failed
    left: tuple[str, ...]
    obstacle: str


@dataclass(eq=False)
class FlowRunner:
    """
    Runs the flow *name* from a value to its end. *find_retries* returns after which activations a run was retried.
    """

    graph: Graph
    caller: StepCaller
    _: KW_ONLY
    name: str
    max_visits: int
    find_retries: Callable[[], Awaitable[Sequence[int]]] | None = None
    _visit_counts: Counter[str] = field(init=False, default_factory=Counter)
    _history: list[_StepVisit] = field(init=False, default_factory=list)
    # What the flow went back over and could not undo, with the places of the visits.
    _left_behind: list[tuple[int, str]] = field(init=False, default_factory=list)
    _next_retry: int = field(init=False, default=0)
    _retries_used: int = field(init=False, default=0)
    # The items of a step that has failed which have passed, and cannot be undone. A retry does not run them again.
    _kept_items: dict[int, ItemVisit] = field(init=False, default_factory=dict)

    async def run(self, value: FlowValue) -> FlowOutcome:
        """Return the value that the flow ends with, or why it does not; raise if an answer has to be applied later."""
        settings = self.caller.settings
        if not settings.chain.listeners:
            return await self._run_to_end(value)
        waited_in = await self.caller.find_waiting_spans()
        flow = FlowInfo(name=self.name, id=self.caller.key, session=self.caller.session, waited_in=waited_in)

        async def work() -> FlowOutcome:
            if not waited_in:
                await self.caller.keep_first_span()
            return await self._run_to_end(value)

        return await tell_around(settings, FlowStarted(flow), work, partial(_build_end, flow))

    async def _run_to_end(self, value: FlowValue) -> FlowOutcome:
        outcome = await self._run(value)
        if isinstance(outcome, Paused) and self.caller.postponed is not None:
            raise self.caller.postponed
        return outcome

    async def _run(self, value: FlowValue) -> FlowOutcome:
        problems = Problems()
        while (route := self.graph.find_route(value.type)) is not None:
            node = route.node
            self._visit_counts[node.name] += 1
            if self._visit_counts[node.name] > self.max_visits + self._retries_used:
                reason = f"the flow came to `{node.name}` {self.max_visits} times, which is the most; raise "
                reason += "`max_visits` if that can be right"
                failure = self._fail(node, (*problems, reason))
                if not await self._is_retried(failure):
                    return failure.outcome
                self._visit_counts[node.name] -= 1  # this visit was none
                continue
            visits = self._prepare_visits(route, value)
            outcomes = await self._run_visits(node, visits, problems)
            passed = [outcome for outcome in outcomes if isinstance(outcome, Passed)]
            if len(passed) == len(outcomes):
                self._history.append(_StepVisit(self._place, node, value, list(zip(visits, passed, strict=True))))
                value, problems = self._join(route, passed), Problems()
                continue
            ending = await self._break_visit(node, visits, outcomes)
            if isinstance(ending, Paused):
                return ending
            if not isinstance(ending, _FailedVisit):
                value, problems = ending
            elif await self._is_retried(ending):
                problems = Problems(ending.outcome.problems, node.name)
            else:
                return await self._explain_obstacle(ending)
        return value

    async def _is_retried(self, failure: _FailedVisit) -> bool:
        """Return whether the run was retried after this failure. The step is visited again then."""
        retry = None if failure.obstacle else await self._find_retry()
        if retry is None:
            return False
        self._next_retry = retry + 1
        self._retries_used += 1
        self._left_behind += [(self._place, label) for label in failure.left]
        return True

    async def _find_retry(self) -> int | None:
        """
        Return the place of the first unused retry that came after the failure at which the flow is now; None if none.

        An earlier one was for a failure that the flow does not come to any more, because its program was changed.
        """
        epochs = () if self.find_retries is None else await self.find_retries()
        places = range(self._next_retry, len(epochs))
        return next((place for place in places if epochs[place] >= self.caller.newest_epoch), None)

    async def _explain_obstacle(self, failure: _FailedVisit) -> Failed:
        """Return how the flow has ended. If a retry was of no use, the outcome says why."""
        if not failure.obstacle or await self._find_retry() is None:
            return failure.outcome
        reason = f"a retry does not run it again, because {failure.obstacle}; start a run with another id"
        return replace(failure.outcome, problems=(*failure.outcome.problems, reason))

    def _prepare_visits(self, route: Route, value: FlowValue) -> list[ItemVisit]:
        node = route.node
        build_visit = partial(ItemVisit, self.caller, self.graph, node, number=self._visit_counts[node.name])
        if not route.is_fan_out:
            return [build_visit(item=0, value=value)]
        kept, self._kept_items = self._kept_items, {}
        return [
            kept.get(index) or build_visit(item=index, value=FlowValue(node.takes.name, item_value))
            for index, item_value in enumerate(value.value, 1)
        ]

    async def _run_visits(self, node: StepNode, visits: Sequence[ItemVisit], problems: Problems) -> list[VisitOutcome]:
        """
        Run the step for all items: at the same time if it is safe beside itself, otherwise one after the other.

        After an item that ends the flow, no further one is started. If they run one after the other, those that come
        after an item that waits are held back, too.
        """
        if len(visits) < 2 or not await self._may_run_together(node, visits):
            return [await self._run_visit(visit, visits, problems, is_alone=True) for visit in visits]
        limit = asyncio.Semaphore(self.caller.settings.max_concurrency)

        async def run_within_limit(visit: ItemVisit) -> VisitOutcome:
            async with limit:
                return await self._run_visit(visit, visits, problems, is_alone=False)

        tasks = [asyncio.create_task(run_within_limit(visit)) for visit in visits]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _run_visit(
        self, visit: ItemVisit, visits: Sequence[ItemVisit], problems: Problems, *, is_alone: bool
    ) -> VisitOutcome:
        outcome = await visit.run(problems)
        if (isinstance(outcome, Broken) and outcome.is_final) or (isinstance(outcome, Paused) and is_alone):
            self.caller.held_back.update(other.first_key for other in visits)
        return outcome

    async def _may_run_together(self, node: StepNode, visits: Sequence[ItemVisit]) -> bool:
        if isinstance(node.tool.facts.concurrency_safe, bool):
            return node.tool.facts.concurrency_safe
        for visit in visits:
            if not await may_run_concurrently(node.tool, visit.decode_arguments()):
                return False
        return True

    def _join(self, route: Route, passed: Sequence[Passed]) -> FlowValue:
        if not route.is_fan_out:
            return passed[0].value
        name = TypeRef(route.node.returns[0].item, is_list=True).name
        return FlowValue(name, [outcome.value.value for outcome in passed])

    async def _break_visit(
        self, node: StepNode, visits: Sequence[ItemVisit], outcomes: Sequence[VisitOutcome]
    ) -> tuple[FlowValue, Problems] | _FailedVisit | Paused:
        """Return the value and the problems to go on with, or how the flow ends, after a step that has not passed."""
        results = list(zip(visits, outcomes, strict=True))
        broken = [(visit, outcome) for visit, outcome in results if isinstance(outcome, Broken)]
        pairs = [(visit, outcome) for visit, outcome in results if isinstance(outcome, Passed)]
        problems = tuple(
            text if len(visits) == 1 else f"{visit.label}: {text}"
            for visit, outcome in broken
            for text in outcome.problems
        )
        left = [text for outcome in outcomes if isinstance(outcome, Broken | Paused) for text in outcome.left]
        siblings = [] if node.tool.facts.read_only else [visit.label for visit, _ in pairs]
        requests = [request for outcome in outcomes if isinstance(outcome, Paused) for request in outcome.requests]
        if any(outcome.is_final for _, outcome in broken):
            reason = f"the flow has ended, because `{node.name}` failed for another item"
            await self.caller.withdraw(requests, reason)
            obstacle = f"`{node.name}` may have done something that was not undone" if siblings or left else ""
            return self._fail(node, problems, [*siblings, *left], obstacle=obstacle)
        if requests:
            return Paused(tuple(requests))
        ending = await self._undo_items(node, pairs, problems)
        if ending is not None:
            return ending
        obstacle = "it has run, is destructive and has no `undo`" if left and node.tool.facts.destructive else ""
        if node.undo is None:
            left = [*siblings, *left]
            self._kept_items = {visit.item: visit for visit, _ in pairs}
        if node.back_to is None:
            return self._fail(node, problems, left, obstacle=obstacle)
        return await self._go_back(node, problems, left, obstacle)

    async def _go_back(
        self, node: StepNode, problems: tuple[str, ...], left: Sequence[str], obstacle: str
    ) -> tuple[FlowValue, Problems] | _FailedVisit | Paused:
        """
        Undo the steps back to the one that *node* names, that one too, and return the value that it got.

        *left* is what is still there of *node* itself, and *obstacle* says why it cannot be run again.
        """
        if not any(visit.node.name == node.back_to for visit in self._history):
            reason = f"the flow has not come through `{node.back_to}`, so it cannot go back"
            return self._fail(node, (*problems, reason), left, obstacle=obstacle)
        if (barrier := self._find_barrier(node, left)) is not None:
            reason = f"the flow cannot go back to `{node.back_to}`, because `{barrier.name}` has run, is destructive "
            reason += "and has no `undo`, and is not run twice"
            return self._fail(node, (*problems, reason), left, obstacle=obstacle)
        self._kept_items = {}
        self._left_behind += [(self._place, label) for label in left]
        while True:
            visit = self._history[-1]
            ending = await self._undo_items(visit.node, visit.items, problems, failed=node)
            if ending is not None:
                return ending
            self._history.pop()
            if visit.node.undo is None:
                self._left_behind += visit.labels
            if visit.node.name == node.back_to:
                return visit.value, Problems(problems, node.name)

    def _find_barrier(self, node: StepNode, left: Sequence[str]) -> StepNode | None:
        """Return a step on the way back that is destructive, has run and cannot be undone; None if there is none."""
        if left and node.tool.facts.destructive:
            return node
        for visit in reversed(self._history):
            if visit.node.tool.facts.destructive and visit.node.undo is None:
                return visit.node
            if visit.node.name == node.back_to:
                break
        return None

    async def _undo_items(
        self,
        node: StepNode,
        items: Sequence[tuple[ItemVisit, Passed]],
        problems: tuple[str, ...],
        failed: StepNode | None = None,
    ) -> _FailedVisit | Paused | None:
        """Undo the items of a step, the last one first. Return None if that worked."""
        for index in range(len(items) - 1, -1, -1):
            visit, passed = items[index]
            ending = await visit.undo(passed.attempt, passed.value, list(problems))
            if isinstance(ending, Paused):
                return ending
            if ending is not None and failed is not None:
                self._history[-1] = replace(self._history[-1], items=items[: index + 1])
                return self._fail(failed, ending.problems, obstacle=f"`{node.name}` could not be undone")
            if ending is not None:
                left = [other.label for other, _ in items[: index + 1]]
                return self._fail(node, ending.problems, left, obstacle=f"`{node.name}` could not be undone")
        return None

    def _fail(
        self, node: StepNode, problems: Sequence[str], left: Sequence[str] = (), *, obstacle: str = ""
    ) -> _FailedVisit:
        earlier = [label for visit in self._history for label in visit.labels]
        entries = sorted([*self._left_behind, *earlier, *((self._place, label) for label in left)], key=itemgetter(0))
        all_left = tuple(dict.fromkeys(label for _, label in entries))
        return _FailedVisit(Failed(node.name, tuple(problems), left=all_left), tuple(left), obstacle)

    @property
    def _place(self) -> int:
        return sum(self._visit_counts.values())


def _build_end(flow: FlowInfo, outcome: FlowOutcome | None, error: BaseException | None) -> FlowEnded:
    if isinstance(outcome, Failed):
        return FlowEnded(flow, "failed", outcome.problems)
    if error is not None:
        return FlowEnded(flow, "failed" if isinstance(error, Exception) else "stopped", (), error)
    return FlowEnded(flow, "waiting" if isinstance(outcome, Paused) else "done")
