"""
A limit on cleanup changes nothing for code that keeps to it.
"""

from __future__ import annotations

import asyncio
import functools
import unittest.mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.concurrency.time_limits import await_with_limit
from toolkit.functions.callables import is_coroutine_function, may_suspend

# What a coroutine does, step by step.
steps = st.lists(
    st.sampled_from(["turn", "future", "child", "group", "timer", "shield", "swallow", "raise", "uncancel"]), max_size=6
)


async def perform(script, trace):
    """Do what *script* says, and note what happens."""
    for step in script:
        try:
            match step:
                case "turn":
                    await asyncio.sleep(0)
                case "future":
                    future = asyncio.get_running_loop().create_future()
                    asyncio.get_running_loop().call_soon(lambda future=future: future.done() or future.set_result(7))
                    trace.append(await future)
                case "child":
                    await asyncio.ensure_future(asyncio.sleep(0))
                case "group":
                    async with asyncio.TaskGroup() as group:
                        group.create_task(asyncio.sleep(0))
                        await asyncio.sleep(0)
                case "timer":
                    async with asyncio.timeout(60):
                        await asyncio.sleep(0)
                case "shield":
                    await asyncio.shield(asyncio.ensure_future(asyncio.sleep(0)))
                case "swallow":
                    try:
                        await asyncio.sleep(0)
                        await asyncio.sleep(0)
                    except asyncio.CancelledError as error:
                        trace.append(("swallowed", error.args))
                case "uncancel":
                    trace.append(asyncio.current_task().cancelling())
                case "raise":
                    await asyncio.sleep(0)
                    raise ValueError("on purpose")
            trace.append(step)
        except asyncio.CancelledError as error:
            trace.append(("cancelled", step, error.args))
            await asyncio.sleep(0)
            raise
    return "done"


async def observe(script, cancel_after, wrap):
    """Return what can be seen of *script* from inside and outside, if it is cancelled after some turns."""
    trace = []

    async def main():
        return await wrap(perform(script, trace))

    task = asyncio.ensure_future(main())
    for _ in range(cancel_after):
        await asyncio.sleep(0)
    task.cancel("enough")
    await asyncio.wait({task}, timeout=10)
    assert task.done()
    if task.cancelled():
        return trace, "cancelled"
    return trace, repr(task.exception()) if task.exception() else task.result()


@given(script=steps, cancel_after=st.integers(0, 12))
def test_a_time_limit_does_not_change_code_that_ends_in_time(script, cancel_after):
    """Values, errors, cancellations and their order are those of a plain await."""

    def limit(coroutine):
        return await_with_limit(coroutine, 60, lambda task: pytest.fail("it was abandoned"))

    async def plain(coroutine):
        return await coroutine

    expected = asyncio.run(observe(script, cancel_after, plain))
    assert asyncio.run(observe(script, cancel_after, limit)) == expected
    assert asyncio.run(observe(script, cancel_after, lambda coroutine: limit(limit(coroutine)))) == expected


@pytest.mark.anyio
async def test_any_awaitable_can_be_limited():
    class Awaitable:
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return 5

    assert await await_with_limit(Awaitable(), 60, lambda task: None) == 5


@pytest.mark.anyio
async def test_an_error_of_abandoned_code_is_swallowed(caplog):
    """This holds even for an exit, which would end the event loop."""
    tasks, entered = [], asyncio.Event()

    async def leave():
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await released.wait()
            raise SystemExit(3) from None

    released = asyncio.Event()
    task = asyncio.ensure_future(await_with_limit(leave(), 0, tasks.append))
    await entered.wait()
    await asyncio.sleep(0)
    task.cancel("stop")
    with pytest.raises(asyncio.CancelledError, match="stop"):
        await task
    released.set()
    await asyncio.wait(tasks)
    assert tasks[0].exception() is None


async def waits() -> None:
    await asyncio.sleep(0)


async def does_not_wait() -> None:
    pass


async def loops() -> None:
    async for _ in aiter([]):  # never run
        pass


@pytest.mark.parametrize(
    ("function", "is_coroutine", "suspends"),
    [
        (waits, True, True),
        (does_not_wait, True, False),
        (loops, True, True),
        (functools.partial(waits), True, True),
        (functools.partial(does_not_wait), True, False),
        (unittest.mock.AsyncMock(), False, True),
        (len, False, True),
    ],
)
def test_the_code_of_a_function_shows_whether_it_can_wait(function, is_coroutine, suspends):
    """Unreadable code may do anything."""
    assert is_coroutine_function(function) is is_coroutine
    assert may_suspend(function) is suspends
