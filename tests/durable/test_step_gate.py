"""A worker that ends stops between two steps."""

from __future__ import annotations

import asyncio

import pytest

from toolkit.durable.step_gate import StepGate, WorkerEnds

pytestmark = pytest.mark.anyio


class PlainSteps:
    """Steps that keep nothing."""

    async def reply(self, key, ask):
        """Ask."""
        return await ask()

    async def call(self, key, call, work, *, may_repeat, session):
        """Work."""
        return await work(None)


@pytest.fixture
async def gate():
    """Return a gate that is open."""
    gate = StepGate()
    gate.open(PlainSteps())
    return gate


async def answer():
    """Return a reply."""
    return "reply"


async def test_steps_pass_an_open_gate_and_no_closed_one(gate):
    """A step after `close` raises an error that ends the run here."""
    assert await gate.reply("k", answer) == "reply"
    gate.close()
    with pytest.raises(WorkerEnds):
        await gate.reply("k", answer)
    with pytest.raises(WorkerEnds):
        await gate.call("k", None, lambda begin: answer(), may_repeat=True, session=None)


async def test_a_step_that_comes_waits_for_those_under_way(gate):
    """The step beside it is not cut by the error."""
    release = asyncio.Event()

    async def hold(_):
        await release.wait()
        return "result"

    under_way = asyncio.ensure_future(gate.call("a", None, hold, may_repeat=True, session=None))
    await asyncio.sleep(0)
    gate.close()
    late = asyncio.ensure_future(gate.reply("b", answer))
    await asyncio.wait({late}, timeout=0.01)
    assert not late.done()
    release.set()
    assert await under_way == "result"
    with pytest.raises(WorkerEnds):
        await late


async def test_steps_inside_a_call_that_may_not_be_repeated_pass(gate):
    """The call comes to its end and has a result. A step beside it waits for that, and then raises."""
    inside, steps_done = asyncio.Event(), []

    async def run_sub_run(_):
        inside.set()
        await asyncio.sleep(0)

        async def run_inner_sub_run(_):
            return await gate.reply("a/call/1/reply/1", answer)

        steps_done.append(await gate.reply("a/reply/1", answer))
        steps_done.append(await gate.call("a/call/1", None, run_inner_sub_run, may_repeat=True, session=None))
        return "result"

    outer = asyncio.ensure_future(gate.call("a", None, run_sub_run, may_repeat=False, session=None))
    await inside.wait()
    gate.close()
    late = asyncio.ensure_future(gate.call("b", None, lambda begin: answer(), may_repeat=False, session=None))
    assert await asyncio.wait_for(outer, 5) == "result"
    assert steps_done == ["reply", "reply"]
    with pytest.raises(WorkerEnds):
        await late


async def test_a_step_inside_another_step_does_not_wait_for_the_outer_one(gate):
    """A call with a sub-run ends when the next step of the sub-run comes to the gate."""
    inside = asyncio.Event()

    async def run_sub_run(_):
        await gate.reply("a/reply/1", answer)
        inside.set()
        await asyncio.sleep(0)
        gate.close()
        return await gate.reply("a/reply/2", answer)

    outer = asyncio.ensure_future(gate.call("a", None, run_sub_run, may_repeat=True, session=None))
    await inside.wait()
    with pytest.raises(WorkerEnds):
        await asyncio.wait_for(outer, 5)
