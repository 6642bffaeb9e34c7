"""Calls that a tool makes with a dispatcher of its own, or with an extension: what they know of the call around them."""

from __future__ import annotations

import pytest

from toolkit import Agent, Catalog, Context, Dispatcher, Permissions, RetryPolicy, ToolCall, Transient
from toolkit.agent import Budget
from toolkit.providers import Price, ScriptedProvider
from toolkit.testing import Recorder

pytestmark = pytest.mark.anyio

FREE = {"scripted": Price(input=0, output=0)}


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=[False, True], ids=["own dispatcher", "extension"])
def is_extension(request):
    return request.param


@pytest.fixture
def outer(is_extension, recorder):
    """A dispatcher whose tool `forward` calls another tool, with a dispatcher of its own or with an extension."""
    inside, outside = Catalog(), Catalog()

    @inside.tool(read_only=True, cost=0.6)
    def paint() -> str:
        """Paint."""
        return "painted"

    @inside.tool(read_only=True)
    def wait_for_rain() -> str:
        """Wait."""
        raise Transient("no cloud")

    @inside.tool(read_only=True)
    async def ask_model(context: Context) -> str:
        """Ask."""
        return await context.sample("What now?")

    @inside.tool(destructive=True)
    def burn() -> str:
        """Burn."""
        return "burnt"

    @outside.tool(read_only=True)
    async def forward(name: str) -> str:
        """Call another tool."""
        result = await dispatcher.call(name)
        return f"{result.kind} after {result.attempts}: {result.text}"

    policies = {"retry": RetryPolicy(wait_initial=0)}
    around = Dispatcher(outside, permissions=Permissions("default"), hooks=[recorder], **policies)
    dispatcher = around.extended(inside) if is_extension else Dispatcher(inside, **policies)
    return around


def work(dispatcher, *names, replies=(), **budget):
    calls = [[ToolCall("forward", {"name": name}, f"c{number}")] for number, name in enumerate(names)]
    return Agent(ScriptedProvider([*calls, *replies, "Done."]), dispatcher, budget=Budget(**budget)).run("go")


def results_of(run):
    return [result.text for message in run.messages for result in getattr(message, "results", ())]


async def test_the_cost_of_an_inner_call_counts_in_the_budget_of_the_run(outer):
    run = await work(outer, "paint", "paint", cost="1", prices=FREE)
    assert [text.split()[0] for text in results_of(run)] == ["ok", "halted"]
    assert (float(run.spent.tool_cost), run.spent.calls) == (0.6, 2)


async def test_retries_of_an_inner_call_count_in_the_budget_of_the_run(outer):
    run = await work(outer, "wait_for_rain", retries=1)
    assert (run.spent.retries, results_of(run)[0].split(":")[0]) == (1, "transient after 2")


async def test_the_model_of_the_run_answers_an_inner_call(outer):
    run = await work(outer, "ask_model", replies=["Paint it."])
    assert results_of(run) == ["ok after 1: Paint it."]


async def test_only_an_inner_call_of_an_extension_has_the_permissions_and_hooks(outer, is_extension, recorder):
    """A call that waits is a result for the tool, and the run does not wait."""
    run = await work(outer, "burn")
    assert (run.status, results_of(run)[0].split()[0]) == ("done", "waiting" if is_extension else "ok")
    assert [call.name for call in recorder] == (["burn", "forward"] if is_extension else ["forward"])
