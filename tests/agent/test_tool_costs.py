"""
Budgets in money, and tools that cost some: what is counted, when a run stops, and what is not counted twice.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from tests.agent.kit import call, results_of
from tests.agent.stepped_runs import resume_with_steps, run_with_steps
from tests.steps.crashing_steps import CrashingSteps, Process
from toolkit.agent import Agent, Budget, Expense, Run, sub_run
from toolkit.agent.saved.run_seal import dump_run, load_run
from toolkit.approvals import Approvals, MemoryApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.providers import Price, ScriptedProvider

pytestmark = pytest.mark.anyio

FREE = {"scripted": Price(input=0, output=0)}


class Studio:
    """Tools that cost something, and what was done with them."""

    def __init__(self, mode: str = "auto") -> None:
        self.done: list[str] = []
        self.catalog = catalog = Catalog()
        self.permissions = Permissions(mode)

        @catalog.tool(cost=0.25)
        async def paint(what: str) -> str:
            """Paint a picture."""
            self.done.append(what)
            return f"painted {what}"

        @catalog.tool(cost=lambda arguments: arguments["size"], read_only=True)
        async def scan(size: float) -> str:
            """Scan a picture."""
            await asyncio.sleep(0)
            self.done.append(f"scan {size}")
            return "scanned"

        @catalog.tool
        async def commission(context: Context) -> str:
            """Have a picture painted."""
            return await sub_run("Paint.", context=context)

        @catalog.tool
        async def order(what: str) -> str:
            """Order a picture from elsewhere."""
            return (await Dispatcher(catalog).call("paint", {"what": what})).text

    def agent(self, script: list[Any], cost: Any = None, **options: Any) -> Agent:
        budget = Budget(cost=cost, prices=None if cost is None else FREE)
        dispatcher = Dispatcher(self.catalog, permissions=self.permissions, **options)
        return Agent(ScriptedProvider(script), dispatcher, budget=budget)


async def test_a_run_counts_the_costs_of_its_tools():
    """
    They are separate from the money for tokens, and count also without a limit. Calls by another tool are
    included.
    """
    studio = Studio()
    script = [[call("paint", what="a tree"), call("scan", size=0.1)], [call("order", what="a lake")], "Done."]
    run = await studio.agent(script).run("go")
    assert (run.status, run.spent.cost, run.spent.tool_cost) == ("done", Decimal(0), Decimal("0.60"))
    assert Run.loads(run.dumps()).spent.tool_cost == Decimal("0.60")
    assert [result.cost for result in results_of(run, 0)] == [0.25, 0.1]


async def test_a_call_that_costs_more_than_is_left_is_not_run_and_ends_the_run():
    """The result says what is left; calls after it are not run either."""
    studio = Studio()
    script = [[call("paint", what="a tree")], [call("paint", what="a lake"), call("paint", what="a hill")], "Never."]
    run = await studio.agent(script, cost="0.40").run("go")
    assert (run.status, run.stop, run.spent.tool_cost) == ("stopped", "cost", Decimal("0.25"))
    assert run.reason == "`paint` costs 0.25, and 0.15 of the budget of 0.40 in money is left"
    assert studio.done == ["a tree"]
    assert [(result.kind, result.cost) for result in results_of(run)] == [("halted", 0.0)] * 2


async def test_a_run_stops_when_its_tools_have_used_up_its_money():
    studio = Studio()
    script = [[call("paint", what="a tree"), call("paint", what="a lake")], "Never."]
    run = await studio.agent(script, cost="0.50").run("go")
    assert (run.status, run.stop, run.reason) == ("stopped", "cost", "the budget of 0.50 in money is used up")
    assert studio.done == ["a tree", "a lake"]


async def test_parallel_calls_do_not_share_the_rest_of_the_money():
    """Each call takes its cost before it runs."""
    studio = Studio()
    run = await studio.agent([[call("scan", size=0.3) for _ in range(4)], "Never."], cost=1).run("go")
    assert (studio.done, run.spent.tool_cost) == (["scan 0.3"] * 3, Decimal("0.9"))
    assert sorted(result.kind for result in results_of(run)) == ["halted", "ok", "ok", "ok"]


async def test_the_cost_of_tools_in_a_sub_run_counts_for_its_parent():
    studio = Studio()
    script = [[call("commission")], [call("paint", what="a tree")], "Painted.", "Done."]
    run = await studio.agent(script, cost=1).run("go")
    assert (run.status, run.spent.tool_cost) == ("done", Decimal("0.25"))


async def test_the_cost_of_a_sub_run_counts_in_both_budgets():
    """The smaller budget refuses, and the parent goes on."""
    studio = Studio()

    @studio.catalog.tool
    async def sketch(context: Context) -> str:
        """Have two pictures painted for little money."""
        return await sub_run("Paint.", context=context, budget=Budget(cost="0.30", prices=FREE))

    script = [[call("sketch")], [call("paint", what="a tree")], [call("paint", what="a lake")], "Enough."]
    run = await studio.agent(script, cost=1).run("go")
    assert (run.status, run.spent.tool_cost, studio.done) == ("done", Decimal("0.25"), ["a tree"])
    assert "0.05 of the budget of 0.30 in money is left" in results_of(run)[0].text


async def test_an_approved_call_is_counted_when_the_call_runs():
    """It is not counted at the request, and does not run if too little money is left by then."""
    studio = Studio("default")
    agent = studio.agent([[call("paint", what="a tree"), call("paint", what="a lake")], "Never."], cost="0.40")
    run = await agent.run("go")
    assert (run.status, run.spent.tool_cost) == ("waiting", Decimal(0))
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, run.spent.tool_cost) == ("waiting", Decimal("0.25"))
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, run.stop, studio.done) == ("stopped", "cost", ["a tree"])


async def test_a_recorded_call_is_not_counted_twice():
    """The record of a step has what it cost, also that of a call inside a sub-run or another tool."""
    studio, steps = Studio(), CrashingSteps(Process())
    script = [
        [call("paint", "t1", what="a tree"), call("scan", "t2", size=0.1), call("order", "t3", what="a hill")],
        [call("commission", "t4")],
        [call("paint", "s1", what="a lake")],
        "Painted.",
        "Done.",
    ]
    options = {"run_id": "r", "steps": steps, "secret": "s"}
    first = await run_with_steps(studio.agent(script, cost=5), "go", **options)
    again = await run_with_steps(studio.agent([], cost=5), "go", **options)
    assert (first.spent.tool_cost, again.spent.tool_cost) == (Decimal("0.85"), Decimal("0.85"))
    assert len(studio.done) == 4


async def test_a_resumed_run_with_steps_counts_a_call_once():
    """Whether its process was the same or another one."""
    studio, steps, store = Studio("default"), CrashingSteps(Process()), MemoryApprovals()

    def make_agent(script: list[Any]) -> Agent:
        return studio.agent(script, cost=5, approvals=Approvals(store))

    options = {"steps": steps, "secret": "s"}
    waiting = await run_with_steps(
        make_agent([[call("paint", "t1", what="a tree")], "Done."]), "go", run_id="r", **options
    )
    assert (waiting.status, waiting.spent.tool_cost) == ("waiting", Decimal(0))
    decisions = {waiting.requests[0].id: Decision.approve()}
    done = await resume_with_steps(make_agent(["Done."]), load_run(dump_run(waiting)), decisions, **options)
    assert (done.status, done.spent.tool_cost, studio.done) == ("done", Decimal("0.25"), ["a tree"])
    again = await resume_with_steps(make_agent([]), load_run(dump_run(waiting)), decisions, **options)
    assert (again.status, again.spent.tool_cost, studio.done) == ("done", Decimal("0.25"), ["a tree"])


@pytest.mark.parametrize("name", ["cost", "tool_cost"])
def test_a_cost_below_zero_is_refused(name):
    with pytest.raises(ValueError, match=f"'{name}' cannot be '-1'"):
        Expense.from_json({**Expense().to_json(), name: "-1"})
