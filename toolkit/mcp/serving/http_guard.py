"""
The checks on an HTTP request before the protocol sees it: host, origin, token, owner, size, time, strict JSON.

A server on the loopback address can be reached by every web page that the user opens, so requests of other origins and
of other host names are refused. A server on any other address needs a token. A session is for its owner alone.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

from mcp_types import INVALID_REQUEST

from ..._plumbing.wording import format_seconds
from .bearer_tokens import TokenCheck
from .session_owners import SessionOwners
from .strict_messages import build_error_message, find_message_id, parse_message

__all__ = ["ASGIApp", "HttpGuard", "Receive", "Scope", "Send", "is_loopback", "send_json"]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_MAX_LENGTH_DIGITS = 20
_REQUEST_HEADERS = (
    *(b"Accept", b"Authorization", b"Content-Type", b"Last-Event-ID"),
    *(b"Mcp-Method", b"Mcp-Name", b"Mcp-Protocol-Version", b"Mcp-Session-Id"),
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
    An ASGI application that passes good requests on to *app*.

    Args:
        app: The application behind the guard.
        owners: Knows whose sessions are open.
        tokens: The check of bearer tokens; None if no token is needed.
        is_local: Whether only names of the loopback address are accepted as the host.
        origins: The origins of web pages that may send requests, such as "https://chat.example".
        max_body_bytes: The largest body that is read.
        body_seconds: How long a client may take to send its body.
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
        if refusal is None:
            origin = headers.get(b"origin")
            if origin:
                send = _allow_reading(send, origin)
                if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                    await _answer_preflight(send, headers)  # a browser asks without the token
                    return
            refusal = self._check_length(headers)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        if self._tokens is not None:
            header = headers.get(b"authorization")
            user = await self._tokens.find_user(None if header is None else header.decode("latin-1"))
            if user is None:
                await _refuse(send, 401, "a bearer token is needed: send `Authorization: Bearer TOKEN`")
                return
            scope["user"] = user
        if not self._owners.may_touch(headers.get(b"mcp-session-id", b""), scope.get("user")):
            await send_json(send, 404, build_error_message(None, "Session not found", INVALID_REQUEST))
            return
        try:
            async with asyncio.timeout(self._body_seconds):
                body = await self._read_body(receive)
        except TimeoutError:
            text = f"the request was not sent whole within {format_seconds(self._body_seconds)}"
            await _refuse(send, 408, text, [(b"connection", b"close")])
            return
        if body is None:
            await _refuse(send, 413, self._explain_length())
            return
        if scope["method"] == "POST":
            try:
                parse_message(body)
            except ValueError as error:
                await send_json(send, 400, build_error_message(find_message_id(body), str(error)))
                return
        await self._app(scope, _replay(body, receive), send)

    def _check_addresses(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if self._is_local and not _names_this_machine(host):
            return 421, f"the host {host[:100]!r} is not this server, which is for programs on this machine"
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not origin or origin.lower() in self._origins:
            return None
        page = _WEB_ORIGIN.fullmatch(origin)
        if self._is_local and page is not None and _names_this_machine(page[1]):
            return None
        return 403, f"web pages of {origin[:100]!r} may not use this server; allow them with origins=[...]"

    def _check_length(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        length = headers.get(b"content-length", b"")
        # Python refuses to read a number of thousands of digits.
        if length.isdigit() and (len(length) > _MAX_LENGTH_DIGITS or int(length) > self._max_body_bytes):
            return 413, self._explain_length()
        return None

    def _explain_length(self) -> str:
        return f"a request has at most {self._max_body_bytes:,} bytes"

    async def _read_body(self, receive: Receive) -> bytes | None:
        """Return the body of the request; None if it is too long. No more than the limit is kept in memory."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b"".join(parts)  # the client has gone, and the application finds that out itself
            part = message.get("body", b"")
            size += len(part)
            if size > self._max_body_bytes:
                return None
            parts.append(part)
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)


def _names_this_machine(authority: str) -> bool:
    """Return whether *authority* is a name of this machine, with or without a port, and nothing else."""
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and is_loopback(match[1])


def _check_repetition(pairs: list[tuple[bytes, bytes]], headers: dict[bytes, bytes]) -> tuple[int, str] | None:
    if len(pairs) == len(headers):
        return None
    names = [name for name, _ in pairs]
    repeated = next((name for name in names if name in _SINGLE_HEADERS and names.count(name) > 1), None)
    return None if repeated is None else (400, f"the header {repeated.decode()!r} stands twice; send it once")


def _allow_reading(send: Send, origin: bytes) -> Send:
    """Return a *send* that lets pages of *origin*, which may use the server, read the response in a browser."""
    further = [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"Mcp-Session-Id, WWW-Authenticate"),
        (b"vary", b"Origin"),
    ]

    async def send_readable(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *further]}
        await send(message)

    return send_readable


async def _answer_preflight(send: Send, headers: dict[bytes, bytes]) -> None:
    """Tell a browser which requests the page that it asks for may send."""
    names = [name.strip() for name in headers.get(b"access-control-request-headers", b"").split(b",")]
    # Arguments that the protocol repeats in headers have names that the tools choose.
    parameters = [name for name in names if name.lower().startswith(b"mcp-param-")]
    further = [
        (b"access-control-allow-methods", b"GET, POST, DELETE"),
        (b"access-control-allow-headers", b", ".join([*_REQUEST_HEADERS, *parameters])),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": further})
    await send({"type": "http.response.body", "body": b""})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives *body* first, and then what the connection gives."""
    is_given = False

    async def replay() -> MutableMapping[str, Any]:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _refuse(send: Send, status: int, text: str, further: Iterable[tuple[bytes, bytes]] = ()) -> None:
    if status == 401:
        further = [(b"www-authenticate", b"Bearer")]
    await send_json(send, status, json.dumps({"error": text}).encode(), further)


async def send_json(send: Send, status: int, body: bytes, further: Iterable[tuple[bytes, bytes]] = ()) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *further]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
