"""
Every end of a call that asked settles its request, whenever the call is cancelled or runs out of time.

Each test ends the same call at its first step, then at its second one, and so on, until it gets to its own end. A store
in a file or a database differs from one in memory that is called in a thread only in what it writes, which its own
tests show. So it is tried with the call that does most, and three steps at a time.
"""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from zlib import crc32

import pytest

from tests.cancellation import ENDINGS, JumpingClock, end_at_step, end_at_turn
from tests.clocks import wait_until
from toolkit.approvals import ApprovalError, Approvals, Callback, MemoryApprovals, PostgresApprovals, SQLiteApprovals
from toolkit.approvals.store import Settlement
from toolkit.catalog import Catalog
from toolkit.decisions import Changed, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.policies.audit import AuditLog
from toolkit.results import ToolCall, ToolResult

pytestmark = pytest.mark.anyio

MAX_STEPS = 300


class ThreadedApprovals(MemoryApprovals):
    """A store in memory that is called in a thread."""

    blocking = True


def pair_with_stores(tools, behaviours, longest):
    """Return the cases of a test: each tool and behaviour with each quick store, and *longest* with each slow one."""
    quick = [(store, tool, name) for store in ("memory", "threads") for tool in tools for name in behaviours]
    return [*quick, *(pytest.param(store, *longest, marks=pytest.mark.long) for store in ("sqlite", "postgres"))]


@pytest.fixture
def store(request, tmp_path):
    match request.param:
        case "memory":
            yield MemoryApprovals()
        case "threads":
            yield ThreadedApprovals()
        case "sqlite":
            yield SQLiteApprovals(tmp_path / "a.approvals.sqlite")
        case _:
            approvals = PostgresApprovals(request.getfixturevalue("postgres_url"))
            yield approvals
            approvals.close()


@pytest.fixture
def steps(request):
    """The steps at which a call is ended, one after the other."""
    if request.node.callspec.params["store"] in ("memory", "threads"):
        return range(1, MAX_STEPS)
    return range(1 + crc32(request.node.name.encode()) % 3, MAX_STEPS, 3)


class LateHook:
    """An after-hook that waits for a turn of the loop."""

    async def after(self, call, result):
        await asyncio.sleep(0)
        return result


async def approve(request):
    await asyncio.sleep(0)
    return Decision.approve(by="ada")


async def deny(request):
    await asyncio.sleep(0)
    return Decision.deny("not today", by="ada")


async def leave_waiting(request):
    await asyncio.sleep(0)


class Mistaken:
    """An asker that first approves with arguments that do not fit, and then with arguments that do."""

    def __init__(self):
        self._count = 0

    async def ask(self, request):
        await asyncio.sleep(0)
        self._count += 1
        return Decision.approve(by="ada", arguments={"wood": 5} if self._count % 2 else {"wood": "elm"})


ASKERS = {
    "no asker": lambda: None,
    "approves": lambda: approve,
    "denies": lambda: deny,
    "leaves it": lambda: leave_waiting,
    "is mistaken": Mistaken,
}
ASKED = pair_with_stores(["cut", "saw"], ASKERS, ("saw", "is mistaken"))


RAN: ContextVar[list[str]] = ContextVar("RAN")
"""What the tools of the newest mill have done. Each task has the list of the mill that began it."""

CATALOG = Catalog()
"""Described once, because each step of a call needs a mill of its own."""


@CATALOG.tool(destructive=True)
async def cut(wood: str) -> str:
    """Cut."""
    await asyncio.sleep(0)
    RAN.get().append(wood)
    return f"cut {wood}"


@CATALOG.tool(destructive=True)
async def saw(wood: str) -> str:
    """Ask once more while it runs."""
    await asyncio.sleep(0)
    ran = RAN.get()
    if ran.count("again") < 1:
        ran.append("again")
        raise Changed("the wood is wet")
    ran.append(wood)
    return f"sawed {wood}"


@CATALOG.tool(read_only=True)
async def look(wood: str) -> str:
    """Look."""
    await asyncio.sleep(0)
    return wood


@CATALOG.tool(read_only=True, approval="always")
async def peek(wood: str) -> str:
    """Look, if a person agrees."""
    await asyncio.sleep(0)
    return wood


@CATALOG.tool(destructive=True, background=True)
async def plane(wood: str) -> str:
    """Plane, in a task of its own."""
    RAN.get().append(wood)
    return f"planed {wood}"


