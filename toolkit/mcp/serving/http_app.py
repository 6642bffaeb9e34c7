"""Serve over streamable HTTP: an ASGI application for uvicorn, or for a part of another application."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import warnings
from collections.abc import AsyncIterator, Sequence
from typing import Any, Unpack

from mcp.server.context import CallNext, HandlerResult
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from ..._option_checks import require_list
from ...approvals.records import ApprovalError
from ...context import ClientRequest, current_request
from ...dispatcher import Dispatcher
from ...errors import ToolkitWarning
from ...web_server.request_guard import is_loopback
from .auth import METADATA_PATH, Auth, FindUser
from .conversations import RequestContext
from .http_guard import HttpGuard, read_chosen_headers
from .request_page import RequestPage
from .tool_server import ServerOptions, ToolServer, build_judged_server

__all__ = ["HttpApp", "http_app"]

_log = logging.getLogger("toolkit")

_MAX_BODY_BYTES = 4 * 1024 * 1024
_BODY_SECONDS = 30.0
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_SECRET_HEADERS = ("authorization", "cookie")
_STATUS_PATHS = ("/health", "/ready")


def http_app(
    dispatcher: Dispatcher,
    *,
    host: str = "127.0.0.1",
    auth: Auth | FindUser | None = None,
    origins: Sequence[str] = (),
    request_headers: Sequence[str] = (),
    path: str = "/mcp",
    stateless: bool = False,
    max_body_bytes: int = _MAX_BODY_BYTES,
    body_seconds: float = _BODY_SECONDS,
    **options: Unpack[ServerOptions],
) -> HttpApp:
    """
    Return an ASGI application that serves the tools of *dispatcher*: `uvicorn.run(http_app(dispatcher))`.

    Args:
        dispatcher: The dispatcher that runs the calls, with its policies.
        host: The address that the application listens on. Every address but loopback needs *auth*.
        auth: Who may use the server: `Auth.jwt(...)`, `Auth.introspect(...)`, `Auth.token(...)`, or a function that
            returns the user of a token, or None. The user is the principal of the calls.
        origins: The origins of web pages that may use the server, such as "https://chat.example".
        request_headers: The names of the HTTP headers that tools see in `context.request.headers`.
        path: The path of the MCP server. The others are `/health` and `/ready`, and the pages of calls that wait.
        stateless: Whether clients of revision 2025-11-25 and older get no session, so that every process of the server
            can answer every request. Newer clients never have one.
        max_body_bytes: The largest request that is read.
        body_seconds: How long a client may take to send a request.
        options: The options of the server, which `ServerOptions` explains.

    Raises:
        ValueError: *host* is not loopback, and *auth* is not given; or another option cannot be used.
    """
    if not isinstance(host, str) or not host:
        raise TypeError(f"host is the address that the application listens on, got {host!r:.60}")
    if auth is None and not is_loopback(host):
        raise ValueError(
            f"a server on {host} can be reached from other machines, so it needs to know its users; give auth=..., or "
            "listen on 127.0.0.1"
        )
    if not path.startswith("/") or path.rstrip("/") in _STATUS_PATHS:
        raise ValueError(f"path starts with a slash, and is none of {', '.join(_STATUS_PATHS)}; got {path!r}")
    if not isinstance(stateless, bool):
        raise TypeError(f"stateless is True or False, got {stateless!r:.60}")
    if not max_body_bytes > 0:
        raise ValueError(f"max_body_bytes has to be above 0, got {max_body_bytes!r}")
    if not body_seconds > 0:
        raise ValueError(f"body_seconds has to be above 0, got {body_seconds!r}")
    auth = auth if auth is None or isinstance(auth, Auth) else Auth(auth)
    judges = [] if auth is None or auth.scope_judge is None else [auth.scope_judge]
    server = build_judged_server(dispatcher, judges, options, is_stateless=stateless)
    for mistake in (mistake for judge in judges for mistake in judge.mistakes(dispatcher.catalog)):
        warnings.warn(mistake, ToolkitWarning, stacklevel=2)
    return HttpApp(
        server,
        path,
        auth=auth,
        request_headers=_check_headers(request_headers),
        is_local=is_loopback(host),
        origins=require_list(origins, "origins", "addresses"),
        max_body_bytes=max_body_bytes,
        body_seconds=body_seconds,
    )


class HttpApp:
    """An ASGI application for one server. `http_app` makes it, with the options of `HttpGuard`."""

    def __init__(
        self,
        server: ToolServer,
        path: str,
        *,
        auth: Auth | None,
        request_headers: Sequence[str],
        **guard_options: Any,
    ) -> None:
        self.server = server
        self._path = path
        self._resource = None if auth is None else auth.describe_resource()
        self._request_headers = request_headers
        self._manager = StreamableHTTPSessionManager(
            server,
            stateless=server.is_stateless,
            # The guard has checked the host and the origin.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._is_running = False
        self._draining = asyncio.Event()
        server.middleware.append(self._note_request)
        guard_options |= {"find_tool": server.find_tool, "request_headers": request_headers}
        # The guard limits the body as well. What the SDK limits it with would read it once more.
        self._guard = HttpGuard(self._manager.asgi_app.app, auth=auth, **guard_options)
        self._page: RequestPage | None = None
        if server.is_stateless:
            server.waiting_calls.path = path
            self._page = RequestPage(server.waiting_calls, server.conversations, auth=auth, **guard_options)

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

    def drain(self) -> None:
        """
        Prepare to stop: `/ready` says no, and connections that only wait for news end. Calls go on.

        Call this on the event loop that serves, when the web server is told to stop. It waits for its connections
        before it tells the application so.
        """
        self._draining.set()
        self.server.end_subscriptions()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._handle_lifespan(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
        elif not self._is_running:
            raise RuntimeError(
                "the MCP application is not started: the web server has to support lifespan, and an application that "
                "mounts this one enters `async with app.running():` in its own lifespan"
            )
        elif (path := scope["path"].removeprefix(scope.get("root_path", "")).rstrip("/")) == self._path.rstrip("/"):
            await self._serve(scope, receive, send)
        elif path in _STATUS_PATHS:
            reason = await self._find_unreadiness() if path == "/ready" else None
            await PlainTextResponse(reason or "ok", 503 if reason else 200)(scope, receive, send)
        elif self._page is not None and self.server.waiting_calls.find_page_id(path):
            await self._page(scope, receive, send)
        elif self._resource is not None and f"{path}/".startswith(f"{METADATA_PATH}/"):
            # Every page may read it, as its readers have no token yet.
            permission = {"access-control-allow-origin": "*", "access-control-allow-headers": "*"}
            await JSONResponse(self._resource, headers=permission)(scope, receive, send)
        else:
            response = PlainTextResponse(f"the address of the MCP server is {self._path}", 404)
            await response(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request to the address of the MCP server."""
        if self.server.is_stateless and scope["method"] in ("GET", "DELETE"):
            response = PlainTextResponse("this server is stateless: send POST", 405, {"allow": "POST"})
            await response(scope, receive, send)
        elif scope["method"] == "GET":
            await self._guard(scope, self._end_when_draining(receive), send)
        else:
            await self._guard(scope, receive, send)

    def _end_when_draining(self, receive: Receive) -> Receive:
        """Return a *receive* that says that the client has gone as soon as the server is about to stop."""

        async def receive_until_draining() -> Message:
            message, end = asyncio.ensure_future(receive()), asyncio.ensure_future(self._draining.wait())
            try:
                await asyncio.wait([message, end], return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else {"type": "http.disconnect"}
            finally:
                message.cancel()
                end.cancel()

        return receive_until_draining

    async def _find_unreadiness(self) -> str | None:
        """Return why no new request should come here; None if it may."""
        if self._draining.is_set():
            return "stopping"
        try:
            await self.server.waiting_calls.dispatcher.settings.store_runner.find_record("ready")
        except ApprovalError:
            _log.exception("the server is not ready, because its store of approvals does not work")
            return "the store of approvals does not work"
        return None

    async def _note_request(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        """Let the tools that run for a message see the request that it came with."""
        scope: Scope = {} if ctx.request is None else ctx.request.scope
        request = ClientRequest(
            principal=self.server.conversations.principal_of(ctx),
            scopes=frozenset(getattr(scope.get("auth"), "scopes", ())),
            headers=read_chosen_headers(scope, self._request_headers),
        )
        token = current_request.set(request)
        try:
            return await call_next(ctx)
        finally:
            current_request.reset(token)

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


def _check_headers(names: Sequence[str]) -> list[str]:
    lowered = [str(name).lower() for name in require_list(names, "request_headers", "names")]
    for name in lowered:
        if _HEADER.fullmatch(name) is None:
            raise ValueError(f"request_headers: {name!r:.60} is no name of a header")
        if name in _SECRET_HEADERS:
            raise ValueError(f"request_headers: {name!r} is for the server alone; tools get the user and the scopes")
    return lowered
