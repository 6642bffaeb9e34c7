"""Run an application with uvicorn until the process is told to stop."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from .web_protocol import ImpatientProtocol

__all__ = ["open_listener", "run_app"]


def open_listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens on *host* and *port*, so that a mistake is found before anything runs."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


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
