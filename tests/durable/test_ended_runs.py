"""A run that is ended from outside has the conversation and the usage that its steps have kept."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from tests.durable.kit import DurableShop, approve
from toolkit.durable.agent_outcomes import add_turns
from toolkit.providers import AssistantMessage, Reply, Usage
from toolkit.providers.messages import ToolMessage
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio

PAY_A = [ToolCall("pay", {"bill": "A"}, "a")]
PAY_B = [ToolCall("pay", {"bill": "B"}, "b")]


def with_usage(reply, tokens):
    """Return a reply of the model that has cost *tokens*."""
    message = AssistantMessage(text=reply) if isinstance(reply, str) else AssistantMessage(calls=tuple(reply))
    return Reply(message=message, stop="calls" if message.calls else "answer", usage=Usage(input_tokens=tokens))


def build_shop(path, **options):
    """Return a shop that pays two bills, one after the other. Its replies cost 1, 10 and 100 tokens."""
    script = [with_usage(PAY_A, 1), with_usage(PAY_B, 10), with_usage("done", 100)]
    return DurableShop(path, script=script, **options)


def list_results(run):
    """Return the kinds of the results in a run."""
    return [result.kind for message in run.messages if isinstance(message, ToolMessage) for result in message.results]


async def test_a_cancelled_run_has_its_finished_steps(tmp_path):
    """The calls since its last pause are in the conversation, and a call without a result says so."""
    shop = build_shop(tmp_path)
    hold = asyncio.Event()

    @shop.catalog.tool
    async def send(bill: str) -> str:
        """Send the money, which takes long."""
        shop.paid.append(bill)
        hold.set()
        return await asyncio.Event().wait()

    shop.script[1] = with_usage([ToolCall("send", {"bill": "B"}, "b")], 10)

    async with shop.open() as durable:
        run = await durable.run("Pay.", id="a")
        run = await durable.resume("a", approve(run))
        assert (run.status, run.usage.input_tokens) == ("waiting", 11)
        task = asyncio.create_task(durable.resume("a", approve(run)))
        await hold.wait()
        await durable.cancel("a", "enough")
        run = await task
        assert (run.status, run.stop, run.reason, run.usage.input_tokens) == ("stopped", "cancelled", "enough", 11)
        assert 0 < run.usage.definition_tokens <= 11
        assert list_results(run) == ["ok", "cancelled"]
        assert "may or may not have happened" in run.messages[-1].results[0].text
    assert shop.paid == ["A", "B"]


async def test_a_run_that_is_cancelled_while_it_waits_has_no_waiting_call(tmp_path):
    """The turn that waited is left out, and its tokens count."""
    shop = build_shop(tmp_path)
    async with shop.open() as durable:
        await durable.run("Pay.", id="a")
        await durable.cancel("a")
        run = await durable.run("Pay.", id="a")
    assert ([type(message).__name__ for message in run.messages], run.usage.input_tokens) == (["UserMessage"], 1)


async def test_a_run_whose_deadline_has_passed_has_its_finished_steps(tmp_path):
    """Its row has them as well, for other processes."""
    shop, now = build_shop(tmp_path, mode="auto"), time.time()

    class SlowShop(DurableShop):
        def _reply(self, request):
            if len(request.messages) == 5:
                raise TimeoutError
            return super()._reply(request)

    slow = SlowShop(tmp_path, script=shop.script, mode="auto")
    async with slow.open(clock=lambda: now) as durable:
        with pytest.raises(TimeoutError):
            await durable.run("Pay.", id="a", deadline_seconds=60)
        run = durable.read_run(await durable.get("a"))
        assert (run.status, list_results(run), run.usage.input_tokens) == ("failed", ["ok", "ok"], 11)
        await durable.retry("a")
        now += 100
        run = await durable.run("Pay.", id="a")
        assert (run.status, run.stop, list_results(run), run.usage.input_tokens) == (
            "stopped",
            "seconds",
            ["ok", "ok"],
            11,
        )
        assert durable.read_run(await durable.get("a")) == run
    assert slow.paid == ["A", "B"]


async def test_a_run_that_was_cut_off_too_often_has_its_finished_steps(tmp_path):
    """No process could write its end."""
    shop = build_shop(tmp_path)
    async with shop.open(max_lives=1) as durable:
        run = await durable.run("Pay.", id="a")
        await durable.resume("a", approve(run))
        durable.host._journal.activate("a", worker="dead", now=1.0, max_lives=9)
        run = await durable.run("Pay.", id="a")
    assert (run.status, list_results(run), run.usage.input_tokens) == ("failed", ["ok"], 11)


@pytest.mark.parametrize("mode", ["default", "auto"])
async def test_the_steps_have_the_whole_conversation(tmp_path, mode):
    """The conversation that is rebuilt from them equals that of the run."""
    shop = build_shop(tmp_path, mode=mode)
    async with shop.open() as durable:
        run = await durable.run("Pay.", id="a")
        while run.status == "waiting":
            run = await durable.resume("a", approve(run))
        row, steps = await durable.get("a"), await durable.host.steps("a")
        rebuilt = add_turns(replace(row, outcome=None), steps, run)
    assert (rebuilt.messages, rebuilt.usage, rebuilt.reply_count) == (run.messages, run.usage, run.reply_count)
    assert run.usage.input_tokens == 111
