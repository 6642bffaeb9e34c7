"""A durable run that has planned is carried out in the same journal."""

from __future__ import annotations

import pytest

from tests.durable.kit import DurableShop, running, wait_for_status
from toolkit.agent import Budget
from toolkit.approvals import ApprovalError
from toolkit.decisions import Decision
from toolkit.durable import DurableError
from toolkit.durable.step_gate import WorkerEnds
from toolkit.providers.messages import UserMessage
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio

PLAN = [ToolCall("exit_plan", {"plan": "Pay A, then B."}, "p")]
PAY = [[ToolCall("pay", {"bill": "A"}, "a")], [ToolCall("pay", {"bill": "B"}, "b")], "done"]


class PlanningShop(DurableShop):
    """A shop that plans first. With *crash_at*, its process is cut off before that reply."""

    def __init__(self, path, *, crash_at=0, **options):
        super().__init__(path, mode="plan", script=[PLAN, *PAY], **options)
        self.asked, self.crash_at = 0, crash_at

    def _reply(self, request):
        self.asked += 1
        if self.asked == self.crash_at:
            raise WorkerEnds("cut off")
        return super()._reply(request)


async def approve_all(durable, run):
    """Approve what the run waits for until it is over."""
    while run.status == "waiting":
        run = await durable.resume(run.id, {request.id: Decision.approve(by="ada") for request in run.requests})
    return run


async def test_a_plan_is_executed_once(tmp_path):
    """The same call again returns its outcome, also from another process, and `agent.execute` refuses the plan."""
    shop = PlanningShop(tmp_path)
    async with shop.open() as durable:
        planned = await durable.run("Pay.", id="a")
        assert (planned.status, planned.plan, shop.paid) == ("planned", "Pay A, then B.", [])
        run = await durable.execute("a")
        assert (run.status, run.requests[0].tool) == ("waiting", "pay")
        with pytest.raises(ApprovalError, match="carried out already"):
            await durable.agent.execute(planned)
        assert (await approve_all(durable, run)).text == "done"
    async with PlanningShop(tmp_path).open() as other:
        run = await other.execute("a")
        assert (run.text, run.turns) == ("done", 4)
        assert [event.kind for event in await other.events("a")].count("executed") == 1
    assert (shop.paid, shop.asked) == (["A", "B"], 4)


async def test_a_plan_is_executed_in_the_mode_of_the_order(tmp_path):
    """The prompt of the order comes before the calls."""
    shop = PlanningShop(tmp_path)
    async with shop.open() as durable:
        await durable.run("Pay.", id="a")
        run = await durable.execute("a", "Go.", mode="auto")
    assert (run.text, shop.paid) == ("done", ["A", "B"])
    assert [message.text for message in run.messages if isinstance(message, UserMessage)] == ["Pay.", "Go."]


@pytest.mark.parametrize("crash_at", [2, 3, 4])
async def test_a_crash_during_the_execution_of_a_plan_repeats_no_step(tmp_path, crash_at):
    """A worker goes on with the plan. Recorded calls and replies are not repeated."""
    shop = PlanningShop(tmp_path, crash_at=crash_at)
    async with shop.open() as durable, running(durable.work()):
        await durable.run("Pay.", id="a")
        await durable.execute("a", mode="auto")
        row = await wait_for_status(durable.host, "a", "done", "failed")
        assert (durable.read_run(row).text, row.epoch) == ("done", 3)
    assert (shop.paid, shop.asked) == (["A", "B"], 5)


async def test_only_a_planned_run_is_executed(tmp_path):
    """The errors say what is wrong."""
    shop = PlanningShop(tmp_path)
    async with shop.open() as durable:
        with pytest.raises(DurableError, match="there is no run 'a'"):
            await durable.execute("a")
        await durable.run("Pay.", id="a")
        with pytest.raises(ValueError, match='cannot be executed in mode "plan"'):
            await durable.execute("a", mode="plan")
        with pytest.raises(DurableError, match="is planned; execute it, or start"):
            await durable.retry("a")
        await durable.execute("a", mode="auto")
        with pytest.raises(DurableError, match="another prompt or in another mode") as raised:
            await durable.execute("a", mode="default")
        assert raised.value.why == "changed"
        await durable.agent.execute(await durable.run("Pay.", id="b"), mode="auto")
        with pytest.raises(ApprovalError, match="by `agent.execute`"):
            await durable.execute("b")
    async with DurableShop(tmp_path, script=["done"]).open() as durable:
        await durable.run("Look.", id="c")
        with pytest.raises(DurableError, match="the run 'c' is done; only one that has planned") as raised:
            await durable.execute("c")
        assert raised.value.why == "over"


async def test_a_cancelled_execution_is_retried(tmp_path):
    """The plan is not made again."""
    shop = PlanningShop(tmp_path)
    async with shop.open() as durable:
        await durable.run("Pay.", id="a")
        await durable.execute("a")
        await durable.cancel("a")
        await durable.retry("a")
        run = await durable.execute("a")
        assert (run.status, run.requests[0].tool) == ("waiting", "pay")
        assert (await approve_all(durable, run)).text == "done"
    assert (shop.paid, shop.asked) == (["A", "B"], 4)


async def test_the_budget_counts_over_plan_and_execution(tmp_path):
    """The end of the planning does not reset it."""
    shop = PlanningShop(tmp_path, budget=Budget(calls=2))
    async with shop.open() as durable:
        await durable.run("Pay.", id="a")
        run = await durable.execute("a", mode="auto")
    assert (run.status, run.stop, shop.paid) == ("stopped", "calls", ["A"])
