"""
The checks on an HTTP request before the protocol sees it: host, origin, user, owner, size, time, strict JSON, scope.

A server on the loopback address can be reached by every web page that the user opens, so requests of other origins and
of other host names are refused. A server on any other address needs a token. A session is for its owner alone.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Callable, Iterable
from typing import Any

from mcp_types import INVALID_REQUEST
from starlette.authentication import AuthCredentials
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..._plumbing.wording import format_seconds
from ...spec import Tool
from .auth import Auth
from .conversations import SessionOwners
from .issuer_pages import AuthError
from .strict_messages import build_error_message, find_message_id, parse_message

__all__ = ["HttpGuard", "is_loopback"]

_MAX_LENGTH_DIGITS = 20
_REQUEST_HEADERS = (
    *("Accept", "Authorization", "Content-Type", "Last-Event-ID"),
    *("Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"),
)
"""The headers that clients send, besides those that a browser lets every page send."""

_SINGLE_HEADERS = frozenset(
    b"authorization content-length content-type host last-event-id mcp-method mcp-name mcp-protocol-version "
    b"mcp-session-id origin".split()
)
"""Headers that decide something. Of two such headers, one reader would take the first and another one the last."""

_AUTHORITY = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_WEB_ORIGIN = re.compile(r"https?://(.*)", re.IGNORECASE | re.DOTALL)


def is_loopback(host: str) -> bool:
    """Return whether *host* is a name or an address of this machine that other machines cannot reach."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host).is_loopback
    except ValueError:
        return False


class HttpGuard:
    """
    An ASGI application that passes good requests on to *app*, within the limits that `http_app` explains.

    Args:
        owners: Knows whose sessions are open.
        auth: Finds the users; None if no token is needed.
        find_tool: Returns the tool of a name, or None.
        is_local: Whether only names of the loopback address are accepted as the host.
        request_headers: The names of the headers that tools see, in small letters.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        owners: SessionOwners,
        auth: Auth | None,
        find_tool: Callable[[str], Tool | None],
        is_local: bool,
        request_headers: Iterable[str],
        origins: Iterable[str],
        max_body_bytes: int,
        body_seconds: float,
    ) -> None:
        self._app = app
        self._owners = owners
        self._auth = auth
        self._find_tool = find_tool
        self._request_headers = tuple(request_headers)
        self._single_headers = _SINGLE_HEADERS.union(name.encode() for name in self._request_headers)
        self._is_local = is_local
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._max_body_bytes = max_body_bytes
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        refusal = _check_repetition(scope["headers"], headers, self._single_headers) or self._check_addresses(headers)
        if refusal is None and (origin := headers.get(b"origin")):
            send = _allow_reading(send, origin)
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                await self._build_preflight(headers)(scope, receive, send)  # a browser asks without the token
                return
        try:
            refusal = refusal or self._check_length(headers) or await self._check_user(scope, headers)
            body = refusal or await self._read_body(receive)
            if isinstance(body, bytes) and scope["method"] == "POST":
                body = self._check_message(body, scope) or body
        except AuthError as error:
            body = _refuse(error.status, str(error), None if self._auth is None else self._auth.build_headers(error))
        if isinstance(body, Response):
            await body(scope, receive, send)
        else:
            await self._app(scope, _replay(body, receive), send)

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

    def _check_addresses(self, headers: dict[bytes, bytes]) -> Response | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if self._is_local and not _names_this_machine(host):
            return _refuse(421, f"the host {host[:100]!r} is not this server, which is for programs on this machine")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not origin or origin.lower() in self._origins:
            return None
        page = _WEB_ORIGIN.fullmatch(origin)
        if page is not None and self._is_allowed_page(page[1], host):
            return None
        return _refuse(403, f"web pages of {origin[:100]!r} may not use this server; allow them with origins=[...]")

    def _is_allowed_page(self, authority: str, host: str) -> bool:
        """Return whether pages of the host *authority*, which `origins` does not name, may use the server at *host*."""
        return self._is_local and _names_this_machine(authority)

    def _check_length(self, headers: dict[bytes, bytes]) -> Response | None:
        length = headers.get(b"content-length", b"")
        # Python refuses to read a number of thousands of digits.
        is_long = length.isdigit() and (len(length) > _MAX_LENGTH_DIGITS or int(length) > self._max_body_bytes)
        return self._refuse_length() if is_long else None

    async def _check_user(self, scope: Scope, headers: dict[bytes, bytes]) -> Response | None:
        if self._auth is not None:
            header = headers.get(b"authorization")
            user = await self._auth.find_user(None if header is None else header.decode("latin-1"))
            scope["user"], scope["auth"] = user, AuthCredentials(user.scopes)
        if self._owners.may_touch(headers.get(b"mcp-session-id", b""), scope.get("user")):
            return None
        return _refuse_message(404, build_error_message(None, "Session not found", INVALID_REQUEST))

    async def _read_body(self, receive: Receive) -> bytes | Response:
        """Return the body of the request, or the refusal. No more than the limit is kept in memory."""
        body = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return bytes(body)  # the client has gone, and the application finds that out itself
                    body += message.get("body", b"")
                    if len(body) > self._max_body_bytes:
                        return self._refuse_length()
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            text = f"the request was not sent whole within {format_seconds(self._body_seconds)}"
            return _refuse(408, text, {"connection": "close"})

    def _check_message(self, body: bytes, scope: Scope) -> Response | None:
        try:
            message = parse_message(body)
        except ValueError as error:
            return _refuse_message(400, build_error_message(find_message_id(body), str(error)))
        tool = None if self._auth is None else self._find_tool(_find_tool_name(message))
        if self._auth is not None and tool is not None:
            self._auth.check_scopes(tool, scope["auth"].scopes)
        return None

    def _refuse_length(self) -> Response:
        return _refuse(413, f"a request has at most {self._max_body_bytes:,} bytes")


def _names_this_machine(authority: str) -> bool:
    """Return whether *authority* is a name of this machine, with or without a port, and nothing else."""
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and is_loopback(match[1])


def _check_repetition(
    pairs: list[tuple[bytes, bytes]], headers: dict[bytes, bytes], single_headers: frozenset[bytes]
) -> Response | None:
    if len(pairs) == len(headers):
        return None
    names = [name for name, _ in pairs]
    repeated = next((name for name in names if name in single_headers and names.count(name) > 1), None)
    return None if repeated is None else _refuse(400, f"the header {repeated.decode()!r} stands twice; send it once")


def _find_tool_name(message: Any) -> str:
    """Return the name of the tool that *message* calls; empty if it calls none."""
    params = message.get("params") if isinstance(message, dict) and message.get("method") == "tools/call" else None
    name = params.get("name") if isinstance(params, dict) else None
    return name if isinstance(name, str) else ""


def _allow_reading(send: Send, origin: bytes) -> Send:
    """Return a *send* that lets pages of *origin*, which may use the server, read the response in a browser."""
    further = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"Mcp-Session-Id, WWW-Authenticate"),
        (b"vary", b"Origin"),
    ]

    async def send_readable(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *further]}
        await send(message)

    return send_readable


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives *body* first, and then what the connection gives."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _refuse(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": text}, status, headers)


def _refuse_message(status: int, message: bytes) -> Response:
    return Response(message, status, media_type="application/json")