class Mill:
    """A dispatcher with tools that ask, an audit log, and hooks."""

    def __init__(self, store, audit_path=None, *, ask=None, clock=None):
        self.ran, self.store = [], store
        RAN.set(self.ran)
        options = {} if clock is None else {"clock": clock}
        self.dispatcher = Dispatcher(
            CATALOG,
            permissions=Permissions(),
            approvals=Approvals(store, ask=ask),
            audit=None if audit_path is None else AuditLog(audit_path),
            hooks=[LateHook()],
            cleanup_seconds=30,
            **options,
        )

    def deny_all(self):
        """Deny what waits, so that the next walk begins without it."""
        for request in self.store.pending():
            self.store.settle(request.id, Settlement("denied", by="test", now=request.created_at))

    def states(self):
        """Return how far each request of the store has come, by its id."""
        return {request_id: self.store.get(request_id).state for request_id in self.request_ids()}

    def request_ids(self):
        with_ids = getattr(self.store, "_records", None)
        return list(with_ids) if with_ids is not None else [request.id for request in self.store.pending()]

    async def check_settled(self, outcome):
        """Assert that no request waits but the one that *outcome* carries, and that none is claimed for ever."""
        results = outcome if isinstance(outcome, list) else [outcome] if isinstance(outcome, ToolResult) else []
        carried = {result.request.id for result in results if result.request and not result.request.waits_for}

        def is_settled():
            waiting = {request.id for request in self.store.pending()}
            return waiting == carried and "claimed" not in self.states().values()

        try:
            await wait_until(is_settled, seconds=2)
        except TimeoutError:
            raise AssertionError(f"{outcome!r}: {self.states()}, carried {carried}") from None


@pytest.fixture
def build_mill(store, tmp_path):
    mills = []

    def build(**options):
        mills.append(Mill(store, tmp_path / "audit.jsonl", **options))
        return mills[-1]

    yield build
    for mill in mills:
        mill.dispatcher.close()


@pytest.mark.one_case_in(7)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("store", "tool", "asker"), ASKED, indirect=["store"])
async def test_a_call_that_is_cancelled_at_any_step_leaves_no_request_behind(build_mill, steps, tool, asker, ending):
    for step in steps:
        mill = build_mill(ask=ASKERS[asker]())
        call = mill.dispatcher.call(ToolCall(tool, {"wood": "oak"}, f"call-{step}"))
        outcome, was_reached = await end_at_step(call, step, ending)
        await mill.check_settled(outcome)
        mill.deny_all()
        if not was_reached:
            break
    assert 3 < step < MAX_STEPS - 1


STARTS = {
    "in a task of its own": lambda mill, name: mill.dispatcher.call(ToolCall("plane", {"wood": "oak"}, name)),
    "in a batch": lambda mill, name: mill.dispatcher.call_many(
        [ToolCall(tool, {"wood": "oak"}, f"{name}-{tool}") for tool in ("cut", "look", "cut", "look")]
    ),
    "in a batch that runs together": lambda mill, name: mill.dispatcher.call_many(
        [ToolCall("peek", {"wood": wood}, f"{name}-{wood}") for wood in ("oak", "elm", "ash")]
    ),
}


@pytest.mark.one_case_in(4)
@pytest.mark.parametrize("asker", ASKERS)
@pytest.mark.parametrize("start", STARTS)
async def test_a_call_that_is_cancelled_at_any_turn_of_the_loop_leaves_no_request_behind(start, asker):
    """A result that waits is lost with its batch, so its request is withdrawn."""
    for turn in range(1, MAX_STEPS):
        mill = Mill(MemoryApprovals(), ask=ASKERS[asker]())
        outcome, was_reached = await end_at_turn(STARTS[start](mill, f"call-{turn}"), turn)
        await mill.check_settled(outcome)
        if not was_reached:
            break
    assert 3 < turn < MAX_STEPS - 1


@pytest.mark.one_case_in(7)
@pytest.mark.parametrize(("store", "tool", "asker"), ASKED, indirect=["store"])
async def test_a_call_that_runs_out_of_time_at_any_moment_leaves_no_request_behind(build_mill, steps, tool, asker):
    for step in steps:
        clock = JumpingClock(step)
        mill = build_mill(ask=ASKERS[asker](), clock=clock)
        outcome = await mill.dispatcher.call(ToolCall(tool, {"wood": "oak"}, f"call-{step}"), timeout_seconds=60)
        await mill.check_settled(outcome)
        mill.deny_all()
        if not clock.has_jumped:
            break
    assert 3 < step < MAX_STEPS - 1


