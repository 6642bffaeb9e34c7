"""
A dispatcher works in a forked child: real forks, real threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import threading
import traceback
import warnings

import pytest

from tests.clocks import until
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks.cache import Cache
from toolkit.hooks.stats import Stats

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def run_in_child(work):
    """Return what *work* returns, as text, in a forked child; fail if the child does not answer."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks beside threads, which is what these tests are about.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            answer = str(work())
        except BaseException:  # noqa: BLE001 -- the parent shows it
            answer = traceback.format_exc()
        os.write(writing, answer.encode()[:4000])
        os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], 30)
        if not ready:
            os.kill(pid, signal.SIGKILL)
        assert ready, "the child hangs"
        return os.read(reading, 4000).decode()
    finally:
        os.close(reading)
        os.waitpid(pid, 0)


@pytest.fixture
def catalog():
    """A sync and an async tool."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @catalog.tool(read_only=True)
    async def double(a: int) -> int:
        """Double."""
        await asyncio.sleep(0)
        return 2 * a

    return catalog


@pytest.fixture
def dispatcher(catalog):
    """A dispatcher whose threads and background loop are at work already."""
    dispatcher = Dispatcher(catalog)
    assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
    assert dispatcher.call_sync("double", {"a": 1}).value == 2
    yield dispatcher
    dispatcher.close()


def test_a_sync_tool_runs_in_a_child(dispatcher):
    """The child has threads of its own, in a loop of its own."""
    assert run_in_child(lambda: asyncio.run(dispatcher.call("add", {"a": 2, "b": 3})).text) == "5"
    assert asyncio.run(dispatcher.call("add", {"a": 3, "b": 3})).text == "6"


@pytest.mark.parametrize("call", [("add", {"a": 2, "b": 2}), ("double", {"a": 2})])
def test_call_sync_works_in_a_child_and_still_in_the_parent(dispatcher, call):
    """The child makes a new background loop, and leaves its parent's alone."""
    for _ in range(3):
        assert run_in_child(lambda: dispatcher.call_sync(*call).text) == "4"
        assert dispatcher.call_sync(*call).text == "4"


def test_a_child_can_close_what_it_inherited(dispatcher):
    """Its parent goes on."""

    def close():
        dispatcher.close()
        return "closed"

    assert run_in_child(close) == "closed"
    assert dispatcher.call_sync("add", {"a": 2, "b": 2}).text == "4"


def test_a_child_of_a_child_works_too(dispatcher):
    """Each generation makes its own threads."""

    def call():
        return dispatcher.call_sync("add", {"a": 2, "b": 2}).text

    assert run_in_child(lambda: call() + run_in_child(call)) == "44"


def test_locks_that_are_held_at_the_fork_do_not_stop_the_child(catalog):
    """Other threads hold every lock that a call needs, in the middle of what they do."""
    stats, cache = Stats(), Cache()
    dispatcher = Dispatcher(catalog, hooks=[stats, cache])
    assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
    settings, background = dispatcher._settings, dispatcher._background
    locks = [dispatcher._lock, background._lock, settings.abandoned._lock, stats._lock, cache._lock]
    locks += [pool._changed for pool in settings.pools]
    held, done = threading.Event(), threading.Event()

    def hold():
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(10)
    try:

        def call():
            first = dispatcher.call_sync("add", {"a": 2, "b": 2}).text
            return f"{first} {[record.calls for record in stats.snapshot()]} {dispatcher.abandoned}"

        assert run_in_child(call) == "4 [2] 0"
    finally:
        done.set()
        holder.join()
    dispatcher.close()


def test_a_child_forgets_the_stuck_calls_of_its_parent(catalog):
    """Their threads are not there, so the same call may run, and changes need not wait."""
    entered, release, runs = threading.Event(), threading.Event(), []

    @catalog.tool
    def hang() -> str:
        """Hang the first time."""
        runs.append(1)
        if len(runs) == 1:
            entered.set()
            release.wait(10)
        return "done"

    dispatcher = Dispatcher(catalog, max_concurrency=1)

    async def abandon():
        task = asyncio.ensure_future(dispatcher.call("hang"))
        await until(entered.is_set)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(abandon())
    assert (dispatcher.abandoned, dispatcher.abandoned_threads) == (1, 1)
    try:
        assert run_in_child(lambda: (dispatcher.abandoned_threads, dispatcher.call_sync("hang").text)) == "(0, 'done')"
    finally:
        release.set()
        dispatcher.close()


def test_a_tool_may_fork(catalog):
    """The thread that it runs in is the only one of the child."""

    @catalog.tool
    def fork() -> str:
        """Fork, and call in the child."""
        return run_in_child(lambda: dispatcher.call_sync("add", {"a": 2, "b": 2}).text)

    dispatcher = Dispatcher(catalog)
    assert dispatcher.call_sync("fork").text == "4"
    dispatcher.close()
