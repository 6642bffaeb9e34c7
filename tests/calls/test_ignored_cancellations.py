"""Code that ignores its cancellation is left alone after `cleanup_seconds`, and its caller goes on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from tests.clocks import until
from toolkit.catalog import Catalog
from toolkit.context import Context, Inject
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.hooks.base import Proceed

pytestmark = pytest.mark.anyio

SOON = 0.02


class Stubborn:
    """Code that ignores its cancellation until it is let go."""

    def __init__(self):
        self.started = asyncio.Event()
        self.released = asyncio.Event()
        self.is_over = False

    async def wait(self):
        self.started.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue
        self.is_over = True


async def _wait_for_child(stubborn):
    await asyncio.ensure_future(stubborn.wait())


async def _wait_in_cleanup(stubborn):
    try:
        await asyncio.Event().wait()
    finally:
        await stubborn.wait()


async def _turn(stubborn):
    stubborn.started.set()
    while not stubborn.released.is_set():
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            continue
    stubborn.is_over = True


WAYS = {"itself": Stubborn.wait, "a child": _wait_for_child, "its cleanup": _wait_in_cleanup, "a busy loop": _turn}


@pytest.mark.parametrize("call_many", [False, True])
@pytest.mark.parametrize("wants_context", [False, True])
@pytest.mark.parametrize("way", WAYS)
async def test_a_cancelled_tool_without_a_limit_is_abandoned_after_cleanup_seconds(way, wants_context, call_many):
    """The thread is counted until it ends."""
    catalog, stubborn, hanging_calls = Catalog(), Stubborn(), asyncio.Event()

    async def plain() -> None:
        """Hang."""
        hanging_calls.set()
        await WAYS[way](stubborn)

    async def with_context(context: Context) -> None:
        """Hang."""
        await plain()

    catalog.tool(name="hang")(with_context if wants_context else plain)
    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)
    calls = [("hang", {}), ("hang", {})]
    call = dispatcher.call_many(calls) if call_many else dispatcher.call("hang")
    task = asyncio.ensure_future(call)
    await hanging_calls.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    assert (dispatcher.abandoned, stubborn.is_over) == (1, False)
    stubborn.released.set()
    await until(lambda: dispatcher.abandoned == 0)
    assert stubborn.is_over


class Client:
    """A resource that a tool wants."""


def _plain(hang):
    return hang


def _with_context(hang):
    def tool(context: Context) -> None:
        """Hang."""
        hang()

    return tool


def _with_resource(hang):
    def tool(client: Inject[Client]) -> None:
        """Hang."""
        hang()

    return tool


def _generator(hang):
    def tool() -> Iterator[int]:
        """Hang after the first item."""
        yield 1
        hang()

    return tool


@pytest.mark.parametrize("way", ["call", "call_many", "resume", "with a hook"])
@pytest.mark.parametrize("make", [_plain, _with_context, _with_resource, _generator])
async def test_a_cancelled_call_without_a_limit_leaves_its_stuck_thread_alone(release, make, way):
    """No thread can be stopped: the caller goes on within `cleanup_seconds`, and the thread is counted."""
    catalog, hanging_calls = Catalog(), threading.Event()

    def hang() -> None:
        """Hang."""
        hanging_calls.set()
        release.wait(30)

    catalog.tool(name="hang", approval="always" if way == "resume" else "never")(make(hang))
    hooks = [Passing()] if way == "with a hook" else []
    dispatcher = Dispatcher(catalog, hooks=hooks, resources={Client: Client()}, cleanup_seconds=5)
    if way == "resume":
        call = dispatcher.resume((await dispatcher.call("hang")).request.id, Decision.approve())
    else:
        call = dispatcher.call_many([("hang", {})] * 2) if way == "call_many" else dispatcher.call("hang")
    task = asyncio.ensure_future(call)
    await until(hanging_calls.is_set)
    started = time.monotonic()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=10)
    assert (bool(done), task.cancelled(), time.monotonic() - started < 5) == (True, True, True)
    assert (dispatcher.abandoned, dispatcher.abandoned_threads) == (1, 1)
    release.set()
    await until(lambda: dispatcher.abandoned_threads == 0)
    dispatcher.close()


class Passing:
    """A hook around calls that lets them pass."""

    async def around(self, call, run):
        return await run()


async def test_a_cancelled_batch_of_calls_that_run_together_ends_after_cleanup_seconds():
    """All of its tools ignore the cancellation."""
    catalog, stubborn = Catalog(), Stubborn()

    @catalog.tool(read_only=True)
    async def hang(n: int) -> None:
        """Hang."""
        await stubborn.wait()

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)
    task = asyncio.ensure_future(dispatcher.call_many([("hang", {"n": n}) for n in range(3)]))
    await stubborn.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    assert dispatcher.abandoned == 3
    stubborn.released.set()
    await until(lambda: dispatcher.abandoned == 0)


@pytest.mark.parametrize("timeout_seconds", [None, 60, SOON])
@pytest.mark.parametrize("stage", ["before", "around", "after"])
async def test_a_hook_that_ignores_its_cancellation_is_abandoned(stage, timeout_seconds):
    """A cancellation by the caller is raised, and the limit of the hook becomes a result."""
    catalog, stubborn = Catalog(), Stubborn()

    @catalog.tool
    async def write() -> str:
        """Write."""
        return "written"

    async def hook_method(*arguments):
        await stubborn.wait()
        return arguments[1] if stage == "after" else await arguments[1]() if stage == "around" else Proceed()

    hook = type("Hanging", (), {stage: staticmethod(hook_method), "timeout_seconds": timeout_seconds})()
    dispatcher = Dispatcher(catalog, hooks=[hook], cleanup_seconds=SOON)
    task = asyncio.ensure_future(dispatcher.call("write"))
    await stubborn.started.wait()
    if timeout_seconds == SOON:
        assert "Hanging" in (await asyncio.wait_for(task, 10)).text
    else:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 10)
    stubborn.released.set()
    await until(lambda: stubborn.is_over)


async def test_a_tool_inside_an_around_hook_is_abandoned_first():
    """The hook then has its own time to clean up."""
    catalog, stubborn, counts = Catalog(), Stubborn(), []

    @catalog.tool
    async def hang() -> None:
        """Hang."""
        await stubborn.wait()

    class Careful:
        async def around(self, call, run):
            try:
                return await run()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
                counts.append(dispatcher.abandoned)
                raise

    dispatcher = Dispatcher(catalog, hooks=[Careful()], cleanup_seconds=SOON)
    task = asyncio.ensure_future(dispatcher.call("hang"))
    await stubborn.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    assert counts == [1]
    stubborn.released.set()
    await until(lambda: dispatcher.abandoned == 0)


async def test_a_timeout_around_a_call_reaches_the_caller():
    """`asyncio.timeout` around the call works as around any other code."""
    catalog, stubborn = Catalog(), Stubborn()

    @catalog.tool
    async def hang() -> None:
        """Hang."""
        await stubborn.wait()

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(SOON):
            await dispatcher.call("hang")
    assert dispatcher.abandoned == 1
    assert asyncio.current_task().cancelling() == 0
    stubborn.released.set()
    await until(lambda: dispatcher.abandoned == 0)


async def test_a_cancel_scope_of_anyio_recognises_its_cancellation():
    """The message of the cancellation is carried over."""
    anyio = pytest.importorskip("anyio")
    catalog, stubborn = Catalog(), Stubborn()

    @catalog.tool
    async def hang() -> None:
        """Hang."""
        stubborn.started.set()
        while not stubborn.released.is_set():
            try:
                await stubborn.released.wait()
            except asyncio.CancelledError:
                continue

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)
    with anyio.move_on_after(SOON) as scope:
        await dispatcher.call("hang")
    assert scope.cancelled_caught
    stubborn.released.set()
    await until(lambda: dispatcher.abandoned == 0)


async def test_a_tool_that_cleans_up_in_time_is_not_abandoned():
    """Its cleanup ends in the task in which it began."""
    catalog, started, cleaned = Catalog(), asyncio.Event(), []

    @catalog.tool
    async def hang() -> None:
        """Hang."""
        task = asyncio.current_task()
        started.set()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.Event().wait())
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(asyncio.current_task() is task)

    dispatcher = Dispatcher(catalog, cleanup_seconds=10)
    task = asyncio.ensure_future(dispatcher.call("hang"))
    await started.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (cleaned, dispatcher.abandoned) == ([True], 0)


def test_a_tool_is_closed_with_the_coroutine_of_its_call():
    """No code goes on without its loop."""
    catalog, closed = Catalog(), []

    @catalog.tool
    async def hang() -> None:
        """Hang."""
        try:
            await asyncio.sleep(0)
        finally:
            closed.append(True)

    call = Dispatcher(catalog).call("hang")
    call.send(None)
    call.close()
    assert closed == [True]


def test_a_stuck_call_whose_loop_is_closed_is_over():
    """It can never go on, so it holds up no call in the next loop."""
    catalog, runs = Catalog(), []

    @catalog.tool
    async def hang() -> str:
        """Hang at the first call."""
        runs.append(1)
        while len(runs) == 1:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                continue
            except GeneratorExit:
                runs.append(1)
                raise
        return "done"

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)

    async def leave():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SOON):
                await dispatcher.call("hang")
        assert dispatcher.abandoned == 1

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # which hears that a task was left pending
    loop.run_until_complete(leave())
    loop.close()
    assert asyncio.run(dispatcher.call("hang", {})).text == "done"
    assert dispatcher.abandoned == 0


@pytest.mark.parametrize("option", ["validate", "approval", "preflight"])
async def test_a_function_of_an_option_that_ignores_its_cancellation_is_abandoned(option):
    """The call times out."""
    catalog, stubborn = Catalog(), Stubborn()

    async def decide(arguments):
        await stubborn.wait()

    @catalog.tool(**{option: decide})
    async def write() -> str:
        """Write."""
        return "written"

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)
    result = await asyncio.wait_for(dispatcher.call("write", timeout_seconds=SOON), 10)
    assert (result.kind, result.attempts) == ("timeout", 0)
    stubborn.released.set()
    await until(lambda: stubborn.is_over)
