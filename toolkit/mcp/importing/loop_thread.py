"""
An event loop in a thread of its own, in which the connections to servers live.

A call may come from any event loop, or from a thread without one. The connections go on in their own loop meanwhile,
also while the loop of the caller stands still.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from ...errors import ToolError

__all__ = ["LoopThread"]

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for callers from anywhere, until it is closed."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start *work* in the loop, and return the future of its outcome. Cancelling the future cancels the work."""
        if self._process != os.getpid():  # a child process has no such thread, and would wait for ever
            work.close()
            raise ToolError("the connections to MCP servers belong to another process; open `Servers` in this one")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await *work*, which runs in the loop of this thread. If the caller is cancelled, so is the work."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self, seconds: float = 10.0) -> None:
        """End the loop and its thread. All work in it has to be over."""
        if self._thread.is_alive() and self._process == os.getpid():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(seconds)
