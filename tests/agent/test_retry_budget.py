"""
The retries of a run: calls of tools and requests to the provider take them from one budget.
"""

from __future__ import annotations

import contextlib

import httpx
import pytest

from tests.agent.kit import call, results_of
from toolkit.agent import Agent, Budget
from toolkit.agent.subruns import sub_run
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Transient
from toolkit.policies.retry import RetryPolicy
from toolkit.providers import OpenAIProvider, ScriptedProvider

pytestmark = pytest.mark.anyio

USED_UP = "not tried again: the run's budget of {} is used up"


async def no_wait(seconds: float) -> None:
    """Sleep no time."""


@pytest.fixture
def station():
    """A catalog in which nothing works, and the attempts that were made."""
    catalog, attempts = Catalog(), []

    @catalog.tool(read_only=True)
    def weather(city: str) -> str:
        """Tell the weather."""
        attempts.append(city)
        raise Transient("the station does not answer")

    @catalog.tool(read_only=True)
    async def think(context: Context) -> str:
        """Think about it."""
        return await sub_run("What is it like?", context=context)

    @catalog.tool(read_only=True)
    def relay(city: str) -> str:
        """Ask another way."""
        with contextlib.closing(Dispatcher(catalog, sleep=no_wait)) as inner:
            return inner.call_sync("weather", {"city": city}).text

    @catalog.tool(approval="always")
    def ask(city: str) -> str:
        """Ask a person first."""
        attempts.append(city)
        raise Transient("the station does not answer")

    dispatcher = Dispatcher(catalog, retry=RetryPolicy(attempts=3), sleep=no_wait)
    with contextlib.closing(dispatcher):
        yield dispatcher, attempts


async def test_the_retries_of_all_calls_are_one_budget(station):
    """When it is used up each call is tried once, and the result says why it was not tried again."""
    dispatcher, attempts = station
    script = [[call("weather", city="Oslo"), call("weather", city="Bergen")], [call("weather", city="Rome")], "No."]
    run = await Agent(ScriptedProvider(script), dispatcher, budget=Budget(retries=3)).run("go")
    assert (run.status, run.spent.retries) == ("done", 3)
    assert [attempts.count(city) for city in ("Oslo", "Bergen", "Rome")] in ([3, 2, 1], [2, 3, 1])
    result = results_of(run)[0]
    assert (result.kind, result.attempts) == ("transient", 1)
    assert result.retries == [USED_UP.format("3 retries")]


async def test_a_budget_of_0_retries_allows_one_attempt_of_each_call(station):
    dispatcher, attempts = station
    script = [[call("weather", city="Oslo")], "No."]
    run = await Agent(ScriptedProvider(script), dispatcher, budget=Budget(retries=0)).run("go")
    assert (attempts, run.spent.retries) == (["Oslo"], 0)
    assert results_of(run)[0].retries == [USED_UP.format("0 retries")]


async def test_only_the_retry_policy_limits_retries_without_a_budget(station):
    dispatcher, attempts = station
    script = [*([[call("weather", city="Oslo")]] * 30), "No."]
    run = await Agent(ScriptedProvider(script), dispatcher, budget=Budget(retries=None)).run("go")
    assert (len(attempts), run.spent.retries) == (90, 60)


async def test_a_run_retries_fifty_times_by_default(station):
    """A model that keeps calling what does not work waits for it no longer than that."""
    dispatcher, attempts = station
    script = [*([[call("weather", city="Oslo")]] * 30), "No."]
    run = await Agent(ScriptedProvider(script), dispatcher).run("go")
    assert (len(attempts), run.spent.retries) == (80, 50)


async def test_a_call_outside_of_a_run_has_no_retry_budget(station):
    """A call by hand has the dispatcher's policy alone, also after a run has ended."""
    dispatcher, _ = station
    await Agent(ScriptedProvider(["No."]), dispatcher, budget=Budget(retries=0)).run("go")
    assert (await dispatcher.call("weather", {"city": "Oslo"})).attempts == 3


def answering(*statuses):
    """Return a provider whose server answers with *statuses*, in order; 200 says that it is sunny."""
    left = list(statuses)

    def answer(request):
        status = left.pop(0)
        body = {"choices": [{"message": {"role": "assistant", "content": "Sunny."}, "finish_reason": "stop"}]}
        return httpx.Response(status, json=body if status == 200 else {"error": {"message": "busy"}})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return OpenAIProvider("m", api_key="k", base_url="http://server/v1", client=client, sleep=no_wait), left


async def test_requests_to_the_provider_take_from_the_same_budget(station):
    """A request that may not be tried again ends the run, and the reason says why."""
    provider, left = answering(503, 503, 200)
    run = await Agent(provider, station[0], budget=Budget(retries=1)).run("go")
    assert (run.status, run.spent.retries, left) == ("failed", 1, [200])
    assert "the run's budget of 1 retry is used up" in run.reason


async def test_a_request_that_is_tried_again_in_time_goes_well(station):
    """The retries it took are counted."""
    provider, _ = answering(503, 503, 200)
    run = await Agent(provider, station[0], budget=Budget(retries=2)).run("go")
    assert (run.status, run.text, run.spent.retries) == ("done", "Sunny.", 2)


async def test_a_stream_takes_from_the_same_budget(station):
    """A stream counts like a run without one."""
    provider, left = answering(503, 503, 200)
    agent = Agent(provider, station[0], budget=Budget(retries=1))
    assert [event async for event in agent.stream("go")][-1].run.status == "failed"
    assert (agent.last_run.spent.retries, left) == (1, [200])


async def test_retries_of_a_sub_run_count_in_the_budget_of_its_parent(station):
    dispatcher, attempts = station
    script = [[call("think")], [call("weather", city="Oslo")], "No.", [call("weather", city="Oslo")], "No."]
    run = await Agent(ScriptedProvider(script), dispatcher, budget=Budget(retries=3)).run("go")
    assert (run.status, len(attempts), run.spent.retries) == ("done", 5, 3)


async def test_a_call_inside_a_tools_thread_takes_from_the_same_budget(station):
    """This holds also if a dispatcher of the tool's own makes it, in a loop of its own."""
    dispatcher, attempts = station
    script = [[call("relay", city="Oslo")], "No."]
    run = await Agent(ScriptedProvider(script), dispatcher, budget=Budget(retries=1)).run("go")
    assert (len(attempts), run.spent.retries) == (2, 1)


async def test_a_pause_does_not_give_retries_back(station):
    """Earlier retries count after the pause, also from JSON."""
    dispatcher, attempts = station
    script = [[call("weather", city="Oslo")], [call("ask", city="Rome")], "No."]
    agent = Agent(ScriptedProvider(script), dispatcher, budget=Budget(retries=3))
    paused = await agent.run("go")
    assert (paused.status, paused.spent.retries) == ("waiting", 2)
    run = await agent.resume(type(paused).from_json(paused.to_json()), {paused.requests[0].id: Decision.approve()})
    assert (run.status, run.spent.retries, attempts.count("Rome")) == ("done", 3, 2)


@pytest.mark.parametrize("retries", [-1, 1.5, True, "3"])
def test_an_invalid_number_of_retries_is_refused(retries):
    with pytest.raises(ValueError, match="`retries` has to be a whole number, 0 or more, or None"):
        Budget(retries=retries)
