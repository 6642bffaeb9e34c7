"""
The background loop of `call_sync`: every caller is freed when its dispatcher is closed.
"""

from __future__ import annotations

import asyncio
import threading

import pytest

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher

SOON = 0.02


class Caller(threading.Thread):
    """A thread that waits in `call_sync`, and keeps how that ended."""

    def __init__(self, dispatcher, name):
        super().__init__(daemon=True)
        self._call = lambda: dispatcher.call_sync(name)
        self.error = None

    def run(self):
        try:
            self._call()
        except RuntimeError as error:
            self.error = error


@pytest.fixture
def release():
    """Lets tools go on that hang; set at the end."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def dispatcher(release):
    """A dispatcher of tools that hang, and an event that tells when one is entered."""
    catalog, entered = Catalog(), threading.Event()

    @catalog.tool(read_only=True)
    async def ignore() -> None:
        """Ignore the cancellation, until the dispatcher is closed."""
        entered.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                continue

    @catalog.tool(read_only=True, timeout_seconds=60)
    async def ignore_with_limit() -> None:
        """Ignore the cancellation, in a task of its own."""
        entered.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                continue

    @catalog.tool(read_only=True)
    def block() -> None:
        """Hang in a thread."""
        entered.set()
        release.wait(30)

    @catalog.tool(read_only=True, thread=False)
    def block_the_loop() -> None:
        """Hang in the loop itself."""
        entered.set()
        release.wait(30)

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)
    dispatcher.entered = entered
    return dispatcher


@pytest.mark.parametrize("name", ["ignore", "ignore_with_limit", "block", "block_the_loop"])
def test_closing_frees_the_caller_of_any_tool(dispatcher, release, name):
    """Ignoring the cancellation, hanging in a thread and blocking the loop are not enough to keep the caller."""
    caller = Caller(dispatcher, name)
    caller.start()
    assert dispatcher.entered.wait(10)
    loop = dispatcher._background._loop
    loop.set_exception_handler(lambda loop, context: None)  # which hears that a task was left pending
    dispatcher.close()
    caller.join(10)
    assert not caller.is_alive()
    assert "the dispatcher is closed" in str(caller.error)
    release.set()
    dispatcher._background._thread.join(10)
    assert not dispatcher._background._thread.is_alive()


def test_a_call_after_the_close_is_refused_at_once(dispatcher):
    dispatcher.close()
    with pytest.raises(RuntimeError, match="the dispatcher is closed"):
        dispatcher.call_sync("block")


@pytest.mark.anyio
async def test_leaving_the_context_frees_callers_too(dispatcher):
    """`async with` closes in a thread, so its loop goes on meanwhile."""
    async with dispatcher:
        caller = Caller(dispatcher, "ignore")
        caller.start()
        await asyncio.get_running_loop().run_in_executor(None, dispatcher.entered.wait, 10)
        dispatcher._background._loop.set_exception_handler(lambda loop, context: None)
    caller.join(10)
    assert not caller.is_alive()
