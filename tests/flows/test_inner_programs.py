"""What the code of a step may do around its agents: tools with agents, flows, exceptions, sync calls, streams and tasks."""

from __future__ import annotations

import asyncio

import pytest

from tests.flows.inner_kit import approve, build_flow
from tests.flows.kit import Edited, Plan, Released, Task
from toolkit import Catalog
from toolkit.flows import Failed, Flow, Waiting

pytestmark = pytest.mark.anyio


async def test_an_agent_in_a_tool_of_an_agent_in_a_step_waits_with_the_flow(shop):
    payer = shop.agent("pay")
    outer = Catalog()

    @outer.tool
    async def note(text: str) -> str:
        """Let another agent pay."""
        shop.paid.append("outer")
        return (await payer.run(text)).unwrap()

    shop.catalog = outer
    agent = shop.agent("note", mode="auto")

    async def work(task, context):
        return (await agent.run(task.file)).unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    assert [request.tool for request in waiting.requests] == ["pay"]
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A")
    assert shop.paid == ["outer", "outer", "A"]  # the function of the tool runs again, and its agent does not


async def test_a_flow_in_a_step_waits_together_with_the_outer_flow(shop):
    agent, inner = shop.agent("pay"), Flow[Released]("part")

    @inner.step
    async def prepare(plan: Plan) -> Edited:
        shop.paid.append("prepared")
        return Edited((await agent.run(plan.files[0])).unwrap())

    @inner.step(destructive=True)
    def publish(edited: Edited) -> Released:
        shop.paid.append("published")
        return Released("1")

    async def work(task, context):
        outcome = await inner.run(Plan([task.file]))
        return str(outcome)

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    tools = []
    while isinstance(waiting, Waiting):
        tools.append([request.tool for request in waiting.requests])
        waiting = await flow.resume(waiting, approve(waiting))
    assert waiting == Edited("Released(version='1')")
    assert tools == [["pay"], ["publish"]]
    assert shop.paid == ["prepared", "prepared", "A", "published"]


@pytest.mark.parametrize("catches", [True, False])
async def test_a_step_that_catches_exceptions_still_waits(shop, catches):
    agent = shop.agent("pay")

    async def work(task, context):
        try:
            results = await asyncio.gather(agent.run(task.file), return_exceptions=catches)
            return results[0].unwrap()
        except Exception as error:  # noqa: BLE001 -- as careless steps do
            return str(error)

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    assert [request.tool for request in waiting.requests] == ["pay"]
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A")


async def test_a_step_that_catches_the_pause_starts_no_further_agent(shop):
    payer, writer = shop.agent("pay"), shop.agent("note", mode="auto")

    async def work(task, context):
        (result,) = await asyncio.gather(payer.run(task.file), return_exceptions=True)
        return (await writer.run(f"sum up {getattr(result, 'text', result)}")).unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    assert ([request.tool for request in waiting.requests], shop.paid) == (["pay"], [])
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: sum up done: A")
    assert shop.paid == ["A", "sum up done: A"]


async def test_a_sync_step_runs_its_agent_with_run_sync(shop):
    agent, flow = shop.agent("pay"), Flow[Edited]("sync")

    @flow.step
    def edit(task: Task) -> Edited:
        return Edited(agent.run_sync(task.file).unwrap())

    waiting = await flow.run(Task("A"))
    assert [request.tool for request in waiting.requests] == ["pay"]
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A")
    assert shop.paid == ["A"]


async def test_another_event_loop_in_a_step_is_refused(shop):
    agent, flow = shop.agent("pay"), Flow[Edited]("sync")

    @flow.step
    def edit(task: Task) -> Edited:
        return Edited(asyncio.run(agent.run(task.file)).unwrap())

    outcome = await flow.run(Task("A"))
    assert isinstance(outcome, Failed)
    assert "run_sync" in str(outcome)


async def test_a_sync_method_in_an_async_step_is_refused(shop):
    agent = shop.agent("pay")

    async def work(task, context):
        return agent.run_sync(task.file).unwrap()

    outcome = await build_flow(work).run(Task("A"))
    assert isinstance(outcome, Failed)
    assert "await the method without `_sync`" in str(outcome)


async def test_a_conversation_that_is_continued_in_a_step_is_another_run(shop):
    agent = shop.agent("pay")

    async def work(task, context):
        run = await agent.run(task.file)
        run = await agent.run("more", run=run)
        return run.unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: more")
    assert shop.paid == ["A"]


async def test_events_are_streamed_and_a_step_waits(shop):
    agent = shop.agent("pay")

    async def work(task, context):
        events = [event async for event in agent.stream(task.file)]
        return events[-1].run.unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    assert [request.tool for request in waiting.requests] == ["pay"]
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A")


async def test_an_agent_that_a_step_leaves_behind_ends_with_the_step(shop):
    ended = []
    catalog = Catalog()

    @catalog.tool
    async def note(text: str) -> str:
        """Wait for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(text)

    shop.catalog = catalog
    agent = shop.agent("note", mode="auto")
    tasks = []

    async def work(task, context):
        tasks.append(asyncio.create_task(agent.run(task.file)))
        await asyncio.sleep(0.01)
        return "left"

    assert await build_flow(work).run(Task("A")) == Edited("left")
    assert ended == ["A"]
    assert tasks[0].cancelled()
