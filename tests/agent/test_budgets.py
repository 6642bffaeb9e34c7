"""
Budgets: which limit was reached, and a valid conversation afterwards.
"""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal

import pytest

from tests.agent.kit import Shed, call, results_of
from tests.clocks import Clock
from toolkit.agent import Agent, Budget, Expense
from toolkit.agent.budgets import Ledger
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.errors import ProviderError
from toolkit.providers import AssistantMessage, Price, Reply, ScriptedProvider, Usage

pytestmark = pytest.mark.anyio

PRICES = {"scripted": Price(input=1, output=10)}


def looking(**fields):
    """Return a function that replies with a call of a tool, and with what the reply costs."""
    fields.setdefault("usage", Usage(input_tokens=1000, output_tokens=100))
    return lambda request: Reply(
        message=AssistantMessage(calls=(call("look", f"c{len(request.messages)}", what="oak"),)), stop="calls", **fields
    )


async def test_turns():
    """The model is asked no more often than that; what it called last is not run, and says so."""
    shed = Shed()
    run = await shed.agent([looking()] * 9, max_turns=3).run("go")
    assert (run.status, run.stop, run.turns) == ("stopped", "turns", 3)
    assert run.reason == "the budget of 3 turns is used up"
    assert (len(shed.done), results_of(run)[0].kind) == (2, "cancelled")
    assert "3 turns" in results_of(run)[0].text


async def test_tokens():
    """Read and written ones count together."""
    shed = Shed()
    run = await shed.agent([looking()] * 9, budget=Budget(tokens=2000)).run("go")
    assert (run.status, run.stop, run.turns, run.usage.total_tokens) == ("stopped", "tokens", 2, 2200)
    assert run.reason == "the budget of 2,000 tokens is used up"


async def test_tool_calls():
    """Those beyond the limit are not run, and the run ends."""
    shed = Shed("auto")
    agent = shed.agent([[call("cut", wood=str(n)) for n in range(5)], "Never."], budget=Budget(calls=3))
    run = await agent.run("go")
    assert (run.status, run.stop, run.spent.calls) == ("stopped", "calls", 3)
    assert shed.done == ["cut 0", "cut 1", "cut 2"]
    assert [result.kind for result in results_of(run)] == ["ok", "ok", "ok", "cancelled", "cancelled"]


async def test_tool_calls_may_be_used_up_by_an_answer():
    """A model that has used all its calls can still answer."""
    shed = Shed("auto")
    agent = shed.agent([[call("cut", wood="oak")], "Cut.", [call("cut", wood="elm")]], budget=Budget(calls=1))
    run = await agent.run("go")
    assert (run.status, run.text, run.spent.calls) == ("done", "Cut.", 1)


async def test_a_run_stops_when_its_budget_of_money_is_used_up():
    """A table of prices says what the tokens cost."""
    shed = Shed()
    run = await shed.agent([looking()] * 9, budget=Budget(cost="0.005", prices=PRICES)).run("go")
    assert (run.status, run.stop, run.turns, run.spent.cost) == ("stopped", "cost", 3, Decimal("0.006"))
    assert run.reason == "the budget of 0.005 in money is used up"


async def test_a_run_stops_between_turns_when_its_time_is_used_up():
    shed, clock = Shed(), Clock()

    def slow(request):
        clock.now += 40
        return looking()(request)

    run = await shed.agent([slow] * 9, budget=Budget(seconds=60), clock=clock).run("go")
    assert (run.status, run.stop, run.turns, run.spent.seconds) == ("stopped", "seconds", 2, 80.0)


async def test_a_reply_that_takes_too_long_is_given_up():
    """The conversation is as it was before."""
    shed = Shed()

    async def forever(request):
        await asyncio.Event().wait()

    agent = shed.agent([forever], budget=Budget(seconds=0.01))
    run = await agent.run("go")
    assert (run.status, run.stop, len(run.messages)) == ("stopped", "seconds", 1)


async def test_time_while_a_tool_runs():
    """The call is ended with the budget; its result says so."""
    shed, clock = Shed(), Clock()

    @shed.catalog.tool(read_only=True)
    async def sleep() -> str:
        """Sleep until the test wakes it."""
        try:
            await asyncio.Event().wait()
        finally:
            clock.now += 1

    def slowly(request):
        clock.now += 59.99
        return [call("sleep")]

    run = await shed.agent([slowly, "Never."], budget=Budget(seconds=60), clock=clock).run("go")
    assert (run.status, run.stop, results_of(run)[0].kind) == ("stopped", "seconds", "timeout")


async def test_a_timeout_of_the_provider_is_not_mistaken_for_the_end_of_the_budget():
    """It is raised unchanged."""
    agent = Shed().agent([TimeoutError("mine")], budget=Budget(seconds=1000))
    with pytest.raises(TimeoutError, match="mine"):
        await agent.run("go")


async def test_a_budget_begins_again_with_each_prompt():
    """A long conversation is not a long run."""
    shed = Shed()
    agent = shed.agent([looking(), "One.", looking(), "Two."], max_turns=2)
    run = await agent.run("more", run=await agent.run("go"))
    assert (run.status, run.text, run.turns) == ("done", "Two.", 2)


