"""
The checks on an HTTP request before the protocol sees it: those of every server, user, strict JSON, scope.

A server on any other address than loopback needs a token. The SDK keeps a session for the user who opened it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp_types import INVALID_REQUEST
from starlette.authentication import AuthCredentials
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ...spec import Tool
from ...web_server.request_guard import SINGLE_HEADERS, RequestGuard, add_headers, refuse, replay
from .auth import Auth, build_user
from .issuer_pages import AuthError
from .strict_messages import build_error_message, find_message_id, has_wrong_id, parse_message

__all__ = ["HttpGuard", "read_chosen_headers"]

_REQUEST_HEADERS = (
    *("Accept", "Authorization", "Content-Type", "Last-Event-ID"),
    *("Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"),
)
"""The headers that clients send, besides those that a browser lets every page send."""

_READING_HEADERS = ((b"access-control-expose-headers", b"Mcp-Session-Id, WWW-Authenticate"), (b"vary", b"Origin"))
_SINGLE_HEADERS = SINGLE_HEADERS.union(b"mcp-method mcp-name mcp-protocol-version mcp-session-id".split())


class HttpGuard(RequestGuard):
    """
    An ASGI application that passes good requests on to *app*, within the limits that `http_app` explains.

    Args:
        auth: Finds the users; None if no token is needed.
        find_tool: Returns the tool of a name, or None.
        request_headers: The names of the headers that tools see, in small letters.
        limits: The options of `RequestGuard`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        auth: Auth | None,
        find_tool: Callable[[str], Tool | None],
        request_headers: Iterable[str],
        **limits: Any,
    ) -> None:
        self._request_headers = tuple(request_headers)
        own_headers = (name.encode() for name in self._request_headers)
        super().__init__(single_headers=_SINGLE_HEADERS.union(own_headers), **limits)
        self._app = app
        self._auth = auth
        self._find_tool = find_tool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        refusal = self._check_repetition(scope["headers"], headers) or self._check_addresses(headers)
        if refusal is None and (origin := headers.get(b"origin")):
            # Pages of this origin may use the server, so they may also read the response.
            send = add_headers(send, [(b"access-control-allow-origin", origin), *_READING_HEADERS])
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                await self._build_preflight(headers)(scope, receive, send)  # a browser asks without the token
                return
        try:
            refusal = refusal or self._check_length(headers)
            if refusal is None:
                scope["user"] = await self._find_user(scope, headers)
            body = refusal or await self._read_body(receive)
            if isinstance(body, bytes) and scope["method"] == "POST":
                body = self._check_message(body, scope) or body
        except AuthError as error:
            body = refuse(error.status, str(error), None if self._auth is None else self._auth.build_headers(error))
        if isinstance(body, Response):
            await body(scope, receive, send)
        else:
            await self._app(scope, replay(body, receive), send)

    def _build_preflight(self, headers: dict[bytes, bytes]) -> Response:
        """Return the answer to a browser that asks which requests a page may send."""
        asked = headers.get(b"access-control-request-headers", b"").decode("latin-1")
        # Arguments that the protocol repeats in headers have names that the tools choose.
        parameters = [name.strip() for name in asked.split(",") if name.strip().lower().startswith("mcp-param-")]
        further = {
            "access-control-allow-methods": "GET, POST, DELETE",
            "access-control-allow-headers": ", ".join([*_REQUEST_HEADERS, *self._request_headers, *parameters]),
            "access-control-max-age": "600",
        }
        return Response(status_code=204, headers=further)

    async def _find_user(self, scope: Scope, headers: dict[bytes, bytes]) -> Any:
        """Return the user of a request, in a form in which the SDK compares the users of a session."""
        user = scope.get("user")
        if self._auth is not None:
            header = headers.get(b"authorization")
            user = await self._auth.find_user(None if header is None else header.decode("latin-1"))
            scope["auth"] = AuthCredentials(user.scopes)
        elif user is not None and user.is_authenticated and not isinstance(user, AuthenticatedUser):
            user = build_user(str(user.display_name))  # an application that mounts this one has found the user
        return user

    def _check_message(self, body: bytes, scope: Scope) -> Response | None:
        try:
            message = parse_message(body)
        except ValueError as error:
            answer = build_error_message(find_message_id(body), str(error))
            return Response(answer, 400, media_type="application/json")
        if has_wrong_id(message):
            answer = build_error_message(None, "the id of a request is a text or a whole number", INVALID_REQUEST)
            return Response(answer, 400, media_type="application/json")
        tool = None if self._auth is None else self._find_tool(_find_tool_name(message))
        if self._auth is not None and tool is not None:
            self._auth.check_scopes(tool, scope["auth"].scopes)
        return None


def read_chosen_headers(scope: Scope, names: Iterable[str]) -> dict[str, str]:
    """Return the headers of a request that tools see, by their *names* in small letters."""
    headers: dict[bytes, bytes] = dict(scope.get("headers", ())) if names else {}
    return {name: headers[name.encode()].decode("latin-1") for name in names if name.encode() in headers}


def _find_tool_name(message: Any) -> str:
    """Return the name of the tool that *message* calls; empty if it calls none."""
    params = message.get("params") if isinstance(message, dict) and message.get("method") == "tools/call" else None
    name = params.get("name") if isinstance(params, dict) else None
    return name if isinstance(name, str) else ""
