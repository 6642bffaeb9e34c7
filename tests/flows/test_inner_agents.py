"""Agents inside the steps of a flow wait, ask and go on with it: they are parts of its run."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.flows.inner_kit import approve, build_flow, build_front
from tests.flows.kit import Built, Edited, Part, Released, Task, run_with
from tests.steps.crashing_steps import CrashingSteps, Disk, Killed, Process
from toolkit import Catalog, Decision, Dispatcher, Inject, Permissions, Transient
from toolkit.flows import Flow, Problems, Waiting
from toolkit.flows.visits import Paused

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "options", [{}, {"idempotent": True}, {"timeout_seconds": 30}], ids=["plain", "idempotent", "limit"]
)
async def test_an_agent_in_a_step_waits_with_its_flow_and_goes_on(shop, options):
    agent = shop.agent("note", "pay", mode="auto")
    texts = []

    async def work(task, context):
        run = await agent.run(task.file)
        texts.append(run.text)
        return run.text

    flow = build_flow(work, **options)
    waiting = await flow.run(Task("A-7"))
    assert isinstance(waiting, Waiting)
    assert ([request.tool for request in waiting.requests], shop.paid, texts) == (["pay"], ["A-7"], [])
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A-7")
    assert (shop.paid, texts) == (["A-7", "A-7"], ["done: A-7"])
    assert shop.run_ids == [None]  # the run is not durable


async def test_an_answer_that_denies_reaches_the_agent(shop):
    agent = shop.agent("pay")

    async def work(task, context):
        return (await agent.run(task.file)).unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A-7"))
    denied = {request.id: Decision.deny("too dear") for request in waiting.requests}
    assert await flow.resume(waiting, denied) == Edited("done: A-7")
    assert shop.paid == []


async def test_a_destructive_step_is_approved_once_and_then_its_agent_asks(shop):
    agent = shop.agent("pay", "pay")

    async def work(task, context):
        return (await agent.run(task.file)).unwrap()

    flow = build_flow(work, destructive=True)
    waiting = await flow.run(Task("A-7"))
    tools = []
    while isinstance(waiting, Waiting):
        tools.append([request.tool for request in waiting.requests])
        waiting = await flow.resume(waiting, approve(waiting))
    assert (waiting, tools, shop.paid) == (Edited("done: A-7"), [["edit"], ["pay"], ["pay"]], ["A-7", "A-7"])


async def test_a_step_with_a_question_and_an_agent_repeats_no_effect(shop):
    agent = shop.agent("note", mode="auto")
    payer = shop.agent("pay")

    async def work(task, context):
        first = (await agent.run(task.file)).unwrap()
        size = await context.ask("size", "Which size?")
        return f"{first} {size} {(await payer.run(task.file + size)).unwrap()}"

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    (request,) = waiting.requests
    waiting = await flow.resume(waiting, {request.id: Decision.approve(answers={"size": "M"})})
    assert [request.tool for request in waiting.requests] == ["pay"]
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A M done: AM")
    assert shop.paid == ["A", "AM"]


async def test_agents_one_after_the_other_with_the_same_prompt_are_two_runs(shop):
    agent = shop.agent("pay")

    async def work(task, context):
        return " ".join([(await agent.run(task.file)).unwrap() for _ in range(2)])

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    waiting = await flow.resume(waiting, approve(waiting))
    assert (len(waiting.requests), shop.paid) == (1, ["A"])
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A done: A")
    assert shop.paid == ["A", "A"]


@pytest.mark.parametrize("is_group", [False, True], ids=["gather", "task group"])
async def test_agents_at_the_same_time_ask_together(shop, is_group):
    agent = shop.agent("note", "pay", mode="auto")

    async def work(task, context):
        if not is_group:
            runs = await asyncio.gather(*(agent.run(f"{task.file}{number}") for number in range(3)))
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(agent.run(f"{task.file}{number}")) for number in range(3)]
            runs = [task.result() for task in tasks]
        return " ".join(run.unwrap() for run in runs)

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    assert len(waiting.requests) == 3
    first, *others = waiting.requests
    waiting = await flow.resume(waiting, {first.id: Decision.approve()})
    assert [request.id for request in waiting.requests] == [request.id for request in others]
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A0 done: A1 done: A2")
    assert sorted(shop.paid) == ["A0", "A0", "A1", "A1", "A2", "A2"]


async def test_requests_of_agents_at_the_same_time_come_in_the_order_of_the_agents(shop):
    slow, quick = shop.agent(*["note"] * 5, "pay", mode="auto"), shop.agent("pay")

    async def work(task, context):
        await asyncio.gather(slow.run("A"), quick.run("B"))

    waiting = await build_flow(work).run(Task())
    assert [request.arguments["bill"] for request in waiting.requests] == ["A", "B"]


async def test_simultaneous_agents_are_distinguished_by_their_prompts_in_any_order(shop):
    agent = shop.agent("pay")
    orders = iter([[0, 1], [1, 0], [1, 0]])

    async def work(task, context):
        order = next(orders)
        runs = await asyncio.gather(*(agent.run(f"{task.file}{number}") for number in order))
        return " ".join(sorted(run.unwrap() for run in runs))

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    waiting = await flow.resume(waiting, {waiting.requests[0].id: Decision.approve()})
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A0 done: A1")
    assert sorted(shop.paid) == ["A0", "A1"]


async def test_a_prompt_that_changes_while_the_step_waits_is_refused(shop):
    agent, numbers = shop.agent("note", "pay", mode="auto"), itertools.count()

    async def work(task, context):
        return (await agent.run(f"{task.file} at {next(numbers)}")).unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    with pytest.raises(Exception, match="asks an agent something else than an agent was asked before") as raised:
        await flow.resume(waiting, approve(waiting))
    assert "random" in str(raised.value)
    assert shop.paid == ["A at 0"]


async def test_a_step_that_is_retried_does_not_repeat_its_agent(shop):
    agent, failures = shop.agent("note", mode="auto"), iter([True, False])

    async def work(task, context):
        run = await agent.run(task.file)
        if next(failures):
            raise Transient("busy", happened="no")
        return run.unwrap()

    async def sleep(seconds):
        return None

    flow = build_flow(work, idempotent=True)
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), sleep=sleep)
    assert await flow.run(Task("A"), dispatcher=dispatcher) == Edited("done: A")
    assert shop.paid == ["A"]


async def test_a_new_attempt_begins_a_new_run_of_its_agent(shop):
    agent = shop.agent("note", mode="auto")
    flow = Flow[Edited]("attempts")

    @flow.step(
        attempts=2, check=lambda before, after: None if "again" in after.text else "not good", undo=lambda before: None
    )
    async def edit(task: Task, problems: Inject[Problems]) -> Edited:
        return Edited((await agent.run("again" if problems else task.file)).unwrap())

    assert await flow.run(Task("A")) == Edited("done: again")
    assert shop.paid == ["A", "again"]


async def test_each_item_of_a_list_has_separate_agent_runs(shop):
    agent = shop.agent("pay")
    flow = Flow[Released]("items")

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(number) for number in range(3)]

    @flow.step(concurrency_safe=True)
    async def build(part: Part) -> Built:
        await agent.run("the same prompt")
        return Built(part.number)

    @flow.step
    def pack(built: list[Built]) -> Released:
        return Released(str([part.number for part in built]))

    waiting = await flow.run(Task())
    assert len(waiting.requests) == 3
    assert await flow.resume(waiting, approve(waiting)) == Released("[0, 1, 2]")
    assert shop.paid == ["the same prompt"] * 3


async def test_replay_describes_the_actions_of_agents(shop):
    agent = shop.agent("pay")

    async def work(task, context):
        return (await agent.run(task.file)).unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A"))
    texts = [str(event) for event in await flow.replay(waiting)]
    assert texts == [
        "inside edit: an agent was started",
        "inside edit: `pay` waits for an answer: `pay` cannot be undone, and mode `default` asks first",
        "inside edit: an agent is waiting",
        "edit waits for an answer: `pay` cannot be undone, and mode `default` asks first",
    ]
    await flow.resume(waiting, approve(waiting))
    texts = [str(event) for event in await flow.replay(waiting)]
    assert texts[-3:] == [
        "inside edit: `pay` returned",
        "inside edit: an agent is done",
        "edit returned Edited (0 tokens in 1 turn)",
    ]


@pytest.mark.long
async def test_a_flow_that_is_killed_at_each_point_repeats_no_effect(shop):
    """An idempotent step has two agents, one of which waits for a person. Each process dies at another point."""
    agent = shop.agent("note", "pay", mode="auto")

    async def work(task, context):
        first = await agent.run(task.file)
        second = await agent.run(f"{task.file}2")
        return f"{first.unwrap()} {second.unwrap()}"

    for kill_at in range(1, 60):
        shop.paid.clear()
        flow, disk, decisions, deaths = build_flow(work, idempotent=True), Disk(), {}, 0
        dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"))
        outcome = None
        while outcome is None or isinstance(outcome, Paused):
            steps = CrashingSteps(Process([kill_at] if deaths < 3 else []), disk)
            try:
                outcome = await run_with(flow, Task("A"), steps, decisions=decisions, dispatcher=dispatcher)
            except Killed:
                deaths += 1
                continue
            if isinstance(outcome, Paused):
                decisions = {request.id: Decision.approve() for request in outcome.requests}
        counts = {bill: shop.paid.count(bill) for bill in shop.paid}
        maybes = sum("may or may not" in text for text in disk.records.values())
        assert all(count <= 2 for count in counts.values()), (kill_at, counts)
        assert maybes or counts == {"A": 2, "A2": 2}, (kill_at, counts)


async def test_an_agent_in_a_step_hands_over_to_one_that_waits_with_the_flow(shop):
    """The second agent goes on after the answer, and the conversation is not handed over twice."""
    front = build_front(shop)
    agents = []

    async def work(task, context):
        run = await front.run(task.file)
        agents.append(run.agent)
        return run.unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A-7"))
    assert [request.tool for request in waiting.requests] == ["pay"]
    assert await flow.resume(waiting, approve(waiting)) == Edited("done: A-7")
    assert (shop.paid, agents) == (["A-7"], ["billing"])