DECISIONS = {
    "approved": Decision.approve(by="ada"),
    "edited": Decision.approve(by="ada", arguments={"wood": "elm"}),
    "denied": Decision.deny("not today", by="ada"),
}
ANSWERED = pair_with_stores(["cut", "saw"], DECISIONS, ("saw", "edited"))


async def answer_again(mill, request, outcome):
    """Answer *request* once more if it still waits after *outcome*, and assert that it could be answered."""
    state = mill.store.get(request.id).state
    if isinstance(outcome, ToolResult):
        assert state in ("denied", "done"), (outcome, state)
    try:
        result = await mill.dispatcher.resume(request.id, Decision.approve(by="ada"))
    except ApprovalError as error:
        # The thread of a store may deny the request just now, although its caller has gone.
        if error.why != "answered":
            raise
    else:
        assert state == "pending"
        assert result.kind == "ok" or result.request is not None
    mill.deny_all()
    assert mill.ran.count("oak") + mill.ran.count("elm") <= 1


@pytest.mark.one_case_in(7)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("store", "tool", "decision"), ANSWERED, indirect=["store"])
async def test_an_answer_whose_caller_is_cancelled_counts_or_can_be_given_again(
    build_mill, steps, tool, decision, ending
):
    """A claim that was made is closed, and the tool runs at most once."""
    for step in steps:
        mill = build_mill()
        request = (await mill.dispatcher.call(ToolCall(tool, {"wood": "oak"}, f"call-{step}"))).request
        outcome, was_reached = await end_at_step(mill.dispatcher.resume(request.id, DECISIONS[decision]), step, ending)
        await wait_until(lambda mill=mill, request=request: mill.store.get(request.id).state != "claimed", seconds=2)
        await answer_again(mill, request, outcome)
        if not was_reached:
            break
    assert 3 < step < MAX_STEPS - 1


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize(("store", "tool", "decision"), ANSWERED, indirect=["store"])
async def test_an_answer_that_ends_with_a_result_settles_its_request(build_mill, steps, tool, decision):
    """This holds when the time is up at any moment: the result says so, and the request does not wait any longer."""
    for step in steps:
        clock = JumpingClock(step + 1_000_000)
        mill = build_mill(clock=clock)
        request = (await mill.dispatcher.call(ToolCall(tool, {"wood": "oak"}, f"call-{step}"))).request
        clock._reads_left = step
        try:
            outcome = await mill.dispatcher.resume(request.id, DECISIONS[decision], timeout_seconds=60)
        except ApprovalError as error:
            outcome = error
        has_jumped = clock.has_jumped
        clock._reads_left = 1_000_000
        await wait_until(lambda mill=mill, request=request: mill.store.get(request.id).state != "claimed", seconds=2)
        await answer_again(mill, request, outcome)
        if not has_jumped:
            break
    assert 3 < step < MAX_STEPS - 1


class PausingApprovals(ThreadedApprovals):
    """A store whose caller hears of a new request only after it is released."""

    def __init__(self):
        super().__init__()
        self.release = threading.Event()

    def add_call(self, *args, **options):
        record = super().add_call(*args, **options)
        self.release.wait(30)
        return record


async def test_the_same_call_that_ends_does_not_withdraw_a_request_that_was_just_made():
    """The second call finds the request before the first one knows that the store has kept it."""
    mill = Mill(PausingApprovals())
    call = ToolCall("cut", {"wood": "oak"}, "same")
    first = asyncio.ensure_future(mill.dispatcher.call(call))
    await wait_until(mill.store.pending, seconds=5)
    is_asked = asyncio.Event()

    async def ask(request):
        is_asked.set()
        await asyncio.Event().wait()

    mill.dispatcher.approvals.asker = Callback(ask)
    second = asyncio.ensure_future(mill.dispatcher.call(call))
    await is_asked.wait()
    mill.dispatcher.approvals.asker = None
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    mill.store.release.set()
    result = await first
    assert [request.id for request in mill.store.pending()] == [result.request.id]
    mill.dispatcher.close()
