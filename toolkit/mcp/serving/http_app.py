"""Serve over streamable HTTP: an ASGI application for uvicorn, or for a part of another application."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Unpack

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from ..._option_checks import require_list
from ...dispatcher import Dispatcher
from .conversations import SessionOwners
from .http_guard import HttpGuard, TokenCheck, Tokens, is_loopback
from .tool_server import ServerOptions, ToolServer, build_server

__all__ = ["HttpApp", "http_app"]

_MAX_BODY_BYTES = 4 * 1024 * 1024
_BODY_SECONDS = 30.0


def http_app(
    dispatcher: Dispatcher,
    *,
    host: str = "127.0.0.1",
    tokens: Tokens | None = None,
    origins: Sequence[str] = (),
    path: str = "/mcp",
    max_body_bytes: int = _MAX_BODY_BYTES,
    body_seconds: float = _BODY_SECONDS,
    **options: Unpack[ServerOptions],
) -> HttpApp:
    """
    Return an ASGI application that serves the tools of *dispatcher*: `uvicorn.run(http_app(dispatcher))`.

    Args:
        dispatcher: The dispatcher that runs the calls, with its policies.
        host: The address that the application listens on. Every address but loopback needs *tokens*.
        tokens: The bearer token that clients send; or a dictionary from tokens to the names of their users; or a
            function that returns the user of a token, or None. The user is the principal of the calls.
        origins: The origins of web pages that may use the server, such as "https://chat.example".
        path: The path of the only address that the application has.
        max_body_bytes: The largest request that is read.
        body_seconds: How long a client may take to send a request.
        options: The options of the server, which `ServerOptions` explains.

    Raises:
        ValueError: *host* is not loopback, and there are no tokens.
    """
    if not isinstance(host, str) or not host:
        raise TypeError(f"host is the address that the application listens on, got {host!r:.60}")
    if tokens is None and not is_loopback(host):
        raise ValueError(
            f"a server on {host} can be reached from other machines, so it needs a token; give tokens=..., or listen "
            "on 127.0.0.1"
        )
    if not path.startswith("/"):
        raise ValueError(f"path starts with a slash, got {path!r}")
    if not max_body_bytes > 0:
        raise ValueError(f"max_body_bytes has to be above 0, got {max_body_bytes!r}")
    if not body_seconds > 0:
        raise ValueError(f"body_seconds has to be above 0, got {body_seconds!r}")
    return HttpApp(
        build_server(dispatcher, **options),
        path,
        tokens=None if tokens is None else TokenCheck(tokens),
        is_local=is_loopback(host),
        origins=require_list(origins, "origins", "addresses"),
        max_body_bytes=max_body_bytes,
        body_seconds=body_seconds,
    )


class HttpApp:
    """
    An ASGI application for one server. `http_app` makes it, with the options of `HttpGuard`.

    Attributes:
        server: The server.
    """

    def __init__(self, server: ToolServer, path: str, *, max_body_bytes: int, **guard_options: Any) -> None:
        self.server = server
        self._path = path
        self._manager = StreamableHTTPSessionManager(
            server,
            # The guard has checked the host and the origin.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=max_body_bytes,
        )
        self._is_running = False
        self._owners = SessionOwners(server.conversations)
        server.middleware.append(self._owners)
        self._guard = HttpGuard(
            self._manager.handle_request, owners=self._owners, max_body_bytes=max_body_bytes, **guard_options
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """
        Serve until the block ends.

        A web server does this itself. An application that mounts this one does it in its own lifespan, because web
        servers do not start the parts of an application.
        """
        async with self._manager.run():
            self._is_running = True
            try:
                yield
            finally:
                self._is_running = False

    def end_subscriptions(self) -> None:
        """
        End the connections of clients that only wait for changes. Call this on the event loop that serves.

        A web server that stops waits for its connections before it tells the application so.
        """
        self.server.end_subscriptions()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of a web server."""
        if scope["type"] == "lifespan":
            await self._handle_lifespan(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
        elif not self._is_running:
            raise RuntimeError(
                "the MCP application is not started: the web server has to support lifespan, and an application that "
                "mounts this one enters `async with app.running():` in its own lifespan"
            )
        elif scope["path"].removeprefix(scope.get("root_path", "")).rstrip("/") != self._path.rstrip("/"):
            response = PlainTextResponse(f"the address of the MCP server is {self._path}", 404)
            await response(scope, receive, send)
        else:
            await self._guard(scope, receive, send)

    async def _handle_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with self.running():
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.shutdown.complete"})
