"""
The response to a call over HTTP that may take long.

A quick call is answered with JSON. If a call takes longer, the response becomes a stream of events, and empty events
keep proxies from closing the connection until the answer is there. A client that goes away stops its call.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from .http_guard import Receive, Send, send_json

__all__ = ["CallCancelledError", "ClientGoneError", "EventResponse"]

T = TypeVar("T")

_PING_SECONDS = 15.0
_EVENT_HEADERS = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]


class ClientGoneError(Exception):
    """The client has closed the connection, so no one gets an answer."""


class CallCancelledError(Exception):
    """The client has cancelled the call with a message, so it expects no answer."""


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

    async def wait_for(self, task: asyncio.Task[T], *, stops_with_client: bool) -> T:
        """
        Return the result of *task*, and keep the connection open meanwhile.

        Args:
            task: The work.
            stops_with_client: Whether the work is stopped if the client closes the connection.

        Raises:
            ClientGoneError: The client has gone. The work is stopped.
            CallCancelledError: The work was cancelled from elsewhere.
        """
        watcher = asyncio.get_running_loop().create_task(self._wait_for_disconnect()) if stops_with_client else None
        waited: set[asyncio.Task[Any]] = {task} if watcher is None else {task, watcher}
        try:
            while not task.done():
                await asyncio.wait(waited, timeout=self._ping_seconds, return_when=asyncio.FIRST_COMPLETED)
                if watcher is not None and watcher.done() and not task.done():
                    raise ClientGoneError
                if not task.done():
                    await self._ping()
            if task.cancelled():
                raise CallCancelledError
            return task.result()
        finally:
            if watcher is not None:
                watcher.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _wait_for_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _start(self) -> None:
        if not self.is_started:
            self.is_started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _EVENT_HEADERS})

    async def _ping(self) -> None:
        await self._start()
        await self._send({"type": "http.response.body", "body": b": ping\r\n\r\n", "more_body": True})

    async def finish(self, message: bytes) -> None:
        """Send *message*, which is JSON text, as the end of the response."""
        if self.is_started:
            body = b"event: message\r\ndata: " + message + b"\r\n\r\n"
            await self._send({"type": "http.response.body", "body": body, "more_body": False})
        else:
            await send_json(self._send, 200, message)

    async def end(self) -> None:
        """End the response without an answer."""
        await self._start()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
