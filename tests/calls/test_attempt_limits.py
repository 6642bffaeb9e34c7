"""The time of one attempt: a tool that is cancelled cleans up, and one that cannot be stopped is abandoned."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from tests.clocks import until
from toolkit.context import Context
from toolkit.dispatcher import Dispatcher
from toolkit.policies.retry import RetryPolicy

pytestmark = pytest.mark.anyio

QUICK = RetryPolicy(attempts=3, wait_initial=0)
SOON = 0.02
STARTED = 1.0  # by then a thread has started, also on a busy machine


@pytest.mark.parametrize(("facts", "attempts"), [({"read_only": True}, 3), ({}, 1), ({"destructive": True}, 1)])
async def test_an_async_tool_is_cancelled_and_cleans_up(catalog, facts, attempts):
    """A timeout is tried again only if that is harmless; its cleanup is awaited each time."""
    cleaned = []

    @catalog.tool(timeout_seconds=SOON, **facts)
    async def hang() -> None:
        """Hang."""
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    result = await Dispatcher(catalog, retry=QUICK).call("hang")
    assert (result.kind, result.attempts, len(cleaned)) == ("timeout", attempts, attempts)
    assert ("may or may not have happened" in result.text) == (not facts.get("read_only"))


async def test_a_cleanup_that_never_ends_is_abandoned(catalog, caplog):
    """The task is reported, counted, and not started again beside itself."""
    stubborn = asyncio.Event()

    @catalog.tool(timeout_seconds=SOON, idempotent=True)
    async def hang() -> str:
        """Ignore being cancelled."""
        while not stubborn.is_set():
            try:
                await stubborn.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON, retry=QUICK)
    result = await dispatcher.call("hang")
    assert (result.kind, result.attempts, dispatcher.abandoned) == ("timeout", 1, 1)
    assert "did not end" in caplog.text
    assert (await dispatcher.call("hang")).kind == "failed"
    stubborn.set()
    await until(lambda: dispatcher.abandoned == 0)
    assert (await dispatcher.call("hang")).text == "done"


async def test_the_value_of_a_tool_that_finishes_while_stopping_is_the_result(catalog):
    @catalog.tool(timeout_seconds=SOON)
    async def close() -> str:
        """Finish at the last moment."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "just in time"
        return "never"

    assert (await Dispatcher(catalog).call("close")).text == "just in time"


async def test_cancelling_a_limited_call_stops_the_tool(catalog):
    """The tool's own task is cancelled and awaited before the cancellation passes on."""
    started, cleaned = asyncio.Event(), []

    @catalog.tool(timeout_seconds=60)
    async def hang() -> None:
        """Hang."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    task = asyncio.ensure_future(Dispatcher(catalog).call("hang"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [True]


async def test_a_sync_tool_that_cannot_be_stopped_is_abandoned(catalog, release, caplog):
    """Reported and counted; the same call is refused while it runs, and its flag tells it to stop."""
    flags = []

    @catalog.tool(timeout_seconds=STARTED, idempotent=True, concurrency_safe=True)
    def hang(context: Context, n: int = 1) -> bool:
        """Hang."""
        release.wait(5)
        flags.append(context.cancelled)
        return True

    dispatcher = Dispatcher(catalog, retry=QUICK)
    with caplog.at_level(logging.WARNING, logger="toolkit"):
        result = await dispatcher.call("hang")
    assert (result.kind, result.attempts, dispatcher.abandoned) == ("timeout", 1, 1)
    assert "could not be stopped" in result.text
    assert "still runs" in result.retries[-1]
    assert "still runs in a thread" in caplog.text
    refused = await dispatcher.call("hang", {"n": 1})
    assert (refused.kind, refused.attempts, "still runs" in refused.text) == ("failed", 0, True)
    release.set()
    await until(lambda: dispatcher.abandoned == 0)
    assert flags == [True]
    dispatcher.close()


@pytest.mark.parametrize("safe", [False, lambda arguments: False, lambda arguments: 1 / 0])
async def test_unsafe_calls_wait_for_an_abandoned_unsafe_call(catalog, release, safe):
    @catalog.tool(timeout_seconds=STARTED, concurrency_safe=safe)
    def hang() -> None:
        """Hang."""
        release.wait(5)

    @catalog.tool
    async def write() -> str:
        """Write."""
        return "written"

    @catalog.tool(read_only=True)
    async def read() -> str:
        """Read."""
        return "read"

    dispatcher = Dispatcher(catalog)
    assert (await dispatcher.call("hang")).kind == "timeout"
    assert (await dispatcher.call("read")).text == "read"
    limited = await dispatcher.call("write", timeout_seconds=SOON)
    assert (limited.kind, limited.attempts) == ("timeout", 0)
    waiting = asyncio.ensure_future(dispatcher.call("write"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    release.set()
    assert (await waiting).text == "written"
    dispatcher.close()


def test_an_abandoned_call_is_remembered_beyond_its_loop(catalog, release):
    """The thread outlives the loop that started it; another loop waits for it all the same."""

    @catalog.tool(timeout_seconds=STARTED)
    def hang() -> None:
        """Hang."""
        release.wait(5)

    @catalog.tool
    async def write() -> str:
        """Write."""
        release.set()
        return "written"

    dispatcher = Dispatcher(catalog)
    asyncio.run(dispatcher.call("hang"))
    assert dispatcher.abandoned == 1

    async def later() -> str:
        asyncio.get_running_loop().call_soon(release.set)
        return (await dispatcher.call("write")).text

    assert asyncio.run(later()) == "written"
    assert dispatcher.abandoned == 0
    dispatcher.close()


async def test_a_call_that_never_got_a_thread_was_never_started(catalog, release):
    """Once no abandoned thread is replaced any more, the caller learns that nothing happened, and who has them."""
    ran = []

    @catalog.tool(concurrency_safe=True)
    def hang(n: int) -> None:
        """Hang."""
        ran.append(n)
        release.wait(5)

    dispatcher = Dispatcher(catalog, max_concurrency=1)
    for n in (1, 2):
        task = asyncio.ensure_future(dispatcher.call("hang", {"n": n}))
        await until(lambda n=n: n in ran)
        task.cancel()
        await asyncio.wait({task})
    third = await dispatcher.call("hang", {"n": 3}, timeout_seconds=SOON)
    assert (third.kind, third.error.details["happened"], dispatcher.abandoned) == ("timeout", "no", 2)
    assert "all 2 threads are held by calls that cannot be stopped (`hang` 2 times)" in third.text
    assert dispatcher.abandoned_threads == 2
    release.set()
    await until(lambda: dispatcher.abandoned_threads == dispatcher.abandoned == 0)
    assert ran == [1, 2]
    dispatcher.close()


async def test_cancelling_a_sync_call_abandons_its_thread(catalog, release):
    """The cancellation passes on at once; the thread is counted until it ends."""
    started = threading.Event()

    @catalog.tool
    def hang() -> None:
        """Hang."""
        started.set()
        release.wait(5)
        raise ValueError("not reported")

    dispatcher = Dispatcher(catalog)
    task = asyncio.ensure_future(dispatcher.call("hang"))
    await until(started.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert dispatcher.abandoned == 1
    release.set()
    await until(lambda: dispatcher.abandoned == 0)
    dispatcher.close()
