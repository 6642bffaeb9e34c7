"""
What the tools did, in numbers.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from types import SimpleNamespace

import pytest

from tests.clocks import Clock
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError, Transient
from toolkit.hooks import CallEnded, Stats
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolCall, ToolResult

pytestmark = pytest.mark.anyio


async def test_a_snapshot_counts_calls_failures_retries_and_sizes():
    """A record for each tool, in the order of their first calls; later calls do not change it."""
    catalog, tries = Catalog(), []

    @catalog.tool(cost=0.5)
    async def act(how: str) -> str:
        """Act."""
        tries.append(how)
        if how == "fail":
            raise ToolError("no")
        if how == "flaky" and len(tries) % 2:
            raise Transient("later")
        return "x" * 10

    stats = Stats()
    dispatcher = Dispatcher(catalog, hooks=[stats], retry=RetryPolicy(wait_initial=0))
    for how in ("flaky", "fine", "fail"):
        await dispatcher.call("act", {"how": how})
    await dispatcher.call("act", {})
    await dispatcher.call("nope1")
    await dispatcher.call("nope2")
    first, second = stats.snapshot()
    assert (first.tool, first.calls, first.failures, first.retries) == ("act", 4, {"failed": 1, "bad_args": 1}, 1)
    assert first.cost == 1.5
    assert first.tokens == -(-first.chars // 4)
    assert (second.tool, second.calls, second.failures) == ("(unknown)", 2, {"not_found": 2})
    await dispatcher.call("act", {"how": "fail"})
    assert first.failures == {"failed": 1, "bad_args": 1}


async def test_percentiles_are_of_the_last_calls_that_ran():
    """Half of them were at least as quick as p50; those that never ran took no time."""
    catalog, clock = Catalog(), Clock()

    @catalog.tool
    async def take(seconds: int) -> None:
        """Take some time."""
        clock.now += seconds

    stats = Stats(window=100)
    dispatcher = Dispatcher(catalog, hooks=[stats], clock=clock)
    for seconds in [1000, *range(1, 101)]:
        await dispatcher.call("take", {"seconds": seconds})
    await dispatcher.call("take", {})
    (record,) = stats.snapshot()
    assert (record.p50_seconds, record.p95_seconds, record.p99_seconds) == (50, 95, 99)


async def test_the_percentile_of_a_single_call_is_its_time():
    """The statistics without a call are empty."""
    catalog, stats = Catalog(), Stats()
    dispatcher = Dispatcher(catalog, hooks=[stats], clock=Clock())
    await dispatcher.call("nope")
    assert stats.snapshot()[0].p99_seconds == 0
    assert Stats().snapshot() == []


@pytest.mark.parametrize(
    ("fact", "cost", "expected"),
    [
        (2, None, 2.0),
        (lambda arguments: 0.5, None, 0.5),
        (None, None, 0.0),
        (2, lambda call, result: len(result.text), 4.0),
    ],
)
async def test_costs_are_stated_or_computed(fact, cost, expected):
    """They come from the fact of the tool, or from a function of call and result."""
    catalog, stats = Catalog(), Stats(cost=cost)

    @catalog.tool(cost=fact)
    async def act() -> str:
        """Act."""
        return "done"

    await Dispatcher(catalog, hooks=[stats]).call("act")
    assert stats.snapshot()[0].cost == expected


def test_a_window_of_zero_is_refused():
    with pytest.raises(ValueError, match="window"):
        Stats(window=0)


def test_a_snapshot_from_another_thread_sees_whole_numbers():
    """Tools are called for the first time, fail in new ways and fill their windows meanwhile."""
    stats, errors, is_over = Stats(window=5), [], threading.Event()
    interval = sys.getswitchinterval()

    def look():
        try:
            while not is_over.is_set():
                for record in stats.snapshot():
                    assert sum(record.failures.values()) == record.calls
        except BaseException as error:  # noqa: BLE001 -- shown by the test itself
            errors.append(error)

    sys.setswitchinterval(1e-6)
    reader = threading.Thread(target=look)
    reader.start()
    try:
        for number in range(1000):
            tool = SimpleNamespace(name=f"tool_{number}", facts=SimpleNamespace(metadata=None))
            call = ToolCall(tool.name, {}, tool=tool)
            for kind in ("failed", "denied", "timeout"):
                result = ToolResult.failure(kind, "no", attempts=1, duration_seconds=number)
                stats.on_event(CallEnded(call, kind, result))
            if errors:
                break
    finally:
        is_over.set()
        reader.join()
        sys.setswitchinterval(interval)
    assert errors == []


async def test_further_tools_are_counted_together():
    """Tools come and go for months, and their numbers take a bounded room."""
    catalog, stats = Catalog(), Stats(max_tools=2)
    for name in ("one", "two", "three", "four"):

        @catalog.tool(name=name)
        async def act() -> str:
            """Act."""
            return "done"

    dispatcher = Dispatcher(catalog, hooks=[stats])
    for name in ("one", "two", "three", "four", "two", "three"):
        await dispatcher.call(name)
    assert [(tool_stats.tool, tool_stats.calls) for tool_stats in stats.snapshot()] == [
        ("one", 1),
        ("two", 2),
        ("(others)", 3),
    ]


def test_a_limit_of_zero_tools_is_refused():
    with pytest.raises(ValueError, match="max_tools"):
        Stats(max_tools=0)


async def test_a_cancelled_call_is_counted():
    """Its caller gets no result."""
    catalog, stats = Catalog(), Stats()

    @catalog.tool
    async def hang() -> None:
        """Hang."""
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await Dispatcher(catalog, hooks=[stats]).call("hang")
    (record,) = stats.snapshot()
    assert (record.calls, record.failures, record.chars) == (1, {"cancelled": 1}, 0)
