"""Claims of approved calls: one resume runs, and a claim without an outcome is reported."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.approvals.processes import running
from tests.calls.shed import KEY, AskingShed, claim_for_dead_owner, refusal, waiting, with_another_schema
from tests.clocks import until
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals, file_change
from toolkit.approvals.store import Settlement
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.results import ToolResult

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("store", ["memory", "sqlite", "sealed"])
@pytest.mark.parametrize("facts", [{"destructive": True}, {"destructive": False, "idempotent": True}])
async def test_only_one_of_many_resumes_runs_the_call(store, facts, tmp_path):
    """They come through two dispatchers of one process."""
    shed = AskingShed(**facts)
    path = tmp_path / "x.approvals.sqlite"
    shared = Approvals(key=KEY) if store == "sealed" else Approvals(MemoryApprovals())
    policies = [Approvals(SQLiteApprovals(path)) if store == "sqlite" else shared for _ in range(2)]
    dispatchers = [shed.dispatcher(approvals) for approvals in policies]
    request = await waiting(dispatchers[0])
    request_or_id = request if store == "sealed" else request.id
    results = await asyncio.gather(
        *(dispatchers[number % 2].resume(request_or_id, Decision.approve()) for number in range(8)),
        return_exceptions=True,
    )
    good = [result for result in results if isinstance(result, ToolResult)]
    assert [result.kind for result in good] == ["ok"]
    assert {result.why for result in results if result not in good} <= {"answered", "running"}
    assert shed.ran == [("pine", 1)]


async def slow_shed(store: Any) -> tuple[Any, Any, list[str], asyncio.Event]:
    """Return a dispatcher whose tool waits, and what it did."""
    catalog, did, go = Catalog(), [], asyncio.Event()

    @catalog.tool(destructive=True)
    async def cut(wood: str) -> str:
        """Cut slowly."""
        did.append("began")
        await go.wait()
        did.append("ended")
        return "cut"

    approvals = Approvals(store)
    return Dispatcher(catalog, permissions=Permissions(), approvals=approvals), approvals, did, go


async def test_a_cancelled_resume_leaves_an_outcome():
    """The outcome says that the call was cut short."""
    dispatcher, approvals, did, _ = await slow_shed(None)
    request = await waiting(dispatcher)
    task = asyncio.ensure_future(dispatcher.resume(request.id, Decision.approve()))
    await until(lambda: did)
    assert await refusal(dispatcher, request.id) == "running"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    record = approvals.store.get(request.id)
    assert (record.state, record.outcome["kind"]) == ("done", "cancelled")
    assert "may or may not have happened" in record.outcome["text"]
    assert await refusal(dispatcher, request.id) == "answered"


class Blocking(MemoryApprovals):
    """A store whose methods can be held."""

    blocking = True

    def __init__(self, method: str) -> None:
        super().__init__()
        import threading

        self.held, self.entered, self.go = method, threading.Event(), threading.Event()

    def settle(self, *args, **options):
        return self._hold("settle") or super().settle(*args, **options)

    def finish(self, *args, **options):
        return self._hold("finish") or super().finish(*args, **options)

    def _hold(self, name):
        if name == self.held and not self.entered.is_set():
            self.entered.set()
            self.go.wait()


async def cancel_held_resume(store, dispatcher):
    """Cancel a resume twice while *store* holds it, and return what the store has of the request after that."""
    request = await waiting(dispatcher)
    task = asyncio.ensure_future(dispatcher.resume(request.id, Decision.approve()))
    await until(store.entered.is_set)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    store.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    return store.get(request.id)


async def test_a_resume_that_is_cancelled_during_its_claim_leaves_no_claim_without_an_outcome():
    """The claim is awaited and closed, because the call had not started."""
    store = Blocking("settle")
    dispatcher, _, did, _ = await slow_shed(store)
    record = await cancel_held_resume(store, dispatcher)
    assert (record.state, record.outcome["kind"], did) == ("done", "cancelled", [])
    assert "before it started" in record.outcome["text"]


async def test_a_resume_that_is_cancelled_at_its_end_keeps_its_outcome():
    """The call has happened, and the store says so."""
    store = Blocking("finish")
    dispatcher, _, did, go = await slow_shed(store)
    go.set()
    record = await cancel_held_resume(store, dispatcher)
    assert (record.state, record.outcome["kind"], did) == ("done", "ok", ["began", "ended"])


class Failing(MemoryApprovals):
    """A store that cannot keep outcomes, for a while."""

    is_broken = True

    def finish(self, *args, **options):
        if self.is_broken:
            raise ApprovalError("the disk is full", why="store")
        return super().finish(*args, **options)


async def test_an_outcome_that_cannot_be_kept_does_not_lose_the_result(shed, caplog):
    """The failure is logged. The next answer is told once that the outcome is unknown."""
    store = Failing()
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "cut pine"
    assert "could not be kept" in caplog.text
    store.is_broken = False
    lost = await dispatcher.resume(request.id, Decision.approve())
    assert "may or may not have happened" in lost.text
    assert "the store could not keep its outcome" in lost.text
    assert "process ended" not in lost.text  # it runs this very test
    assert await refusal(dispatcher, request.id) == "answered"
    assert shed.ran == [("pine", 1)]


class Unwilling(MemoryApprovals):
    """A store that does not settle: it is broken, or another answer was quicker."""

    def __init__(self, *, broken: bool) -> None:
        super().__init__()
        self.broken = broken

    def settle(self, *args, **options):
        if self.broken:
            raise ApprovalError("the disk is full", why="store")
        return False


@pytest.mark.parametrize(("broken", "why"), [(True, "store"), (False, "answered")])
@pytest.mark.parametrize("decision", [Decision.approve(), Decision.deny()])
async def test_an_answer_that_the_store_refuses_lets_no_call_run(shed, broken, why, decision):
    """The store is broken, or another answer was quicker."""
    dispatcher = shed.dispatcher(Approvals(Unwilling(broken=broken)))
    request = await waiting(dispatcher)
    assert await refusal(dispatcher, request.id, decision) == why
    assert shed.ran == []


@pytest.mark.parametrize(
    ("facts", "runs"),
    [
        ({"destructive": True}, 0),
        ({"destructive": True, "idempotent": True}, 0),
        ({"destructive": False}, 0),
        ({"destructive": False, "idempotent": True}, 1),
    ],
    ids=["destructive", "destructive and idempotent", "write", "idempotent"],
)
async def test_a_claim_without_an_outcome_is_reported_or_repeated_if_that_is_harmless(facts, runs):
    """Once; the next is told that it was answered."""
    shed, store = AskingShed(**facts), MemoryApprovals()
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    await claim_for_dead_owner(store, request)
    result = await dispatcher.resume(request.id, Decision.approve())
    assert (result.kind, len(shed.ran)) == (("ok", 1) if runs else ("failed", 0))
    if not runs:
        assert "its process ended before the outcome was kept: it may or may not have happened" in result.text
        assert result.error.details == {"happened": "maybe"}
    assert await refusal(dispatcher, request.id) == "answered"
    assert len(shed.ran) == runs


@pytest.mark.parametrize(
    "decision", [Decision.deny("no"), Decision.approve(arguments={"wood": "fir"})], ids=["deny", "edit"]
)
async def test_a_call_that_was_started_cannot_be_denied_or_edited(decision):
    """It may have happened already."""
    shed, store = AskingShed(destructive=False, idempotent=True), MemoryApprovals()
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    await claim_for_dead_owner(store, request)
    assert await refusal(dispatcher, request.id, decision) == "answered"
    assert shed.ran == []


@pytest.mark.parametrize("change", ["mode", "tool", "edited", "rule"])
async def test_a_lost_call_is_reported_after_any_change(change):
    """It is not run again, and the result says that it may have happened."""
    shed, store = AskingShed(destructive=False, idempotent=True), MemoryApprovals()
    request = await waiting(shed.dispatcher(Approvals(store)))
    await claim_for_dead_owner(store, request, {"wood": "fir", "pieces": 2} if change == "edited" else None)
    catalog, permissions = shed.catalog, shed.permissions
    if change == "mode":
        permissions.set_mode("plan")
    if change == "rule":
        permissions = Permissions(rules=["ask cut"])
    if change == "tool":
        catalog = with_another_schema()
    dispatcher = Dispatcher(catalog, permissions=permissions, approvals=Approvals(store))
    result = await dispatcher.resume(request.id, Decision.approve())
    assert "may or may not have happened" in result.text
    assert (store.get(request.id).state, shed.ran) == ("done", [])


async def test_a_lost_change_is_reported_although_the_file_has_changed(tmp_path):
    """The lost call probably changed it."""
    path, catalog, store = tmp_path / "a.txt", Catalog(), MemoryApprovals()
    ran = []

    @catalog.tool(idempotent=True, preview=lambda a: file_change(path, a["text"]))
    async def write(text: str) -> None:
        """Write it."""
        ran.append(text)

    dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=Approvals(store))
    request = (await dispatcher.call("write", {"text": "x"})).request
    await claim_for_dead_owner(store, request)
    path.write_text("x")
    result = await dispatcher.resume(request.id, Decision.approve())
    assert "may or may not have happened" in result.text
    assert ran == []


async def test_only_one_of_two_callers_takes_a_lost_call(tmp_path):
    """That one reports it or repeats it."""
    shed = AskingShed(destructive=False, idempotent=True)
    store = SQLiteApprovals(tmp_path / "x.approvals.sqlite")
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    await claim_for_dead_owner(store, request)
    answers = [dispatcher.resume(request.id, Decision.approve()) for _ in range(4)]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert [result.kind for result in results if isinstance(result, ToolResult)] == ["ok"]
    assert len(shed.ran) == 1


async def test_a_call_of_a_living_process_is_not_taken_over(shed):
    """Its owner will keep the outcome."""
    store = MemoryApprovals()
    dispatcher = shed.dispatcher(Approvals(store))
    request = await waiting(dispatcher)
    with running("live") as process:
        theirs = process.stdout.readline().strip()
        store.settle(request.id, Settlement("claimed", by="ada", owner=theirs, now=request.created_at))
        assert await refusal(dispatcher, request.id) == "running"
        assert await refusal(dispatcher, request.id, Decision.deny()) == "answered"
    assert shed.ran == []


async def test_a_claim_of_an_unknown_machine_is_not_taken_over(shed):
    """Once the request has expired, the call is reported as lost."""
    now = [1000.0]
    store = MemoryApprovals()
    dispatcher = shed.dispatcher(Approvals(store, expires_seconds=60, clock=lambda: now[0]))
    request = await waiting(dispatcher)
    elsewhere = f"{'0' * 16}/1/1/{'0' * 16}"
    assert store.settle(request.id, Settlement("claimed", by=None, owner=elsewhere, now=now[0]))
    assert await refusal(dispatcher, request) == "running"
    now[0] += 61
    lost = (await dispatcher.resume(request, Decision.approve())).text
    assert "where this process cannot see it, and no outcome was kept: it may or may not have happened" in lost
    assert shed.ran == []
