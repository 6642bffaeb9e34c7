"""
The checks on an HTTP request before the protocol sees it: host, origin, token, owner, size, time, strict JSON.

A server on the loopback address can be reached by every web page that the user opens, so requests of other origins and
of other host names are refused. A server on any other address needs a token. A session is for its owner alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import inspect
import ipaddress
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types import INVALID_REQUEST
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..._plumbing.wording import format_seconds
from .conversations import SessionOwners
from .strict_messages import build_error_message, find_message_id, parse_message

__all__ = ["HttpGuard", "TokenCheck", "Tokens", "is_loopback"]

Tokens: TypeAlias = "str | Mapping[str, str] | Callable[[str], Awaitable[str | None] | str | None]"

_MIN_TOKEN_CHARS = 16
_DEFAULT_USER = "user"
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
        tokens: The check of bearer tokens; None if no token is needed.
        is_local: Whether only names of the loopback address are accepted as the host.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        owners: SessionOwners,
        tokens: TokenCheck | None,
        is_local: bool,
        origins: Iterable[str],
        max_body_bytes: int,
        body_seconds: float,
    ) -> None:
        self._app = app
        self._owners = owners
        self._tokens = tokens
        self._is_local = is_local
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._max_body_bytes = max_body_bytes
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        refusal = _check_repetition(scope["headers"], headers) or self._check_addresses(headers)
        if refusal is None and (origin := headers.get(b"origin")):
            send = _allow_reading(send, origin)
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                await _build_preflight(headers)(scope, receive, send)  # a browser asks without the token
                return
        refusal = refusal or self._check_length(headers) or await self._check_user(scope, headers)
        body = refusal or await self._read_body(receive)
        if isinstance(body, bytes) and scope["method"] == "POST":
            body = _check_message(body) or body
        if isinstance(body, Response):
            await body(scope, receive, send)
        else:
            await self._app(scope, _replay(body, receive), send)

    def _check_addresses(self, headers: dict[bytes, bytes]) -> Response | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if self._is_local and not _names_this_machine(host):
            return _refuse(421, f"the host {host[:100]!r} is not this server, which is for programs on this machine")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not origin or origin.lower() in self._origins:
            return None
        page = _WEB_ORIGIN.fullmatch(origin)
        if self._is_local and page is not None and _names_this_machine(page[1]):
            return None
        return _refuse(403, f"web pages of {origin[:100]!r} may not use this server; allow them with origins=[...]")

    def _check_length(self, headers: dict[bytes, bytes]) -> Response | None:
        length = headers.get(b"content-length", b"")
        # Python refuses to read a number of thousands of digits.
        is_long = length.isdigit() and (len(length) > _MAX_LENGTH_DIGITS or int(length) > self._max_body_bytes)
        return self._refuse_length() if is_long else None

    async def _check_user(self, scope: Scope, headers: dict[bytes, bytes]) -> Response | None:
        if self._tokens is not None:
            header = headers.get(b"authorization")
            user = await self._tokens.find_user(None if header is None else header.decode("latin-1"))
            if user is None:
                text = "a bearer token is needed: send `Authorization: Bearer TOKEN`"
                return _refuse(401, text, {"www-authenticate": "Bearer"})
            scope["user"] = user
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

    def _refuse_length(self) -> Response:
        return _refuse(413, f"a request has at most {self._max_body_bytes:,} bytes")


def _names_this_machine(authority: str) -> bool:
    """Return whether *authority* is a name of this machine, with or without a port, and nothing else."""
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and is_loopback(match[1])


def _check_repetition(pairs: list[tuple[bytes, bytes]], headers: dict[bytes, bytes]) -> Response | None:
    if len(pairs) == len(headers):
        return None
    names = [name for name, _ in pairs]
    repeated = next((name for name in names if name in _SINGLE_HEADERS and names.count(name) > 1), None)
    return None if repeated is None else _refuse(400, f"the header {repeated.decode()!r} stands twice; send it once")


def _check_message(body: bytes) -> Response | None:
    try:
        parse_message(body)
    except ValueError as error:
        return _refuse_message(400, build_error_message(find_message_id(body), str(error)))
    return None


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


def _build_preflight(headers: dict[bytes, bytes]) -> Response:
    """Return the answer to a browser that asks which requests a page may send."""
    names = [name.strip() for name in headers.get(b"access-control-request-headers", b"").decode("latin-1").split(",")]
    # Arguments that the protocol repeats in headers have names that the tools choose.
    parameters = [name for name in names if name.lower().startswith("mcp-param-")]
    further = {
        "access-control-allow-methods": "GET, POST, DELETE",
        "access-control-allow-headers": ", ".join([*_REQUEST_HEADERS, *parameters]),
        "access-control-max-age": "600",
    }
    return Response(status_code=204, headers=further)


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


class TokenCheck:
    """
    Finds the user of a token.

    Args:
        tokens: One token, whose user is called "user"; or the users by their tokens; or a function, sync or async, that
            returns the user of a token, or None.
    """

    def __init__(self, tokens: Tokens) -> None:
        self._find = tokens if callable(tokens) else None
        self._users: list[tuple[bytes, AuthenticatedUser]] = []
        if callable(tokens):
            return
        named = {tokens: _DEFAULT_USER} if isinstance(tokens, str) else dict(tokens)
        if not named:
            raise ValueError("tokens cannot be empty; give at least one, or none for a server on the loopback address")
        for token, user in named.items():
            if not isinstance(token, str) or not isinstance(user, str) or not user:
                raise TypeError("tokens are a text, or a dictionary from tokens to the names of their users")
            if len(token) < _MIN_TOKEN_CHARS:
                raise ValueError(
                    f"the token of {user!r} has {len(token)} characters, and needs at least {_MIN_TOKEN_CHARS}; make "
                    "one with secrets.token_urlsafe(32)"
                )
            self._users.append((_digest(token), _build_user(token, user)))

    async def find_user(self, header: str | None) -> AuthenticatedUser | None:
        """Return the user that the `Authorization` header names; None if it is missing or wrong."""
        scheme, _, token = (header or "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return None
        if self._find is not None:
            answer = self._find(token)
            user = await answer if inspect.isawaitable(answer) else answer
            return _build_user(token, user) if user else None
        digest, match = _digest(token), None
        # All tokens are compared, so that the time it takes does not show which one is nearly right.
        for known, known_user in self._users:
            if hmac.compare_digest(known, digest):
                match = known_user
        return match


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def _build_user(token: str, user: str) -> AuthenticatedUser:
    return AuthenticatedUser(AccessToken(token=token, client_id=user, subject=user, scopes=[]))
