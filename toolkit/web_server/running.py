"""
Run an application with uvicorn until the process is told to stop, with a time limit for the head of a request.

uvicorn waits without end for a client that has connected and never sends the last line of its headers. The time for the
body is limited by `RequestGuard`, under every web server.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["ImpatientProtocol", "open_listener", "run_app"]


def open_listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens on *host* and *port*, so that a mistake is found before anything runs."""
    listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    # Its connections have this option too. Without it, the body of each response waits until the client has confirmed
    # the head, which takes 40 milliseconds. asyncio sets it only for sockets that it has made itself.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


async def run_app(app: Any, listener: socket.socket, *, drain_seconds: int, on_stop: Callable[[], object]) -> None:
    """
    Serve *app* on *listener* until SIGINT or SIGTERM. Requests under way have *drain_seconds* to end.

    *on_stop* is called first: uvicorn waits for its connections, and those that only wait for news would never end.
    """

    class WebServer(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            on_stop()
            # What is cut off from here on is no error, and its traceback would hide what is one.
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            await super().shutdown(sockets)

    options: dict[str, Any] = {"http": ImpatientProtocol, "timeout_graceful_shutdown": drain_seconds}
    await WebServer(uvicorn.Config(app, log_level="warning", access_log=False, **options)).serve([listener])


_Protocol: Any = AutoHTTPProtocol  # uvicorn chooses the class when it is loaded


class ImpatientProtocol(_Protocol):  # type: ignore[misc]
    """One connection of a client, which may take `head_seconds` to send the head of a request."""

    head_seconds = 30.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_timer()

    def _watch(self) -> None:
        """Run the timer while there is no request to answer. What arrives meanwhile does not set it back."""
        if not self._lacks_request():
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._end_connection)

    def _lacks_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _end_connection(self) -> None:
        self._timer = None
        if self._lacks_request():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