async def test_a_stopped_run_continues_where_it_stopped():
    shed = Shed()
    agent = shed.agent([looking(), "Done."], max_turns=1)
    run = await agent.run(run=await agent.run("go"))
    assert (run.status, run.text) == ("done", "Done.")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tokens": 0}, "`tokens` has to be a number above 0"),
        ({"calls": "5"}, "`calls` has to be a number above 0, or None; got '5'"),
        ({"seconds": "5"}, "`seconds` has to be a number above 0"),
        ({"calls": True}, "`calls`"),
        ({"seconds": float("nan")}, "`seconds`"),
        ({"seconds": "soon"}, "`seconds`"),
        ({"cost": 1}, "give prices="),
        ({"depth": -1}, "`depth` has to be 0 or more"),
        ({"depth": True}, "`depth`"),
    ],
)
def test_an_invalid_budget_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Budget(**options)


@pytest.mark.parametrize("cost", [1, None])
def test_a_model_without_a_price_is_refused_before_its_first_request(cost):
    """A budget in money needs the price of the model."""
    with pytest.raises(ProviderError, match="no price is known"):
        Agent(ScriptedProvider([], model="other"), [], budget=Budget(cost=cost, prices=PRICES))


def test_unknown_model_name_has_the_price_of_the_requested_model():
    """Some providers answer with a name of their own."""
    ledger = Ledger(Budget(cost=1, prices=PRICES), 5, model="scripted")
    ledger.add_reply(Usage(input_tokens=1_000_000), "scripted-by-another", is_turn=True)
    assert (ledger.spent.cost, ledger.find_reached_limit()[0]) == (Decimal(1), "cost")


@pytest.mark.parametrize(
    "change",
    [
        {"turns": -1},
        {"turns": True},
        {"turns": 1.5},
        {"retries": -1},
        {"retries": None},
        {"seconds": float("inf")},
        {"cost": "much"},
        {"cost": 5},
        {"cost": "-1"},
        {"usage": []},
        {"more": 1},
    ],
)
def test_malformed_expense_data_is_refused(change):
    """A saved run may hold anything."""
    with pytest.raises(ValueError):
        Expense.from_json({**Expense().to_json(), **change})
    with pytest.raises(ValueError):
        Expense.from_json([])


def test_an_expense_goes_to_json_and_back_unchanged():
    spent = Expense(turns=2, calls=3, retries=4, seconds=1.5, usage=Usage(input_tokens=5), cost=Decimal("0.25"))
    assert Expense.from_json(spent.to_json()) == spent


async def test_calls_one_after_another_share_the_time():
    """Each call gets the time that is left, and a call without time is not started."""
    shed, clock, limits = Shed("bypass"), Clock(), []

    @shed.catalog.tool
    async def dig(context: Context) -> str:
        """Dig for a while."""
        limits.append(context.deadline - clock.now)
        clock.now += 25
        return "dug"

    agent = shed.agent(
        [[call("dig"), call("dig"), call("dig"), call("dig")]],
        dispatcher=shed.dispatcher(clock=clock),
        budget=Budget(seconds=60),
        clock=clock,
    )
    run = await agent.run("go")
    assert (run.status, run.stop, run.spent.seconds, limits) == ("stopped", "seconds", 75.0, [60.0, 35.0, 10.0])
    assert [result.kind for result in results_of(run)] == ["ok", "ok", "ok", "cancelled"]
    assert "no time is left: it was not run" in results_of(run)[3].text


async def test_an_approval_that_comes_when_no_time_is_left_is_not_used():
    """The run could not report the outcome."""
    shed, clock = Shed(), Clock()

    @shed.catalog.tool(read_only=True)
    async def dig() -> str:
        """Dig for a while."""
        clock.now += 60
        return "dug"

    agent = shed.agent([[call("cut", wood="oak"), call("dig")]], budget=Budget(seconds=60), clock=clock)
    run = await agent.run("go")
    assert (run.status, run.spent.seconds) == ("waiting", 60.0)
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, run.stop, shed.done) == ("stopped", "seconds", [])
    assert "budget of 60 s is used up" in results_of(run)[0].text


async def test_a_model_that_takes_too_long_is_not_asked_again():
    """The agent's own clock does not matter."""

    async def forever(request):
        await asyncio.Event().wait()

    agent = Shed().agent([forever] * 9, budget=Budget(seconds=0.01), clock=lambda: 0.0)
    run = await agent.run("go")
    assert (run.status, run.stop, len(agent.asked)) == ("stopped", "seconds", 1)


def test_a_budget_is_saved_and_read_back():
    """Amounts are texts, so that nothing of them is lost."""
    budget = Budget(tokens=5, calls=2, seconds=1.5, cost="0.10", prices=PRICES, depth=1)
    data = json.loads(json.dumps(budget.to_json()))
    assert (Budget.from_json(data), Budget.from_json(Budget().to_json())) == (budget, Budget())


@pytest.mark.parametrize(
    "change", [{"tokens": "5"}, {"tokens": -1}, {"prices": 5}, {"cost": "1", "prices": None}, {"kilos": 5}]
)
def test_malformed_budget_data_is_refused(change):
    with pytest.raises(ValueError, match=r"budget|Budget"):
        Budget.from_json({**Budget().to_json(), **change})
    with pytest.raises(ValueError, match="not a budget"):
        Budget.from_json([])
