"""`context.sample` of a tool that an agent calls: the provider of the run answers, within its budget."""

from __future__ import annotations

import pytest

from tests.agent.kit import call, results_of
from tests.agent.stepped_runs import run_with_steps
from tests.steps.crashing_steps import CrashingSteps, Process
from toolkit import Catalog, Context, Dispatcher
from toolkit.agent import Agent, Budget
from toolkit.errors import ProviderError
from toolkit.providers import AssistantMessage, Reply, ScriptedProvider, Usage

pytestmark = pytest.mark.anyio

TURNS = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "A title"},
]
catalog = Catalog()


@catalog.tool(read_only=True)
async def title(context: Context) -> str:
    """Write a title."""
    return f"{await context.sample(TURNS, system='Be short.', max_tokens=7)} in {len(await context.roots())} folder"


def replying(text, *calls):
    """Return a reply of 15 tokens."""
    message, usage = AssistantMessage(text=text, calls=calls), Usage(input_tokens=10, output_tokens=5)
    return lambda request: Reply(message=message, stop="calls" if calls else "answer", usage=usage)


def make_agent(*replies, **options):
    return Agent(ScriptedProvider(replies), Dispatcher(catalog), **options)


async def test_the_provider_of_the_agent_answers():
    """It gets the messages of the tool and no tools. Its tokens count, and it is not a turn."""
    provider = ScriptedProvider([replying("", call("title")), replying("Tea"), replying("Done.")])
    run = await Agent(provider, Dispatcher(catalog)).run("go")
    assert (run.text, results_of(run)[0].text) == ("Done.", "Tea in 1 folder")
    assert (run.spent.turns, run.usage.total_tokens, run.spent.usage.total_tokens) == (2, 45, 45)
    request = provider.requests[1]
    assert [type(message).__name__ for message in request.messages] == [
        "UserMessage",
        "AssistantMessage",
        "UserMessage",
    ]
    assert (request.system, request.max_tokens, request.catalog) == ("Be short.", 7, None)


async def test_a_budget_that_is_used_up_refuses():
    """Two calls of one turn: the first one uses up the rest."""
    agent = make_agent(replying("", call("title", "a"), call("title", "b")), replying("Tea"), budget=Budget(tokens=30))
    agent_run = await agent.run("go")
    assert agent_run.stop == "tokens"
    assert "the model cannot be asked: the budget of 30 tokens is used up" in results_of(agent_run)[1].text


async def test_a_failure_of_the_provider_fails_the_tool_and_not_the_run():
    agent = make_agent(replying("", call("title")), ProviderError("overloaded"), replying("Done."))
    run = await agent.run("go")
    assert run.text == "Done."
    assert "the model did not answer: overloaded" in results_of(run)[0].text


async def test_a_sampled_answer_is_recorded_with_the_call():
    """A replayed run asks no model and reports the same usage."""
    steps = CrashingSteps(Process())
    first = await run_with_steps(
        make_agent(replying("", call("title")), replying("Tea"), replying("Done.")),
        "go",
        run_id="r",
        steps=steps,
        secret="s",
    )
    second = await run_with_steps(make_agent(), "go", run_id="r", steps=steps, secret="s")
    assert results_of(second)[0].text == results_of(first)[0].text == "Tea in 1 folder"
    assert (first.usage.total_tokens, second.usage.total_tokens) == (45, 45)
    assert second.spent.usage == first.spent.usage


async def test_asking_a_model_without_an_agent_or_a_client_is_refused():
    """The message says where the tool can run."""
    result = await Dispatcher(catalog).call("title", {})
    assert result.kind == "failed"
    assert "there is no model to ask: run the tool in an agent" in result.text


async def test_messages_of_another_form_are_refused():
    other = Catalog()

    @other.tool(read_only=True)
    async def wrong(context: Context) -> str:
        """Send a system message."""
        return await context.sample([{"role": "system", "content": "x"}])

    result = await Dispatcher(other).call("wrong", {})
    assert 'messages such as {"role": "user"' in result.text
