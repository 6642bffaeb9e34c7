"""The threads and loops of a dispatcher: sync calls share one, and nothing is left when it is closed or gone."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import weakref

import pytest

from tests.catalog_kit import build_plain_catalog
from tests.clocks import until
from toolkit.concurrency.background_loop import BackgroundLoop
from toolkit.dispatcher import Dispatcher
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    return build_plain_catalog()


def our_threads() -> list[threading.Thread]:
    """Return the threads that a dispatcher made."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("toolkit")]


def have_ended(threads: list[threading.Thread]) -> bool:
    """Return whether *threads* end by themselves, and soon."""
    for thread in threads:
        thread.join(5)
    return not any(thread.is_alive() for thread in threads)


def test_call_sync_runs_async_and_sync_tools(catalog):
    """It accepts every option of `call`."""
    dispatcher = Dispatcher(catalog)
    assert dispatcher.call_sync("add", {"a": 1, "b": 2}, id="7").call_id == "7"
    assert dispatcher.call_sync(ToolCall("shout", {"text": "hi"})).text == "HI"
    dispatcher.close()


async def test_call_sync_works_inside_a_running_loop(catalog):
    """In a notebook the caller's loop is running; the call has a loop of its own."""
    with_loop = Dispatcher(catalog)
    assert with_loop.call_sync("add", {"a": 1, "b": 2}).value == 3
    with_loop.close()


def test_one_background_loop_serves_all_sync_calls(catalog):
    """A lock or a client of one call works in the next."""
    locks = []

    @catalog.tool
    async def locked() -> bool:
        """Use one lock for all calls."""
        if not locks:
            locks.append((asyncio.Lock(), asyncio.get_running_loop()))
        lock, loop = locks[0]
        async with lock:
            return asyncio.get_running_loop() is loop

    dispatcher = Dispatcher(catalog)
    assert [dispatcher.call_sync("locked").value for _ in range(3)] == [True] * 3
    dispatcher.close()


def test_an_unclosed_dispatcher_leaves_no_thread(catalog):
    """Its background loop ends with it. Tasks in that loop are cancelled and may clean up."""
    ended = []

    @catalog.tool
    async def begin() -> str:
        """Begin something, and leave it."""

        async def linger():
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        begun.append(asyncio.create_task(linger()))
        await asyncio.sleep(0)
        return "begun"

    begun: list[asyncio.Task[None]] = []
    others = set(threading.enumerate())
    for _ in range(3):
        assert Dispatcher(catalog).call_sync("begin").text == "begun"
    begun.clear()
    gc.collect()
    for thread in set(threading.enumerate()) - others:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert ended == [True] * 3


@pytest.mark.parametrize("door", ["call", "call_sync"])
async def test_a_sync_tool_may_call_others(catalog, door):
    """It uses `call_sync` in its thread, and may have been called in any way."""
    dispatcher = Dispatcher(catalog)

    @catalog.tool
    def outer(n: int) -> int:
        """Call another tool."""
        return dispatcher.call_sync("add", {"a": n, "b": 1}).value

    if door == "call":
        assert (await dispatcher.call("outer", {"n": 1})).value == 2
    else:
        assert dispatcher.call_sync("outer", {"n": 1}).value == 2
    dispatcher.close()


async def test_sync_tools_that_call_others_do_not_wait_in_a_circle(catalog):
    """A thread that only waits lends its slot, however few there are; afterwards the cap holds again."""
    dispatcher = Dispatcher(catalog, max_concurrency=2)

    @catalog.tool(concurrency_safe=True)
    def nest(depth: int) -> int:
        """Call oneself."""
        return dispatcher.call_sync("nest", {"depth": depth - 1}).value + 1 if depth else 0

    results = await dispatcher.call_many([("nest", {"depth": 5})] * 4)
    assert [result.value for result in results] == [5] * 4
    await until(lambda: dispatcher.settings.threads.thread_count <= 2)
    dispatcher.close()


