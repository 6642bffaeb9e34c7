"""A run that is over has no open request, and a retry asks again."""

from __future__ import annotations

import time

import pytest

from tests.durable.kit import DurableShop, approve, running, wait_until
from toolkit.agent import sub_run
from toolkit.approvals import ApprovalError, SQLiteApprovals
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.durable import DurableHost
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio


def open_store(shop):
    """Return the store of approvals beside the runs."""
    return SQLiteApprovals(f"{shop.path}/runs.sqlite.approvals.sqlite")


def build_parallel_shop(path):
    """Return a shop whose calls ask together."""
    calls = [ToolCall("send", {"bill": "A"}, "a"), ToolCall("send", {"bill": "B"}, "b")]
    shop = DurableShop(path, script=[calls, "done"])

    @shop.catalog.tool(read_only=True, approval="always")
    def send(bill: str) -> str:
        """Look at a bill, which counts as paying here."""
        shop.paid.append(bill)
        return f"{bill} is paid"

    return shop


async def test_a_cancelled_run_has_no_open_request(tmp_path):
    """A person who approves it by hand after that hears that it is too late."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        (request,) = (await durable.run("Pay.", id="a")).requests
        (other,) = (await durable.run("Pay.", id="b")).requests
        await durable.cancel("a")
        with pytest.raises(ApprovalError, match="was denied"):
            await durable.agent._toolbox.dispatcher.resume(request.id, Decision.approve())
    assert [open_request.id for open_request in open_store(shop).pending()] == [other.id]
    assert shop.paid == []


async def test_a_run_whose_deadline_has_passed_has_no_open_request(tmp_path):
    """The worker that stops the run withdraws them."""
    shop, now = DurableShop(tmp_path), time.time()
    async with shop.open(clock=lambda: now) as durable:
        await durable.run("Pay.", id="a", deadline_seconds=5)
        now += 10
        assert (await durable.run("Pay.", id="a")).stop == "seconds"
    assert open_store(shop).pending() == []


async def test_a_run_that_was_cut_off_too_often_has_no_open_request(tmp_path):
    """A request that a person has answered stays, because a retry goes on with the answer."""
    shop = build_parallel_shop(tmp_path)
    async with shop.open(max_lives=1) as durable:
        first, second = (await durable.run("Pay.", id="a")).requests
        await durable.decide("a", {first.id: Decision.approve(by="ada")})
        durable.host._journal.activate("a", worker="dead", now=1.0, max_lives=9)
        assert (await durable.run("Pay.", id="a")).status == "failed"
        assert [request.id for request in open_store(shop).pending()] == [first.id]
        await durable.retry("a")
        run = await durable.run("Pay.", id="a")
        assert (run.status, shop.paid, len(run.requests)) == ("waiting", ["A"], 1)
        assert run.requests[0].id != second.id
        assert (await durable.resume("a", approve(run))).text == "done"
    assert shop.paid == ["A", "B"]


async def test_a_retry_of_a_cancelled_run_asks_again(tmp_path):
    """An answer that was given before the cancellation does not count, and each call runs once."""
    shop = build_parallel_shop(tmp_path)
    async with shop.open() as durable:
        before = await durable.run("Pay.", id="a")
        await durable.decide("a", approve(before))
        await durable.cancel("a")
        await durable.retry("a")
        run = await durable.run("Pay.", id="a")
        assert (run.status, shop.paid) == ("waiting", [])
        assert not {request.id for request in run.requests} & {request.id for request in before.requests}
        assert [request.arguments for request in run.requests] == [request.arguments for request in before.requests]
        assert (await durable.resume("a", approve(run))).text == "done"
    assert shop.paid == ["A", "B"]
    assert open_store(shop).pending() == []


async def test_a_run_is_cancelled_and_retried_any_number_of_times(tmp_path):
    """Each time there is one open request, and the call after it is held back."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        request_ids = set()
        for _ in range(3):
            run = await durable.run("Pay.", id="a")
            assert {request.id for request in open_store(shop).pending()} == {request.id for request in run.requests}
            request_ids |= {request.id for request in run.requests}
            await durable.cancel("a")
            await durable.retry("a")
        while (run := await durable.run("Pay.", id="a")).status == "waiting":
            await durable.resume("a", approve(run))
        assert (run.text, len(request_ids)) == ("done", 3)
    assert shop.paid == ["A", "B"]


class DelegatingShop(DurableShop):
    """A shop that pays in a sub-run."""

    def _reply(self, request):
        if "Pay one." not in str(request.messages[0]):
            return super()._reply(request)
        return [ToolCall("pay", {"bill": "C"}, "c")] if len(request.messages) == 1 else "paid"


async def test_a_request_in_a_sub_run_is_asked_again(tmp_path):
    """The request of the call inside is withdrawn, and made again."""
    shop = DelegatingShop(tmp_path, script=[[ToolCall("delegate", {}, "d")], "done"])

    @shop.catalog.tool(read_only=True)
    async def delegate(context: Context) -> str:
        """Let another one pay."""
        return await sub_run("Pay one.", context=context, tools=["pay"])

    async with shop.open() as durable:
        await durable.run("Delegate.", id="a")
        await durable.cancel("a")
        assert open_store(shop).pending() == []
        await durable.retry("a")
        run = await durable.run("Delegate.", id="a")
        assert [request.tool for request in run.requests] == ["pay"]
        assert (await durable.resume("a", approve(run))).text == "done"
    assert shop.paid == ["C"]


async def test_a_worker_withdraws_the_requests_of_a_run_that_another_host_cancelled(tmp_path):
    """`toolkit runs cancel` knows no agent and no store."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        await durable.run("Pay.", id="a")
        async with DurableHost(durable.host.database, engine=lambda: shop.engine) as other:
            await other.cancel("a")
        assert len(open_store(shop).pending()) == 1
        async with running(durable.work()):
            await wait_until(lambda: open_store(shop).pending() == [])


async def test_a_request_that_is_made_after_the_cancellation_is_withdrawn(tmp_path):
    """The process that works on the run learns of the cancellation with its next record."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        store = durable._store
        add = store.add_call

        def cancel_and_add(record, *args, **options):
            result = add(record, *args, **options)
            durable.host._journal.cancel("a", "", now=time.time())
            return result

        store.add_call = cancel_and_add
        run = await durable.run("Pay.", id="a")
        assert (run.stop, open_store(shop).pending()) == ("cancelled", [])


async def test_a_store_that_is_away_leaves_the_withdrawal_to_a_worker(tmp_path, caplog):
    """The run is cancelled all the same."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        await durable.run("Pay.", id="a")
        store = durable._store
        pending = store.pending

        def fail(**options):
            raise ApprovalError("the disk is full", why="store")

        store.pending = fail
        assert (await durable.cancel("a")).status == "cancelled"
        assert "could not be withdrawn: the disk is full" in caplog.text
        store.pending = pending
        async with running(durable.work()):
            await wait_until(lambda: open_store(shop).pending() == [])


async def test_purging_runs_deletes_their_requests(tmp_path):
    """Requests of other runs stay."""
    shop = DurableShop(tmp_path)
    async with shop.open() as durable:
        run = await durable.run("Pay.", id="a")
        last = await durable.resume("a", approve(run))
        await durable.resume("a", approve(last))
        other = await durable.run("Pay.", id="b")
        ids = [request.id for request in (*run.requests, *last.requests, *other.requests)]
        assert await durable.purge(before=time.time() + 1) == 1
        assert [durable._store.get(request_id) is None for request_id in ids] == [True, True, False]
