"""
The checks on an HTTP request before the protocol sees it: host, origin, token, size, strict JSON.

A server on the loopback address can be reached by every web page that the user opens, so requests of other origins and
of other host names are refused. A server on any other address needs a token.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from .bearer_tokens import TokenCheck
from .strict_messages import build_error_message, find_message_id, parse_message

__all__ = ["ASGIApp", "HttpGuard", "PlainCallAnswer", "Receive", "Scope", "Send", "is_loopback", "send_json"]

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
PlainCallAnswer: TypeAlias = Callable[[Scope, dict[bytes, bytes], Any, Receive, Send], Awaitable[bool]]
"""A function that answers a request itself, given its headers and its message; False if *app* has to answer it."""


_MAX_LENGTH_DIGITS = 20
_REQUEST_HEADERS = (
    *(b"Accept", b"Authorization", b"Content-Type", b"Last-Event-ID"),
    *(b"Mcp-Method", b"Mcp-Name", b"Mcp-Protocol-Version", b"Mcp-Session-Id"),
)
"""The headers that clients send, besides those that a browser lets every page send."""


def is_loopback(host: str) -> bool:
    """Return whether *host* is a name or an address of this machine that other machines cannot reach."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class HttpGuard:
    """
    An ASGI application that passes good requests on to *app*.

    Args:
        app: The application behind the guard.
        answer_plain_call: Answers requests that do not need the application.
        tokens: The check of bearer tokens; None if no token is needed.
        is_local: Whether only names of the loopback address are accepted as the host.
        origins: The origins of web pages that may send requests, such as "https://chat.example".
        max_body_bytes: The largest body that is read.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        answer_plain_call: PlainCallAnswer,
        tokens: TokenCheck | None,
        is_local: bool,
        origins: Iterable[str],
        max_body_bytes: int,
    ) -> None:
        self._app = app
        self._answer_plain_call = answer_plain_call
        self._tokens = tokens
        self._is_local = is_local
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one HTTP request."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        refusal = self._check_addresses(headers)
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
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await self._read_body(receive)
        if body is None:
            await _refuse(send, 413, self._explain_length())
            return
        try:
            message = parse_message(body)
        except ValueError as error:
            await send_json(send, 400, build_error_message(find_message_id(body), str(error)))
            return
        if not await self._answer_plain_call(scope, headers, message, receive, send):
            await self._app(scope, _replay(body, receive), send)

    def _check_addresses(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if self._is_local and not is_loopback(_host_name(f"//{host}")):
            return 421, f"the host {host[:100]!r} is not this server, which is for programs on this machine"
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not origin or origin.lower() in self._origins or (self._is_local and is_loopback(_host_name(origin))):
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


def _host_name(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


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


async def _refuse(send: Send, status: int, text: str) -> None:
    further = [(b"www-authenticate", b"Bearer")] if status == 401 else []
    await send_json(send, status, json.dumps({"error": text}).encode(), further)


async def send_json(send: Send, status: int, body: bytes, further: Iterable[tuple[bytes, bytes]] = ()) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *further]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
