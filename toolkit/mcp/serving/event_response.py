"""
The response to a call over HTTP that may take long.

A quick call is answered with JSON. If a call takes longer, the response becomes a stream of events, and empty events
keep proxies from closing the connection until the answer is there. A client that goes away stops its call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from .http_guard import Receive, Send, send_json

__all__ = ["ClientGoneError", "EventResponse"]

T = TypeVar("T")

_PING_SECONDS = 15.0
_EVENT_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]


class ClientGoneError(Exception):
    """The client has closed the connection, so no one gets an answer."""


class EventResponse:
    """
    The response to one request.

    Args:
        receive: Receives the messages of the web server about the request.
        send: Sends messages to the web server.
        ping_seconds: The longest time without an event.

    Attributes:
        is_started: Whether the response is a stream of events, and has begun.
    """

    def __init__(self, receive: Receive, send: Send, *, ping_seconds: float = _PING_SECONDS) -> None:
        self._receive = receive
        self._send = send
        self._ping_seconds = ping_seconds
        self.is_started = False

    async def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """
        Return the result of *work*, and keep the connection open meanwhile.

        Raises:
            ClientGoneError: The client has gone. The work is stopped.
        """
        loop = asyncio.get_running_loop()
        task, watcher = loop.create_task(work), loop.create_task(self._wait_for_disconnect())
        try:
            while not task.done():
                await asyncio.wait({task, watcher}, timeout=self._ping_seconds, return_when=asyncio.FIRST_COMPLETED)
                if watcher.done() and not task.done():
                    raise ClientGoneError
                if not task.done():
                    await self._ping()
            return task.result()
        finally:
            watcher.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _ping(self) -> None:
        if not self.is_started:
            self.is_started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _EVENT_HEADERS})
        await self._send({"type": "http.response.body", "body": b": ping\r\n\r\n", "more_body": True})

    async def finish(self, message: bytes) -> None:
        """Send *message*, which is JSON text, as the end of the response."""
        if self.is_started:
            body = b"event: message\r\ndata: " + message + b"\r\n\r\n"
            await self._send({"type": "http.response.body", "body": body, "more_body": False})
        else:
            await send_json(self._send, 200, message)