def test_call_sync_does_not_wait_for_itself(catalog):
    """It would hang in its own loop, and the error has the remedy."""
    dispatcher = Dispatcher(catalog)

    @catalog.tool
    async def outer() -> int:
        """Call another tool the wrong way."""
        return dispatcher.call_sync("add", {"a": 1, "b": 1}).value

    result = dispatcher.call_sync("outer")
    assert (result.kind, "await dispatcher.call" in result.text) == ("failed", True)
    dispatcher.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_exception_that_is_not_a_result_reaches_the_sync_caller(catalog, error):
    """The background loop goes on."""

    @catalog.tool
    async def stop() -> None:
        """Stop."""
        raise error

    dispatcher = Dispatcher(catalog, raise_bugs=True)
    with pytest.raises(error):
        dispatcher.call_sync("stop")
    assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
    dispatcher.close()


def test_interrupting_a_waiting_caller_cancels_the_call():
    """The call may clean up before the interrupt propagates."""
    background, cleaned = BackgroundLoop(cleanup_seconds=5), []

    async def hang() -> None:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            background.wait_for(hang)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert cleaned == [True]
    background.close()


def test_a_caller_gets_an_error_if_the_dispatcher_is_closed_during_the_call(catalog):
    started = threading.Event()

    @catalog.tool
    async def hang() -> None:
        """Hang."""
        started.set()
        await asyncio.Event().wait()

    dispatcher, errors = Dispatcher(catalog), []

    def wait() -> None:
        try:
            dispatcher.call_sync("hang")
        except RuntimeError as error:
            errors.append(str(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert started.wait(5)
    dispatcher.close()
    waiting.join(5)
    assert errors == ["the dispatcher is closed"]


def test_closing_a_dispatcher_from_its_event_loop_is_refused(catalog):
    """It would wait for itself. The dispatcher can still be closed later."""
    before, dispatcher = our_threads(), Dispatcher(catalog)

    @catalog.tool
    async def close() -> None:
        """Close the dispatcher."""
        dispatcher.close()

    assert dispatcher.call_sync("close").kind == "failed"
    threads = [thread for thread in our_threads() if thread not in before]
    dispatcher.close()
    assert have_ended(threads)


async def test_closing_ends_threads_and_loops(catalog):
    """No thread is left, and closing twice does no harm."""
    before = our_threads()
    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("shout", {"text": "hi"})).text == "HI"
        assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
        threads = [thread for thread in our_threads() if thread not in before]
        assert len(threads) == 2
    assert have_ended(threads)
    dispatcher.close()


async def test_a_closed_dispatcher_refuses_sync_calls_and_sync_tools(catalog):
    """`call_sync` raises, a tool that needs a thread is an error, and an async tool still runs."""
    dispatcher = Dispatcher(catalog)
    dispatcher.close()
    with pytest.raises(RuntimeError, match="closed"):
        dispatcher.call_sync("add", {"a": 1, "b": 2})
    assert (await dispatcher.call("shout", {"text": "hi"})).kind == "failed"
    assert (await dispatcher.call("add", {"a": 1, "b": 2})).value == 3


def test_a_closed_background_loop_accepts_no_work():
    """It can be closed again."""
    background = BackgroundLoop(cleanup_seconds=1)
    background.close()
    background.close()
    with pytest.raises(RuntimeError, match="closed"):
        background.wait_for(lambda: asyncio.sleep(0))


def test_an_unclosed_dispatcher_leaves_no_thread_and_no_subscription(catalog):
    before = our_threads()
    dispatcher = Dispatcher(catalog)
    asyncio.run(dispatcher.call("shout", {"text": "hi"}))
    reference, threads = weakref.ref(dispatcher), [thread for thread in our_threads() if thread not in before]
    assert threads
    del dispatcher
    for thread in threads:
        # The last job is dropped by its thread in its own time; only then does the end begin.
        for _ in range(500):
            gc.collect()
            thread.join(0.01)
            if not thread.is_alive():
                break
    assert reference() is None
    assert have_ended(threads)
    assert not catalog._listeners
