"""
A store of approvals that hangs: no call waits for it beyond its limit, and no effect is lost.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time

import pytest

from tests.clocks import until
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio

SOON = 0.8
LATE = 60.0
LIMITS = pytest.mark.parametrize(
    ("timeout_seconds", "store_seconds"), [(SOON, LATE), (None, SOON)], ids=["the call's limit", "the store's limit"]
)


class HangingStore(MemoryApprovals):
    """A store that blocks, and hangs in the methods that are named in `hangs_in` until it is released."""

    blocking = True

    def __init__(self, release):
        super().__init__()
        self.hangs_in, self.entered, self._release = set(), [], release

    def _hang(self, name):
        if name in self.hangs_in:
            self.entered.append(name)
            self._release.wait(30)

    def add(self, record):
        self._hang("add")
        super().add(record)

    def add_call(self, *args, **options):
        self._hang("add_call")
        return super().add_call(*args, **options)

    def get(self, request_id):
        self._hang("get")
        return super().get(request_id)

    def settle(self, *args, **options):
        self._hang("settle")
        return super().settle(*args, **options)

    def finish(self, *args, **options):
        self._hang("finish")
        return super().finish(*args, **options)

    def state(self, request_id):
        """Return how far the request has come, without hanging."""
        return super().get(request_id).state


class Mill:
    """A dispatcher whose tool asks, and a store that can hang."""

    def __init__(self, release, *, store=None, store_seconds=LATE, cleanup_seconds=SOON, **options):
        self.ran, self.catalog = [], Catalog()

        @self.catalog.tool(destructive=True)
        async def cut(wood: str) -> str:
            """Cut."""
            self.ran.append(wood)
            return f"cut {wood}"

        self.store = HangingStore(release) if store is None else store
        self.approvals = Approvals(self.store, store_seconds=store_seconds, **options)
        self.dispatcher = Dispatcher(
            self.catalog, permissions=Permissions(), approvals=self.approvals, cleanup_seconds=cleanup_seconds
        )

    async def call(self, **options):
        return await asyncio.wait_for(self.dispatcher.call("cut", {"wood": "oak"}, **options), 10)

    async def ask(self):
        """Return the request of a call, made while the store works."""
        return (await self.call()).request

    async def resume(self, request, decision=None, **options):
        decision = Decision.approve() if decision is None else decision
        return await asyncio.wait_for(self.dispatcher.resume(request.id, decision, **options), 10)


@pytest.fixture
def release():
    """Lets stores that hang go on; set at the end, so that no thread outlives its test."""
    event = threading.Event()
    yield event
    event.set()


@LIMITS
async def test_a_request_that_cannot_be_kept_in_time_times_out_and_is_withdrawn(
    release, timeout_seconds, store_seconds
):
    """The result names the operation; a request that arrives later is closed, because no caller knows it."""
    mill = Mill(release, store_seconds=store_seconds)
    mill.store.hangs_in = {"add"}
    result = await mill.call(timeout_seconds=timeout_seconds)
    assert (result.kind, result.attempts, mill.ran) == ("timeout", 0, [])
    assert "HangingStore was to keep request" in result.text
    assert result.error.details["happened"] == "no"
    release.set()
    await until(lambda: mill.store._records)
    (name,) = mill.store._records
    await until(lambda: mill.store.state(name) == "denied")
    mill.dispatcher.close()


async def test_call_sync_is_not_held_up_either(release):
    """The limit of the call holds in code without an event loop too."""
    mill = Mill(release)
    mill.store.hangs_in = {"add"}
    result = await asyncio.to_thread(mill.dispatcher.call_sync, "cut", {"wood": "oak"}, timeout_seconds=SOON)
    assert (result.kind, mill.ran) == ("timeout", [])
    mill.dispatcher.close()


@LIMITS
@pytest.mark.parametrize(
    ("hangs_in", "decision", "operation"),
    [
        ("get", Decision.approve(), "find request"),
        ("settle", Decision.approve(), "claim request"),
        ("settle", Decision.deny(), "deny request"),
    ],
    ids=["lookup", "claim", "deny"],
)
async def test_an_answer_that_the_store_does_not_accept_in_time_is_an_error_with_the_operation(
    release, timeout_seconds, store_seconds, hangs_in, decision, operation
):
    """The call does not run, not even if the store accepts the answer later."""
    mill = Mill(release, store_seconds=store_seconds)
    request = await mill.ask()
    mill.store.hangs_in = {hangs_in}
    with pytest.raises(ApprovalError, match=f"was to {operation}") as caught:
        await mill.resume(request, decision, timeout_seconds=timeout_seconds)
    assert caught.value.why == "store"
    assert isinstance(caught.value, TimeoutError)
    release.set()
    await until(lambda: mill.dispatcher.abandoned_threads == 0)
    assert mill.ran == []
    mill.dispatcher.close()


async def test_a_claim_that_comes_too_late_is_closed_as_never_started(release):
    """Otherwise the next answer would hear that the call still runs."""
    mill = Mill(release)
    request = await mill.ask()
    mill.store.hangs_in = {"settle"}
    with pytest.raises(ApprovalError):
        await mill.resume(request, timeout_seconds=SOON)
    release.set()
    await until(lambda: mill.store.state(request.id) == "done")
    outcome = mill.store.get(request.id).outcome
    assert (outcome["kind"], outcome["error"]["details"]) == ("cancelled", {"happened": "no"})
    assert "before it started" in outcome["text"]
    assert mill.ran == []
    mill.dispatcher.close()


@LIMITS
async def test_a_result_whose_outcome_cannot_be_kept_in_time_comes_back_with_a_remark(
    release, timeout_seconds, store_seconds, caplog
):
    """The effect has happened: the caller is told, the log says so, and the outcome is kept when the store answers."""
    mill = Mill(release, store_seconds=store_seconds)
    request = await mill.ask()
    mill.store.hangs_in = {"finish"}
    result = await mill.resume(request, timeout_seconds=timeout_seconds)
    assert (result.kind, result.text, mill.ran) == ("ok", "cut oak", ["oak"])
    assert "was to keep the outcome of request" in result.metadata["not_recorded"]
    assert "could not be kept" in caplog.text
    assert list(mill.approvals.lost) == [request.id]
    release.set()
    await until(lambda: mill.store.state(request.id) == "done" and not mill.approvals.lost)
    assert mill.store.get(request.id).outcome["text"] == "cut oak"
    mill.dispatcher.close()


async def test_a_result_whose_outcome_the_store_refuses_has_the_same_remark(release):
    """Whether a store raises or hangs makes no difference to the caller."""

    class Full(MemoryApprovals):
        def finish(self, *args, **options):
            raise ApprovalError("the disk is full", why="store")

    mill = Mill(release, store=Full())
    result = await mill.resume(await mill.ask())
    assert (result.text, "the disk is full" in result.metadata["not_recorded"]) == ("cut oak", True)
    mill.dispatcher.close()


async def test_the_outcome_of_a_call_without_time_left_is_kept(release):
    """A thread writes it, because no time is left to wait."""
    mill = Mill(release, cleanup_seconds=0)

    @mill.catalog.tool(destructive=True)
    async def sleep() -> None:
        """Sleep."""
        await asyncio.get_running_loop().create_future()

    request = (await mill.dispatcher.call("sleep")).request
    assert (await mill.resume(request, timeout_seconds=SOON)).kind == "timeout"
    await until(lambda: mill.store.state(request.id) == "done")
    assert mill.store.get(request.id).outcome["kind"] == "timeout"
    mill.dispatcher.close()


async def cancel(work, is_stuck):
    """Cancel *work*, twice, once *is_stuck*; return how many seconds it took to end."""
    task = asyncio.ensure_future(work)
    await until(is_stuck)
    started = time.monotonic()
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    done, _ = await asyncio.wait({task}, timeout=10)
    assert done
    assert task.cancelled()
    return time.monotonic() - started


@pytest.mark.parametrize("hangs_in", ["get", "settle", "finish"])
async def test_a_resume_that_waits_for_its_store_can_be_cancelled(release, hangs_in):
    """The caller is free after `cleanup_seconds`, although neither the call nor the store sets a closer limit."""
    mill = Mill(release)
    request = await mill.ask()
    mill.store.hangs_in = {hangs_in}
    work = mill.dispatcher.resume(request.id, Decision.approve())
    assert await cancel(work, lambda: mill.store.entered) < 5
    assert (request.id in mill.approvals.lost) == (hangs_in == "finish")
    release.set()
    await until(lambda: mill.dispatcher.abandoned_threads == 0)
    states = {"get": "pending", "settle": "done", "finish": "done"}
    assert (mill.store.state(request.id), mill.ran) == (states[hangs_in], ["oak"] if hangs_in == "finish" else [])
    mill.dispatcher.close()


async def test_a_cancelled_call_waits_for_its_store_no_longer_than_its_cleanup_may_take(release):
    """After that a thread writes its record."""
    mill = Mill(release)

    @mill.catalog.tool(destructive=True)
    async def sleep() -> None:
        """Sleep."""
        mill.ran.append("asleep")
        await asyncio.get_running_loop().create_future()

    request = (await mill.dispatcher.call("sleep")).request
    mill.store.hangs_in = {"finish"}
    assert await cancel(mill.dispatcher.resume(request.id, Decision.approve()), lambda: mill.ran) < 5
    release.set()
    await until(lambda: mill.store.state(request.id) == "done")
    assert mill.store.get(request.id).outcome["error"]["details"] == {"happened": "maybe"}
    mill.dispatcher.close()


async def test_a_call_that_waits_for_its_store_can_be_cancelled(release):
    """Its request is withdrawn once the store answers."""
    mill = Mill(release)
    mill.store.hangs_in = {"add"}
    assert await cancel(mill.dispatcher.call("cut", {"wood": "oak"}), lambda: mill.store.entered) < 5
    release.set()
    await until(lambda: [packed.fields.state for packed in list(mill.store._records.values())] == ["denied"])
    mill.dispatcher.close()


@pytest.mark.parametrize("is_step", [True, False])
async def test_a_cancelled_call_withdraws_no_request_of_another_call(release, is_step):
    """It may be the same step in a process that has taken over, or a caller with the same id."""
    mill, call, other_threads = Mill(release), ToolCall("cut", {"wood": "oak"}, "c"), set(threading.enumerate())
    call.request_id, call.claim_mark = "step", "mark.1" if is_step else ""
    mill.store.hangs_in = {"add_call"}
    assert await cancel(mill.dispatcher.call(call), lambda: mill.store.entered) < 5
    mill.store.hangs_in = set()
    if not is_step:
        assert (await mill.dispatcher.call(call)).request.id == "step"
    release.set()
    mill.dispatcher.close()
    for thread in set(threading.enumerate()) - other_threads:
        thread.join(10)
    assert mill.store.state("step") == "pending"


async def test_a_call_that_is_approved_at_once_does_not_wait_for_a_store_that_hangs(release):
    """It does not wait for the claim, and not for the withdrawal of the request."""
    mill = Mill(release, ask=lambda request: True, cleanup_seconds=LATE)
    mill.store.hangs_in = {"settle"}
    result = await mill.call(timeout_seconds=SOON)
    assert (result.kind, mill.ran) == ("timeout", [])
    assert "was to claim request" in result.text
    release.set()
    await until(lambda: all(packed.fields.state in ("denied", "done") for packed in list(mill.store._records.values())))
    mill.dispatcher.close()


async def test_a_locked_database_does_not_stall_a_call_or_the_event_loop(tmp_path, release):
    """Another program holds the file, and a call that is cancelled or out of time does not wait for it in the loop."""
    store = SQLiteApprovals(tmp_path / "work.approvals.sqlite", timeout_seconds=2.0)
    mill = Mill(release, store=store)
    request = await mill.ask()
    lags = []

    async def measure():
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            lags.append(time.monotonic() - before)

    measuring = asyncio.ensure_future(measure())
    holder = sqlite3.connect(store.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(ApprovalError, match="was to find request"):
            await mill.resume(request, timeout_seconds=SOON)
        assert (await mill.call(timeout_seconds=SOON)).kind == "timeout"
        task = asyncio.ensure_future(mill.call())
        await until(lambda: mill.dispatcher.settings.store_threads._running)
        task.cancel()
        await asyncio.wait({task}, timeout=10)
        assert task.cancelled()
    finally:
        holder.execute("ROLLBACK")
        holder.close()
        measuring.cancel()
    assert max(lags) < 1
    await until(lambda: mill.dispatcher.abandoned_threads == 0)
    assert (await mill.resume(request)).text == "cut oak"
    assert store.pending() == []
    mill.dispatcher.close()


async def advance(coroutine, is_reached):
    """Take *coroutine* as far as *is_reached*, and leave it there."""
    while not is_reached():
        future = coroutine.send(None)
        if future is not None and not is_reached():
            future._asyncio_future_blocking = False
            await asyncio.wait({future})
        await asyncio.sleep(0)


async def test_a_call_that_is_closed_leaves_its_outcome_to_a_thread(release):
    """A closed coroutine cannot await, and the event loop is not stalled."""
    mill, go = Mill(release), asyncio.Event()

    @mill.catalog.tool(destructive=True)
    async def sleep() -> None:
        """Sleep."""
        mill.ran.append("asleep")
        await go.wait()

    request = (await mill.dispatcher.call("sleep")).request
    coroutine = mill.dispatcher.resume(request.id, Decision.approve())
    await advance(coroutine, lambda: mill.ran)
    coroutine.close()
    await until(lambda: mill.store.state(request.id) == "done")
    assert mill.store.get(request.id).outcome["kind"] == "cancelled"
    mill.dispatcher.close()


async def test_a_store_that_hangs_does_not_hold_up_other_work_or_later_calls(release):
    """The store has threads that nothing else uses, and a call that gets none names the operations that hold them."""
    mill = Mill(release, cleanup_seconds=0)

    @mill.catalog.tool(read_only=True)
    async def total(numbers: list[int]) -> int:
        """Add up."""
        return sum(numbers)

    mill.store.hangs_in = {"add"}
    problem = "all 64 threads are held by calls that cannot be stopped (`keep request` 64 times)"
    for _ in range(1000):  # there are 32 threads, and 32 replacements; on a busy machine a call may not reach one
        result = await mill.call(timeout_seconds=0.02)
        assert result.kind == "timeout"
        if problem in result.text:
            break
    assert problem in result.text
    large = json.dumps({"numbers": [1] * 200_000})
    assert (await asyncio.wait_for(mill.dispatcher.call("total", large), 30)).value == 200_000
    release.set()
    await until(lambda: mill.dispatcher.abandoned_threads == 0)
    mill.dispatcher.close()


async def test_an_outcome_is_kept_although_the_dispatcher_was_closed(release):
    """The call was under way, and its effect has happened."""
    mill = Mill(release)

    @mill.catalog.tool(destructive=True)
    async def end() -> str:
        """Close the dispatcher."""
        await asyncio.to_thread(mill.dispatcher.close)
        return "closed"

    request = (await mill.dispatcher.call("end")).request
    assert (await mill.resume(request)).text == "closed"
    assert mill.store.get(request.id).outcome["text"] == "closed"


async def test_a_remark_about_the_store_shows_no_secret(release):
    """An error of a store may have any text."""

    class Chatty(MemoryApprovals):
        def finish(self, *args, **options):
            raise RuntimeError("hunter2 could not be written")

    mill = Mill(release, store=Chatty())
    dispatcher = Dispatcher(mill.catalog, permissions=Permissions(), approvals=mill.approvals, redact=["hunter2"])
    request = (await dispatcher.call("cut", {"wood": "oak"})).request
    result = await dispatcher.resume(request.id, Decision.approve())
    assert "[redacted] could not be written" in result.metadata["not_recorded"]
    dispatcher.close()


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_the_limit_of_a_store_is_above_zero(seconds):
    """A store without any time could do nothing."""
    with pytest.raises(ValueError, match="store_seconds"):
        Approvals(store_seconds=seconds)


@pytest.mark.parametrize("name", ["add", "get", "settle", "reclaim", "finish", "pending", "purge"])
def test_a_store_with_an_async_method_is_refused(name):
    """Its coroutine would count as true, and a claim that was never made would count."""

    async def method(*args, **options):
        return False

    store = MemoryApprovals()
    setattr(store, name, method)
    with pytest.raises(TypeError, match=rf"MemoryApprovals\.{name} is async.*blocking = True"):
        Approvals(store)
