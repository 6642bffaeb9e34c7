"""
Who may call how often.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.clocks import Clock
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import RateLimit

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    """Three tools, two of them in one group."""
    catalog = Catalog()
    for name, group in (("a", "g"), ("b", "g"), ("c", None)):

        async def act() -> str:
            """Act."""
            return "done"

        catalog.tool(name=name, read_only=True, group=group)(act)
    return catalog


async def test_calls_beyond_the_rate_wait_for_their_turn(catalog):
    """A burst goes through; then one a half second."""
    clock = Clock()
    limit = RateLimit(2, seconds=1, clock=clock, sleep=clock.sleep)
    dispatcher = Dispatcher(catalog, hooks=[limit])
    results = [await dispatcher.call("a") for _ in range(4)]
    assert [result.kind for result in results] == ["ok"] * 4
    assert clock.slept == [0.5, 0.5]
    clock.now += 100
    await asyncio.gather(*(dispatcher.call("a") for _ in range(2)))
    assert len(clock.slept) == 2


async def test_waiting_calls_are_queued(catalog):
    """Three calls come at once, and one a second may run, so each waits for another time."""
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    limit = RateLimit(1, seconds=1, clock=lambda: 0.0, sleep=sleep)
    await asyncio.gather(*(Dispatcher(catalog, hooks=[limit]).call("a") for _ in range(3)))
    assert slept == [1.0, 2.0]


@pytest.mark.parametrize("options", [{"wait": False}, {"wait_max": 0.5}])
async def test_a_call_that_must_not_wait_is_refused(catalog, options, caplog):
    """The result is transient and says when to come back. The tool did not run, and the log has no error."""
    clock = Clock()
    dispatcher = Dispatcher(catalog, hooks=[RateLimit(1, seconds=1, clock=clock, sleep=clock.sleep, **options)])
    await dispatcher.call("a")
    refused = await dispatcher.call("a")
    assert (refused.kind, refused.attempts, clock.slept) == ("transient", 0, [])
    assert refused.error.details == {"retry_after_seconds": 1.0, "happened": "no"}
    assert caplog.text == ""
    clock.now += 1
    assert (await dispatcher.call("a")).kind == "ok"


@pytest.mark.parametrize(
    ("by", "free"),
    [
        ("tool", [("b", "ada"), ("c", "ada")]),
        ("group", [("c", "ada")]),
        ("principal", [("a", "bob")]),
        ("all", []),
    ],
)
@pytest.mark.parametrize(("name", "principal"), [("b", "ada"), ("c", "ada"), ("a", "bob"), ("a", "ada")])
async def test_each_tool_or_group_or_principal_has_a_separate_bucket(catalog, by, free, name, principal):
    """There may also be one bucket for all calls."""
    dispatcher = Dispatcher(catalog, hooks=[RateLimit(1, seconds=60, by=by, wait=False)])
    await dispatcher.call("a", principal="ada")
    result = await dispatcher.call(name, principal=principal)
    assert (result.kind == "ok") == ((name, principal) in free)


async def test_a_call_that_is_cancelled_while_waiting_gives_its_turn_back(catalog):
    """The next call does not wait for a call that was cancelled."""
    clock, waiting = Clock(), asyncio.Event()

    async def sleep(seconds):
        clock.slept.append(seconds)
        waiting.set()
        if len(clock.slept) == 1:
            await asyncio.Event().wait()

    dispatcher = Dispatcher(catalog, hooks=[RateLimit(1, seconds=1, clock=clock, sleep=sleep)])
    await dispatcher.call("a")
    task = asyncio.ensure_future(dispatcher.call("a"))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await dispatcher.call("a")
    assert clock.slept == [1.0, 1.0]


async def test_a_caller_is_still_refused_after_any_number_of_others(catalog):
    clock = Clock()
    limit = RateLimit(1, seconds=60, by="principal", wait=False, clock=clock)
    dispatcher = Dispatcher(catalog, hooks=[limit])
    for name in ["ada", *map(str, range(12_000)), "ada"]:
        result = await dispatcher.call("a", principal=name)
    assert result.kind == "transient"
    clock.now += 60
    assert (await dispatcher.call("a", principal="ada")).kind == "ok"


@pytest.mark.parametrize("calls", [1, 3])
async def test_only_buckets_that_are_not_full_are_kept(catalog, calls):
    clock = Clock()
    limit = RateLimit(calls, seconds=calls, by="principal", wait=False, clock=clock)
    dispatcher = Dispatcher(catalog, hooks=[limit])
    for number in range(500):
        await dispatcher.call("a", principal=str(number))
        clock.now += 0.25
    assert len(limit._buckets) <= 6
    clock.now += calls
    for name in ("x", "y", "z", "x", "y", "z"):
        await dispatcher.call("a", principal=name)
    assert len(limit._buckets) == 3


@pytest.mark.parametrize("options", [{"calls": 0}, {"seconds": 0}, {"wait_max": -1}, {"by": "moon"}])
def test_an_invalid_rate_is_refused(options):
    with pytest.raises(ValueError, match=r"rate|by"):
        RateLimit(**{"calls": 1, **options})
