"""A hook that remembers the results of read-only tools."""

from __future__ import annotations

import asyncio
import copy
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from .._plumbing.forks import unlock_in_children
from .._plumbing.newest_items import NewestItems
from ..results import ToolCall, ToolResult
from .base import Run

__all__ = ["Cache"]

_Key: TypeAlias = tuple[Any, ...]


class Cache:
    """
    A hook that answers a read-only call from memory if the same call was answered before.

    Calls are the same if they have the same tool, arguments, session and principal. Errors are not kept. Any other call
    of the session may have changed something outside, so it clears the results of that session. If several equal calls
    are made at once, one runs and the others wait for it.

    Args:
        size: How many results are kept; the one that was unused for the longest time is dropped first.
        seconds: How long a result may be used.
        key: For tools that take a `Context` or resources, a function that returns what else their result depends on.
            Without it, these tools are not cached.
    """

    def __init__(
        self,
        *,
        size: int = 1000,
        seconds: float = 300.0,
        key: Callable[[ToolCall], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if size < 1 or seconds <= 0:
            raise ValueError("a cache needs room for one result, and a time above 0")
        self._seconds = seconds
        self._extra_key = key
        self._clock = clock
        self._results: NewestItems[_Key, tuple[float, ToolResult]] = NewestItems(size)
        self._running: dict[_Key, asyncio.Future[ToolResult | None]] = {}
        # A dispatcher serves several event loops: those of its callers, and the one behind `call_sync`.
        self._lock = unlock_in_children(threading.Lock())

    async def around(self, call: ToolCall, run: Run) -> ToolResult:
        if not call.tool.facts.read_only:
            self._drop_session(call.session_key)
            try:
                return await run()
            finally:
                self._drop_session(call.session_key)  # A result that was read while the call ran may be out of date.
        key = self._key(call)
        if key is None:
            return await run()
        while True:
            cached = self._get_cached(key)
            if cached is not None:
                return _copy(cached)
            leader = self._running.get(key)
            if leader is None or leader.get_loop() is not asyncio.get_running_loop():
                return await self._run_and_share(key, run)
            # The wait is shielded, because each waiting call may be cancelled without stopping the call that runs.
            result = await asyncio.shield(leader)
            # None means that the call was cancelled, or that its result may not be kept. Then another call runs.
            if result is not None:
                return _copy(result)

    async def _run_and_share(self, key: _Key, run: Run) -> ToolResult:
        future: asyncio.Future[ToolResult | None] = asyncio.get_running_loop().create_future()
        self._running[key] = future
        cacheable: ToolResult | None = None
        try:
            result = await run()
            if result.kind == "ok" and self._running.get(key) is future:
                cacheable = _copy(result)
                with self._lock:
                    self._results[key] = (self._clock() + self._seconds, cacheable)
            return result
        finally:
            if self._running.get(key) is future:
                del self._running[key]
            if not future.done():
                future.set_result(cacheable)

    def _get_cached(self, key: _Key) -> ToolResult | None:
        with self._lock:
            until, result = self._results.get(key, (0.0, None))
            if result is None or self._clock() >= until:
                self._results.pop(key, None)
                return None
            self._results.move_to_end(key)
            return result

    def _drop_session(self, session: str) -> None:
        with self._lock:
            for key in [key for key in self._results if key[0] == session]:
                del self._results[key]
        # A read that is still running began before the change, so its result is not kept.
        for key in [key for key in list(self._running) if key[0] == session]:
            self._running.pop(key, None)

    def _key(self, call: ToolCall) -> _Key | None:
        extra = None
        if call.tool.signature.injected:
            if self._extra_key is None:
                return None
            extra = self._extra_key(call)
        identity = (call.tool.origin, call.tool.about, call.tool.facts.version)
        return (call.session_key, call.principal, identity, call.digest(), extra)


def _copy(result: ToolResult) -> ToolResult:
    """Return a copy of *result* that no other code holds, because outer hooks may change it."""
    copied = copy.copy(result)
    copied.value = copy.deepcopy(result.value)
    copied.parts = copy.deepcopy(result.parts)
    copied.metadata = copy.deepcopy(result.metadata)
    copied.returned = None  # the cache would keep an object alive, and share it between calls
    return copied
