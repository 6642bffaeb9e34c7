"""
Random batches of tools that return, raise, exit, hang, get cancelled and stream, against a simple model.

In every run there is one result per call, in order, of the kind the model expects; unsafe calls have
no company; destructive ones run at most once; no task, thread or file handle is left behind.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.clocks import until
from tests.example_counts import limit_examples
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Transient
from toolkit.hooks import Deny, Halt, Modify, Proceed, Replace, Stats
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolCall, ToolResult


class Strange(BaseException):
    """What no tool should raise."""


# What a tool does, and the kind of result that comes of it.
DEEDS = {
    "return": "ok",
    "suspend": "ok",
    "raise": "failed",
    "exit": "failed",
    "strange": "failed",
    "cancelled": "cancelled",
    "cancelled_future": "cancelled",
    "flaky": None,
    "hang": "timeout",
    "file": "failed",
}
FACTS: dict[str, dict[str, Any]] = {
    "reads": {"read_only": True},
    "safe": {"concurrency_safe": True},
    "asks": {"concurrency_safe": lambda arguments: arguments["number"] % 2 == 0},
    "writes": {},
    "destroys": {"destructive": True},
}
STYLES = ("async", "sync", "loop", "stream", "drip")
HOOKED = ("nothing", "deny", "replace", "modify", "halt", "raise before", "raise after", "swallow")


@dataclass
class World:
    """What the tools did, as the model has to find it."""

    release: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    runs: Counter[int] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)
    trespasses: list[str] = field(default_factory=list)
    abandoned: Callable[[], int] = lambda: 0

    def enter(self, number: int, unsafe: bool) -> None:
        with self.lock:
            self.runs[number] += 1
            self.inside["unsafe" if unsafe else "safe"] += 1
            # What was given up holds back the unsafe after the unsafe, and nothing else.
            given_up = self.abandoned()
            if self.inside["unsafe"] > (1 if unsafe else given_up) or (unsafe and self.inside["safe"] > given_up):
                self.trespasses.append(f"call {number} had company")

    def leave(self, unsafe: bool) -> None:
        with self.lock:
            self.inside["unsafe" if unsafe else "safe"] -= 1


@dataclass(frozen=True)
class Plan:
    """One call of a batch."""

    facts: str
    style: str
    deed: str
    hooked: str

    @property
    def tool(self) -> str:
        return f"{self.facts}_{self.style}"


plans = st.builds(
    Plan,
    facts=st.sampled_from(sorted(FACTS)),
    style=st.sampled_from(STYLES),
    deed=st.sampled_from(sorted(DEEDS)),
    hooked=st.sampled_from(HOOKED) | st.just("nothing"),
)


def is_unsafe(facts: str, number: int) -> bool:
    """Return whether a call must have no company."""
    return facts in ("writes", "destroys") or (facts == "asks" and number % 2 == 1)


def do(world: World, number: int, deed: str) -> int:
    """Do what all tools do; async ones suspend and hang in their own way."""
    if deed == "raise":
        raise ValueError("no")
    if deed == "file":
        with open(os.devnull):
            raise ValueError("with a file open")
    if deed == "exit":
        raise SystemExit(1)
    if deed == "strange":
        raise Strange
    if deed in ("cancelled", "cancelled_future"):
        raise asyncio.CancelledError
    if deed == "flaky" and world.runs[number] < 2:
        raise Transient("later")
    return number


def build(world: World) -> Catalog:
    """Make a catalog with a tool for each combination of facts and style."""
    catalog = Catalog()
    for name, facts in FACTS.items():
        for style in STYLES:
            catalog.tool(name=f"{name}_{style}", thread=style != "loop", **facts)(_function(world, name, style))
    return catalog


def _function(world: World, facts: str, style: str) -> Any:
    async def in_async(number: int, deed: str) -> int:
        """Act on the loop."""
        unsafe = is_unsafe(facts, number)
        world.enter(number, unsafe)
        try:
            await asyncio.sleep(0)
            if deed == "hang":
                await asyncio.Event().wait()
            if deed == "cancelled_future":
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                future.cancel()
                await future
            return do(world, number, deed)
        finally:
            world.leave(unsafe)

    def in_sync(number: int, deed: str) -> int:
        """Act in a thread."""
        unsafe = is_unsafe(facts, number)
        world.enter(number, unsafe)
        try:
            if deed == "hang" and style != "loop":
                world.release.wait(20)
            return do(world, number, deed)
        finally:
            world.leave(unsafe)

    async def in_stream(number: int, deed: str) -> Any:
        """Stream from the loop."""
        yield number
        yield await in_async(number, deed)

    def in_drip(number: int, deed: str) -> Any:
        """Stream from a thread."""
        yield number
        yield in_sync(number, deed)

    return {"async": in_async, "sync": in_sync, "loop": in_sync, "stream": in_stream, "drip": in_drip}[style]


class Meddler:
    """A hook that does to each call what its plan says."""

    def __init__(self, batch: list[Plan]) -> None:
        self.batch = batch

    def _what(self, call: ToolCall) -> str:
        number = call.arguments.get("number") if isinstance(call.arguments, dict) else None
        return self.batch[number].hooked if isinstance(number, int) else "nothing"

    def before(self, call: ToolCall) -> Any:
        trick = self._what(call)
        if trick == "raise before":
            raise ValueError("a hook's mistake")
        arguments = dict(call.arguments)
        call.arguments.clear()
        return {
            "deny": Deny("no"),
            "replace": Replace("instead"),
            "modify": Modify({**arguments, "deed": "return"}),
            "halt": Halt("stop"),
        }.get(trick, Proceed())

    async def around(self, call: ToolCall, run: Any) -> ToolResult:
        result = await run()
        return ToolResult("fine") if self._what(call) == "swallow" else result

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        if self._what(call) == "raise after":
            raise Strange
        return result


def expect_kind(plan: Plan, halted: bool) -> str:
    """Return the kind of result that a call must have, by the plan alone."""
    kind = _of_tool(plan, halted)
    # A result without a run stands, with any outcome of a hook.
    return "internal" if plan.hooked == "raise after" and not halted else kind


def _of_tool(plan: Plan, halted: bool) -> str:
    if halted:
        return "halted"
    by_hook = {"deny": "denied", "replace": "ok", "halt": "halted", "raise before": "internal", "swallow": "ok"}
    if plan.hooked in by_hook:
        return by_hook[plan.hooked]
    deed = "return" if plan.hooked == "modify" else plan.deed
    if deed == "hang" and plan.style == "loop":
        return "ok"
    if deed == "flaky":
        return "transient" if plan.facts == "destroys" else "ok"
    return DEEDS[deed] or ""


def most_runs(plan: Plan) -> int:
    """Return how often a call may have run at most."""
    if plan.facts == "destroys":
        return 1
    return 3


def handles() -> int:
    """Return how many file handles the process has."""
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


async def run_batch(batch: list[Plan], cap: int, limit: float | None) -> tuple[World, list[ToolResult], set[Any]]:
    """Run *batch*; what is still there afterwards is returned with the results."""
    world = World()
    stats = Stats()
    tasks = asyncio.all_tasks()
    dispatcher = Dispatcher(
        build(world),
        hooks=[stats, Meddler(batch)],
        retry=RetryPolicy(attempts=3, wait_initial=0),
        timeout_seconds=0.1 if any(plan.deed == "hang" for plan in batch) else limit,
        max_concurrency=cap,
    )
    world.abandoned = lambda: dispatcher.abandoned
    try:
        calls = [(plan.tool, {"number": number, "deed": plan.deed}) for number, plan in enumerate(batch)]
        if any(plan.deed == "hang" for plan in batch):
            # Threads that hang are let go as soon as they were given up, so that unsafe calls behind them can start.
            watch = asyncio.ensure_future(_let_go(dispatcher, world))
            results = await dispatcher.call_many(calls)
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
        else:
            results = await dispatcher.call_many(calls)
        assert sum(record.calls for record in stats.snapshot()) == len(batch)
        return world, results, asyncio.all_tasks() - tasks
    finally:
        world.release.set()
        await until(lambda: not dispatcher.abandoned)
        dispatcher.close()


async def _let_go(dispatcher: Dispatcher, world: World) -> None:
    await until(lambda: dispatcher.abandoned)
    world.release.set()


def check(batch: list[Plan], world: World, results: list[ToolResult]) -> None:
    """Check the results of a batch against the model."""
    assert len(results) == len(batch)
    assert world.trespasses == []
    first_halt = next((number for number, plan in enumerate(batch) if plan.hooked == "halt"), None)
    for number, (plan, result) in enumerate(zip(batch, results, strict=True)):
        assert result.tool == plan.tool
        assert result.kind in kinds(plan, number, first_halt, batch), (number, plan, result)
        assert world.runs[number] <= most_runs(plan)
        assert result.attempts >= 0
        if plan.hooked in ("deny", "replace", "halt", "raise before"):
            assert world.runs[number] == 0
        if result.kind == "ok" and plan.hooked in ("nothing", "modify"):
            assert result.value == ([number, number] if plan.style in ("stream", "drip") else number)


def kinds(plan: Plan, number: int, first_halt: int | None, batch: list[Plan]) -> set[str]:
    """Return what may come of a call: one kind, or two if it depends on how quick its neighbours are."""
    possible = {expect_kind(plan, halted=False)}
    if first_halt is not None and number > first_halt:
        # A neighbour that may run beside the halting call may have started before it.
        possible.add("halted")
    if any(call_plan.deed == "hang" for call_plan in batch):
        # A limit of a few milliseconds is a real one: on a busy machine others meet it too.
        ran = plan.hooked not in ("deny", "replace", "halt", "raise before")
        possible |= {"timeout"} if ran else set()
    if plan.deed == "hang":
        # Let go, a thread may come back in the very moment.
        possible.add("ok")
    return possible


@pytest.mark.long
@settings(max_examples=limit_examples(80))
@given(batch=st.lists(plans, max_size=8), cap=st.sampled_from([1, 3, 100]), limit=st.sampled_from([None, 60.0]))
def test_random_batches_keep_every_promise(batch, cap, limit):
    """Each call has one result, in order. Siblings are not affected, and no thread or file is left."""
    gc.collect()
    open_before, threads_before = handles(), set(threading.enumerate())
    world, results, tasks = asyncio.run(run_batch(batch, cap, limit))
    check(batch, world, results)
    assert tasks == set()
    for thread in set(threading.enumerate()) - threads_before:
        thread.join(10)
        assert not thread.is_alive()
    assert handles() <= open_before


class DispatchMachine(RuleBasedStateMachine):
    """One dispatcher lives through calls, batches, cancellations and changes of its catalog."""

    @initialize()
    def start(self) -> None:
        self.threads_before = set(threading.enumerate())
        self.world = World()
        self.loop = asyncio.new_event_loop()
        self.catalog = build(self.world)
        self.dispatcher = Dispatcher(self.catalog, retry=RetryPolicy(attempts=3, wait_initial=0), cleanup_seconds=1)
        self.number = 0

    def _next(self, plan: Plan) -> tuple[str, dict[str, Any]]:
        # Numbers of one parity, so that what "asks" runs beside others always may.
        self.number += 2
        return plan.tool, {"number": self.number, "deed": plan.deed}

    @rule(plan=plans.filter(lambda plan: plan.deed != "hang"), sync=st.booleans())
    def call(self, plan: Plan, sync: bool) -> None:
        """Make one call, in the loop or without one."""
        name, arguments = self._next(plan)
        if sync:
            result = self.dispatcher.call_sync(name, arguments)
        else:
            result = self.loop.run_until_complete(self.dispatcher.call(name, arguments))
        plain = Plan(plan.facts, plan.style, plan.deed, "nothing")
        assert result.kind == expect_kind(plain, halted=False)
        assert self.world.runs[arguments["number"]] <= most_runs(plan)

    @rule(batch=st.lists(plans.filter(lambda plan: plan.deed != "hang"), max_size=5))
    def call_many(self, batch: list[Plan]) -> None:
        """Make a batch of calls without hooks: every kind is known."""
        calls = [self._next(plan) for plan in batch]
        results = self.loop.run_until_complete(self.dispatcher.call_many(calls))
        expected_kinds = [
            expect_kind(Plan(plan.facts, plan.style, plan.deed, "nothing"), halted=False) for plan in batch
        ]
        assert [result.kind for result in results] == expected_kinds

    @rule(batch=st.lists(plans.filter(lambda plan: plan.style in ("async", "stream")), min_size=1, max_size=5))
    def cancel(self, batch: list[Plan]) -> None:
        """Cancel a batch that hangs: every child has ended."""
        calls = [self._next(Plan(plan.facts, plan.style, "hang", "nothing")) for plan in batch]

        async def cancel_batch() -> None:
            tasks = asyncio.all_tasks()
            task = asyncio.ensure_future(self.dispatcher.call_many(calls))
            for _ in range(4):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() == tasks

        self.loop.run_until_complete(cancel_batch())

    @rule()
    def unknown(self) -> None:
        """Call a name that no tool has."""
        assert self.loop.run_until_complete(self.dispatcher.call("nope")).kind == "not_found"

    @rule()
    def replace(self) -> None:
        """Change the catalog under the dispatcher."""
        self.catalog.add(build(self.world), replace=True)

    @invariant()
    def no_call_is_inside(self) -> None:
        """Check that between two steps no call runs, and that no call ran beside one that must run alone."""
        if hasattr(self, "world"):
            assert +self.world.inside == Counter()
            assert self.world.trespasses == []
            assert self.dispatcher.abandoned == 0

    def teardown(self) -> None:
        if hasattr(self, "dispatcher"):
            self.dispatcher.close()
            self.loop.close()
            for thread in set(threading.enumerate()) - self.threads_before:
                thread.join(10)
                assert not thread.is_alive()


TestDispatchMachine = DispatchMachine.TestCase
TestDispatchMachine.settings = settings(max_examples=min(25, settings().max_examples), stateful_step_count=15)
