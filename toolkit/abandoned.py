"""
Work that nobody waits for any more, and that could not be stopped.

A thread cannot be killed, and a coroutine may ignore its cancellation. Such a
call is kept in mind until it ends: it is not started again beside itself, and
others that must have no company wait for it, whatever loop they run in.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Abandoned", "Job"]


class Job:
    """Work for a thread. It can be called off until it starts, and tells when it is over."""

    __slots__ = ("_lock", "_state", "_then", "_work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._state = "waiting"
        self._then: Callable[[], object] | None = None

    def __call__(self) -> Any:
        with self._lock:
            if self._state != "waiting":
                return None
            self._state = "running"
        try:
            return self._work()
        finally:
            with self._lock:
                self._state = "over"
            if self._then is not None:
                self._then()

    def call_off(self) -> bool:
        """Keep it from starting; False if it has started."""
        with self._lock:
            was_waiting = self._state == "waiting"
            if was_waiting:
                self._state = "over"
            return was_waiting

    def when_over(self, then: Callable[[], object]) -> None:
        """Call *then* at the end, in the job's own thread; now, if that was before."""
        with self._lock:
            if self._state != "over":
                self._then = then
                return
        then()


class Abandoned:
    """
    The calls that still run although nobody waits for them.

    Attributes:
        alive: How many there are.
    """

    def __init__(self) -> None:
        self.alive = 0
        self._lock = threading.Lock()
        self._running: dict[object, tuple[str, bool]] = {}
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def add(self, digest: str, *, unsafe: bool) -> Callable[[], None]:
        """Keep a call in mind until what this returns is called, from any thread."""
        token = object()
        with self._lock:
            self._running[token] = (digest, unsafe)
            self.alive = len(self._running)
        return lambda: self._ended(token)

    def _ended(self, token: object) -> None:
        with self._lock:
            self._running.pop(token, None)
            self.alive = len(self._running)
            if self._has_unsafe():
                return
            waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            # The loop may be gone, and with it everyone who waited.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_settle, future)

    def _has_unsafe(self) -> bool:
        return any(unsafe for _, unsafe in self._running.values())

    def still_runs(self, digest: str) -> bool:
        with self._lock:
            return any(digest == running for running, _ in self._running.values())

    async def unsafe_ended(self, timeout_seconds: float | None) -> bool:
        """Wait until none runs that must have no company; False if time ran out first."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if not self._has_unsafe():
                return True
            self._waiting.append((loop, future))
        done, _ = await asyncio.wait({future}, timeout=timeout_seconds)
        return bool(done)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
