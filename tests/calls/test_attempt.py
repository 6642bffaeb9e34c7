"""Where a function runs in one attempt: in a thread or on the loop, and what becomes of a stream."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.clocks import until
from toolkit.dispatcher import Dispatcher

pytestmark = pytest.mark.anyio


async def test_a_sync_tool_runs_off_the_loop_with_context_variables(catalog):
    """It runs in a thread of the dispatcher with the context of the caller. `thread=False` keeps it on the loop."""
    user = contextvars.ContextVar("user", default="no user")
    user.set("ada")

    def who() -> tuple[str, bool]:
        """Tell who calls, and whether this is the loop's thread."""
        return user.get(), threading.current_thread() is threading.main_thread()

    catalog.tool(name="off")(who)
    catalog.tool(name="on", thread=False)(who)
    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("off")).value == ["ada", False]
        assert (await dispatcher.call("on")).value == ["ada", True]


@pytest.mark.parametrize("thread", [True, False])
async def test_a_sync_function_may_return_an_awaitable(catalog, thread):
    """A lambda around a coroutine function, for instance."""

    async def later() -> int:
        return 5

    @catalog.tool(thread=thread)
    def now():
        """Return a coroutine."""
        return later()

    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("now")).value == 5


async def test_the_style_of_a_wrapper_counts_and_not_that_of_the_wrapped_function(catalog):
    """A sync wrapper of an async function may return a plain value."""

    async def original(n: int) -> int:
        """Give a number."""
        return n

    @functools.wraps(original)
    def wrapper(n):
        return n + 1

    catalog.tool(wrapper)
    assert (await Dispatcher(catalog).call("original", {"n": 1})).value == 2


async def test_a_cap_bounds_the_threads(catalog, release):
    """Only two of three simultaneous calls are in threads."""
    inside, most = [], []

    @catalog.tool(concurrency_safe=True)
    def work(n: int) -> int:
        """Work."""
        inside.append(n)
        most.append(len(inside))
        release.wait(5)
        inside.remove(n)
        return n

    async with Dispatcher(catalog, max_concurrency=2) as dispatcher:
        calls = [asyncio.ensure_future(dispatcher.call("work", {"n": n})) for n in range(3)]
        await until(lambda: len(inside) == 2)
        release.set()
        results = await asyncio.gather(*calls)
    assert [result.value for result in results] == [0, 1, 2]
    assert max(most) == 2


@pytest.mark.parametrize("style", ["sync", "loop", "async"])
async def test_a_stream_is_reported_and_collected(catalog, style):
    """Each value is progress, in order, and the list of all is the value of the call."""
    reports = []

    def count(n: int) -> Iterator[int]:
        """Count."""
        yield from range(n)

    async def later(n: int) -> AsyncIterator[int]:
        """Count."""
        for number in range(n):
            yield number

    catalog.tool(name="count", thread=style == "sync")(later if style == "async" else count)
    async with Dispatcher(catalog, on_progress=reports.append) as dispatcher:
        result = await dispatcher.call("count", {"n": 3}, id="7")
    assert result.value == [0, 1, 2]
    assert [(report.call_id, report.tool, report.value) for report in reports] == [("7", "count", n) for n in range(3)]


@pytest.mark.parametrize("style", ["sync", "async"])
@pytest.mark.parametrize("end", ["exception", "timeout", "cancel"])
@pytest.mark.long
async def test_a_stream_is_closed_for_every_end_of_its_call(catalog, style, end, release):
    closed, started = threading.Event(), threading.Event()

    @catalog.tool(name="stream", destructive=True)
    def count() -> Iterator[int]:
        """Count."""
        try:
            while True:
                yield 1
                started.set()
                if end == "exception":
                    raise ValueError("no more")
        finally:
            closed.set()

    @catalog.tool(name="later", destructive=True)
    async def later() -> AsyncIterator[int]:
        """Count."""
        try:
            while True:
                yield 1
                started.set()
                if end == "exception":
                    raise ValueError("no more")
                await asyncio.sleep(0)
        finally:
            closed.set()

    dispatcher = Dispatcher(catalog)
    name = "stream" if style == "sync" else "later"
    # On a busy machine a thread may take a while to begin; a stream that has not begun cannot be closed.
    task = asyncio.ensure_future(dispatcher.call(name, timeout_seconds=1.5 if end == "timeout" else None))
    if end == "cancel":
        await until(started.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert (await task).kind == ("timeout" if end == "timeout" else "failed")
    assert closed.wait(5)
    await until(lambda: dispatcher.abandoned == 0)
    dispatcher.close()
