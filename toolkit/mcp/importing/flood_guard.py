"""
Drops messages of a server that sends more of them than anyone needs.

The SDK starts a task for each notice and each request of a server. All servers share one event loop, so a server that
floods would take the time of the others. Answers to requests are never dropped.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest

__all__ = ["MessageBudget", "guard_transport"]

_MAX_BURST = 500
_MESSAGES_PER_SECOND = 100


@contextlib.asynccontextmanager
async def guard_transport(
    transport: AbstractAsyncContextManager[tuple[Any, Any]],
    on_dropped: Callable[[str], None],
    on_message: Callable[[JSONRPCMessage], None],
    on_end: Callable[[], None],
) -> AsyncIterator[tuple[Any, Any]]:
    """
    Yield the streams of *transport*. *on_dropped* is called with the method of each message that is dropped.

    *on_message* is called with each other message, which it may change, before the SDK checks it. *on_end* is called
    when no more messages can come.
    """
    async with transport as (read_stream, write_stream):
        yield _GuardedStream(read_stream, on_dropped, on_message, on_end), write_stream


class MessageBudget:
    """How many messages of a server are let through: *max_burst* at once, and *per_second* in the long run."""

    def __init__(self, max_burst: int, per_second: float) -> None:
        self._max_burst = self._left = float(max_burst)
        self._per_second = per_second
        self._last_time = time.monotonic()

    def take(self) -> bool:
        """Return whether one more message is let through, and count it if so."""
        now = time.monotonic()
        self._left = min(self._max_burst, self._left + (now - self._last_time) * self._per_second)
        self._last_time = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class _GuardedStream(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a server, without those that are too many."""

    def __init__(
        self,
        stream: Any,
        on_dropped: Callable[[str], None],
        on_message: Callable[[JSONRPCMessage], None],
        on_end: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._on_dropped = on_dropped
        self._on_message = on_message
        self._on_end = on_end
        self._budget = MessageBudget(_MAX_BURST, _MESSAGES_PER_SECOND)

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent, as some streams of the SDK know it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            try:
                item: SessionMessage | Exception = await self._stream.receive()
            except anyio.EndOfStream:
                self._on_end()
                raise
            if not isinstance(item, SessionMessage):
                return item
            message = item.message
            if not isinstance(message, (JSONRPCNotification, JSONRPCRequest)) or self._budget.take():
                self._on_message(message)
                return item
            self._on_dropped(message.method)

    async def aclose(self) -> None:
        await self._stream.aclose()
