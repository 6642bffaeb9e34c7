"""Agents inside durable runs: in a step of a flow, and in a tool of an agent. They are parts of the run."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import replace

import pytest

from tests.clocks import wait_until
from tests.flows.inner_kit import BillShop, approve, build_flow, build_front
from tests.flows.kit import Built, Edited, Part, Released, Task
from toolkit import Agent, Approvals, Catalog, Context, Decision, Dispatcher, Permissions, ToolCall, Transient
from toolkit.durable import DurableAgent, DurableHost
from toolkit.flows import Failed, Flow, Waiting
from toolkit.hooks import Halt, Proceed
from toolkit.providers import AssistantMessage, ScriptedProvider

pytestmark = pytest.mark.anyio


@pytest.fixture
def shop():
    return BillShop()


@pytest.fixture
def database(tmp_path):
    tmp_path.chmod(0o700)
    return f"sqlite:///{tmp_path}/runs.sqlite"


def build_outer(shop, inner, *, fails=False, **options):
    """Return an agent with one tool, in which *inner* runs."""
    catalog = Catalog()

    @catalog.tool(**options)
    async def delegate(context: Context) -> str:
        """Let another agent work."""
        shop.run_ids.append(context.run_id)
        return (await inner.run("A-7")).unwrap()

    def play(request):
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        if turn and fails:
            raise RuntimeError("a bug")
        return [[ToolCall("delegate", {}, "d")], "all done"][turn]

    return Agent(ScriptedProvider(itertools.repeat(play)), Dispatcher(catalog, permissions=Permissions("auto")))


@pytest.mark.one_case_in(2)
@pytest.mark.parametrize(
    "options", [{}, {"idempotent": True}, {"destructive": True}], ids=["plain", "idempotent", "approved"]
)
async def test_an_agent_in_a_tool_of_a_durable_agent_waits_with_its_run(shop, database, options):
    tools = []
    async with DurableAgent(build_outer(shop, shop.agent("note", "pay", mode="auto"), **options), database) as durable:
        run = await durable.run("go", id="r")
    while run.status == "waiting":
        tools += [request.tool for request in run.requests]
        # Each process has objects of its own.
        async with DurableAgent(
            build_outer(shop, shop.agent("note", "pay", mode="auto"), **options), database
        ) as durable:
            run = await durable.resume("r", approve(run))
    assert run.text == "all done"
    assert tools == [*(["delegate"] if "destructive" in options else []), "pay"]
    assert shop.paid == ["A-7", "A-7"]  # noted once, and paid once
    assert set(shop.run_ids) == {"r"}


async def test_a_waiting_run_inside_a_tool_counts_the_use_of_its_agent(shop, database):
    async with DurableAgent(build_outer(shop, shop.agent("pay")), database) as durable:
        run = await durable.run("go", id="r")
        assert run.spent.turns == 2
        run = await durable.resume("r", approve(run))
    assert (run.status, run.spent.turns) == ("done", 4)


async def test_an_agent_in_a_step_of_a_durable_flow_goes_on_in_another_process(shop, database):
    def build():
        agent = shop.agent("note", "pay", mode="auto")

        async def work(task, context):
            shop.run_ids.append(context.run_id)
            return (await agent.run(task.file)).unwrap()

        return build_flow(work)

    async with DurableHost(database) as host:
        waiting = await build().run(Task("A"), host, id="r")
        assert isinstance(waiting, Waiting)
        assert [request.tool for request in waiting.requests] == ["pay"]
    flow = build()
    async with DurableHost(database) as host:
        assert await flow.resume("r", approve(waiting), host) == Edited("done: A")
        texts = [str(event) for event in await flow.replay("r", host)]
    assert shop.paid == ["A", "A"]
    assert set(shop.run_ids) == {"r"}
    assert "inside edit: the model replied" in texts
    assert "inside edit: `pay` began" in texts


async def test_an_answer_that_is_refused_raises_an_error_and_may_be_corrected(shop, database):
    agent = shop.agent("pay")

    async def work(task, context):
        return (await agent.run(task.file)).unwrap()

    flow = build_flow(work)
    async with DurableHost(database) as host:
        waiting = await flow.run(Task("A"), host, id="r", principal="ada")
        (request,) = waiting.requests
        with pytest.raises(Exception, match="bob"):
            await flow.resume("r", {request.id: Decision.approve(principal="bob")}, host)
        assert await flow.resume("r", {request.id: Decision.approve(principal="ada")}, host) == Edited("done: A")
    assert shop.paid == ["A"]


async def test_a_request_of_an_agent_in_a_step_expires(shop, database):
    agent, now = shop.agent("pay"), [1000.0]
    agent._toolbox = agent._toolbox.with_approvals(Approvals(expires_seconds=60, clock=lambda: now[0]))
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=Approvals(clock=lambda: now[0]))

    async def work(task, context):
        return (await agent.run(task.file)).unwrap()

    flow = build_flow(work)
    waiting = await flow.run(Task("A"), dispatcher=dispatcher)
    now[0] += 61
    assert await flow.resume(waiting, {}) == Edited("done: A")
    assert shop.paid == []


async def test_a_flow_that_is_cancelled_withdraws_the_requests_of_its_agents(shop, database):
    agent = shop.agent("pay")

    async def work(task, context):
        return (await agent.run(task.file)).unwrap()

    flow = build_flow(work)
    async with DurableHost(database) as host:
        waiting = await flow.run(Task("A"), host, id="r")
        await host.cancel("r", "not needed")
        outcome = await flow.run(Task("A"), host, id="r")
        assert isinstance(outcome, Failed)
        (request,) = waiting.requests
        (runs,) = flow._durable_runs.values()
        record = runs._open_requests().approvals.store.get(request.id)
        assert (record.state, record.decided_by) == ("denied", "(withdrawn)")
        assert await host.purge(before=time.time() + 100) == 1
        assert runs._open_requests().approvals.store.get(request.id) is None
    assert shop.paid == []


async def test_a_retry_of_a_cancelled_flow_asks_again(shop, database):
    agent = shop.agent("note", "pay", mode="auto")

    async def work(task, context):
        return (await agent.run(task.file)).unwrap()

    flow = build_flow(work)
    async with DurableHost(database) as host:
        first = await flow.run(Task("A"), host, id="r")
        await host.cancel("r", "not needed")
        await host.retry("r")
        second = await flow.run(Task("A"), host, id="r")
        assert [request.tool for request in second.requests] == ["pay"]
        assert second.requests[0].id != first.requests[0].id
        assert await flow.resume("r", approve(second), host) == Edited("done: A")
    assert shop.paid == ["A", "A"]


async def test_a_flow_in_a_tool_of_a_durable_agent_waits_with_its_run(shop, database):
    def build():
        payer = shop.agent("pay")

        async def work(task, context):
            shop.run_ids.append(context.run_id)
            return (await payer.run(task.file)).unwrap()

        flow, catalog = build_flow(work), Catalog()

        @catalog.tool
        async def delegate() -> str:
            """Run a flow."""
            return str(await flow.run(Task("A")))

        def play(request):
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            return [[ToolCall("delegate", {}, "d")], "all done"][turn]

        return Agent(ScriptedProvider(itertools.repeat(play)), Dispatcher(catalog, permissions=Permissions("auto")))

    async with DurableAgent(build(), database) as durable:
        run = await durable.run("go", id="r")
    assert [request.tool for request in run.requests] == ["pay"]
    async with DurableAgent(build(), database) as durable:
        run = await durable.resume("r", approve(run))
    assert (run.text, shop.paid, set(shop.run_ids)) == ("all done", ["A"], {"r"})


async def test_a_failed_run_has_the_result_of_a_call_with_an_agent_inside(shop, database):
    """The call waited, was made again and has returned, and then the program failed."""
    agent = build_outer(shop, shop.agent("pay"), fails=True)
    async with DurableAgent(agent, database) as durable:
        run = await durable.run("go", id="r")
        with pytest.raises(RuntimeError, match="a bug"):
            await durable.resume("r", approve(run))
        failed = durable.read_run(await durable.get("r"))
    assert failed.status == "failed"
    assert failed.messages[-1].results[0].text == "done: A-7"


async def test_an_undo_with_an_agent_inside_waits_and_undoes_once(shop, database):
    payer, flow = shop.agent("pay"), Flow[Edited]("undone")

    async def refund(before: Task) -> None:
        (await payer.run(f"back {before.file}")).unwrap()

    @flow.step(check=lambda before, after: "it is bad", undo=refund)
    async def edit(task: Task) -> Edited:
        return Edited(task.file)

    async with DurableHost(database) as host:
        waiting = await flow.run(Task("A"), host, id="r")
        assert [request.tool for request in waiting.requests] == ["pay"]
        outcome = await flow.resume("r", approve(waiting), host)
    assert outcome == Failed("edit", ("it is bad",))
    assert shop.paid == ["back A"]


@pytest.mark.parametrize("failure", [Transient("lost", happened="maybe"), None], ids=["in doubt", "halted"])
async def test_a_failed_flow_lists_items_with_waiting_agents(shop, database, failure):
    """A retry does not run these agents again."""
    agent = shop.agent("note", "pay", mode="auto")

    class Hook:
        async def before(self, call):
            if failure is not None or call.name != "build" or call.arguments["part"]["number"] == 0:
                return Proceed()
            await wait_until(lambda: shop.paid)
            return Halt("enough")

    flow = Flow[Released]("items", dispatcher=Dispatcher(Catalog(), hooks=[Hook()]))

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(0), Part(1)]

    @flow.step(concurrency_safe=True)
    async def build(part: Part) -> Built:
        if part.number == 1:
            await wait_until(lambda: shop.paid)
            raise failure
        (await agent.run("A")).unwrap()
        return Built(part.number)

    @flow.step
    def pack(built: list[Built]) -> Released:
        return Released("1")

    async with DurableHost(database) as host:
        failed = await flow.run(Task(), host, id="r")
        assert "build (item 1)" in failed.left
        await host.retry("r")
        assert "a retry does not run it again" in str(await flow.run(Task(), host, id="r"))
    assert shop.paid == ["A"]


@pytest.mark.parametrize("idempotent", [True, False])
async def test_a_step_that_took_too_long_is_attempted_again_after_the_call_that_was_cut(shop, database, idempotent):
    calls, texts = [], []

    @shop.catalog.tool(idempotent=idempotent)
    async def hold(text: str) -> str:
        """Take too long for the first time."""
        calls.append(text)
        await asyncio.sleep(0 if len(calls) > 1 else 3600)
        return "held"

    agent = shop.agent("hold", mode="auto")

    async def work(task, context):
        run = await agent.run(task.file)
        texts.append(run.messages[-2].results[0].text)
        return run.unwrap()

    async with DurableHost(database) as host:
        flow = build_flow(work, idempotent=True, timeout_seconds=1.0)
        assert await flow.run(Task("A"), host, id="r") == Edited("done: A")
    assert calls == ["A"] * (1 + idempotent)
    assert ("held" if idempotent else "it was cancelled while it ran") in texts[0]


async def test_a_step_that_is_attempted_again_waits_for_the_agents_of_the_attempt_before(shop, database):
    calls, starts = [], []

    @shop.catalog.tool
    async def hold(text: str) -> str:
        """Take longer than the attempt before."""
        calls.append(text)
        await wait_until(lambda: len(starts) == 2)
        return "held"

    agent = shop.agent("hold", mode="auto")

    async def fail_once():
        await wait_until(lambda: calls)
        if len(starts) == 1:
            raise Transient("busy", happened="no")

    async def work(task, context):
        starts.append(task)
        run, _ = await asyncio.gather(agent.run(task.file), fail_once())
        return run.unwrap()

    async with DurableHost(database) as host:
        assert await build_flow(work, idempotent=True).run(Task("A"), host, id="r") == Edited("done: A")
    assert calls == ["A"]


@pytest.mark.parametrize("way", ["tool", "hand-over"])
async def test_an_agent_that_is_a_tool_or_takes_over_goes_on_in_another_process(shop, database, way):
    """Its steps are kept with those of the run, and its request waits with the run."""

    def build():
        payer = shop.agent("note", "pay", mode="auto", name="payer", description="Pays bills.")
        if way == "hand-over":
            provider = ScriptedProvider([[ToolCall("hand_over_to_payer", {}, "h")]])
            payer._options = replace(payer._options, provider=ScriptedProvider(itertools.repeat(pay_after_hand_over)))
            return Agent(provider, Dispatcher(Catalog(), permissions=Permissions("auto")), hand_over_to=[payer])

        def play(request):
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            return [[ToolCall("ask", {"prompt": "A-7"}, "d")], "done: A-7"][turn]

        tools = Catalog(payer.as_tool("ask", "Ask.", destructive=False))
        return Agent(ScriptedProvider(itertools.repeat(play)), Dispatcher(tools, permissions=Permissions("auto")))

    def pay_after_hand_over(request):
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages) - 1
        calls = [[ToolCall("note", {"text": "A-7"}, "n")], [ToolCall("pay", {"bill": "A-7"}, "p")]]
        return [*calls, "done: A-7"][turn]

    async with DurableAgent(build(), database) as durable:
        run = await durable.run("A-7", id="r")
        assert [request.tool for request in run.requests] == ["pay"]
    async with DurableAgent(build(), database) as durable:
        run = await durable.resume("r", approve(run))
    assert (run.status, run.text, run.agent) == ("done", "done: A-7", "payer" if way == "hand-over" else "")
    assert (shop.paid, set(shop.run_ids)) == (["A-7", "A-7"], {"r"})
    assert run.spent.turns == (4 if way == "hand-over" else 5)


async def test_a_conversation_handed_over_in_a_step_goes_on_in_another_process(shop, database):
    """A durable flow, whose step has an agent that hands over to one that waits for a person."""

    def build():
        front = build_front(shop)

        async def work(task, context):
            return (await front.run(task.file)).unwrap()

        return build_flow(work)

    async with DurableHost(database) as host:
        waiting = await build().run(Task("A-7"), host, id="r")
    assert [request.tool for request in waiting.requests] == ["pay"]
    async with DurableHost(database) as host:
        assert await build().resume("r", approve(waiting), host) == Edited("done: A-7")
    assert shop.paid == ["A-7"]
