"""
The checks on an HTTP request that every server of ours makes: headers that stand once, host, origin, size and time.

A server on the loopback address can be reached by every web page that the user opens, so requests of other origins and
of other host names are refused.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import re
from collections.abc import Iterable

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Send

from .._plumbing.wording import format_seconds

__all__ = ["SINGLE_HEADERS", "RequestGuard", "add_headers", "is_loopback", "refuse", "replay", "split_authority"]

_MAX_LENGTH_DIGITS = 20
_AUTHORITY = re.compile(r"([A-Za-z0-9.-]{1,255}|\[[0-9A-Fa-f:.]{1,45}\])(?::[0-9]{1,5})?")
_WEB_ORIGIN = re.compile(r"https?://(.*)", re.IGNORECASE | re.DOTALL)

SINGLE_HEADERS = frozenset(b"authorization content-length content-type host last-event-id origin".split())
"""Headers that decide something. Of two such headers, one reader would take the first and another one the last."""


@functools.lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Return whether *host* is a name or an address of this machine that other machines cannot reach."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host[1:-1] if host.startswith("[") and host.endswith("]") else host).is_loopback
    except ValueError:
        return False


def split_authority(authority: str) -> str | None:
    """Return the host in *authority*, which may have a port; None if it is something else."""
    match = _AUTHORITY.fullmatch(authority)
    return None if match is None else match[1]


def _names_this_machine(authority: str) -> bool:
    """Return whether *authority* is a name of this machine, with or without a port, and nothing else."""
    host = split_authority(authority)
    return host is not None and is_loopback(host)


class RequestGuard:
    """
    The checks themselves. A subclass makes them in its order, and adds its own.

    Args:
        is_local: Whether only names of the loopback address are accepted as the host.
        origins: The origins of web pages that may use the server, besides those that a subclass allows.
        single_headers: The names of the headers that may stand once only.
        max_body_bytes: The largest request that is read.
        body_seconds: How long a client may take to send a request.
    """

    def __init__(
        self,
        *,
        is_local: bool,
        origins: Iterable[str] = (),
        single_headers: frozenset[bytes] = SINGLE_HEADERS,
        max_body_bytes: int,
        body_seconds: float,
    ) -> None:
        self._is_local = is_local
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)
        self._single_headers = single_headers
        self._max_body_bytes = max_body_bytes
        self._body_seconds = body_seconds

    def _check_repetition(self, pairs: list[tuple[bytes, bytes]], headers: dict[bytes, bytes]) -> Response | None:
        if len(pairs) == len(headers):
            return None
        names = [name for name, _ in pairs]
        repeated = next((name for name in names if name in self._single_headers and names.count(name) > 1), None)
        return None if repeated is None else refuse(400, f"the header {repeated.decode()!r} stands twice; send it once")

    def _check_addresses(self, headers: dict[bytes, bytes]) -> Response | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_own_host(host):
            return refuse(421, f"the host {host[:100]!r} is not this server, which is for programs on this machine")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if not origin or origin.lower() in self._origins:
            return None
        page = _WEB_ORIGIN.fullmatch(origin)
        if page is not None and self._is_allowed_page(page[1], host):
            return None
        return refuse(403, f"web pages of {origin[:100]!r} may not use this server; allow them with origins=[...]")

    def _is_own_host(self, authority: str) -> bool:
        return not self._is_local or _names_this_machine(authority)

    def _is_allowed_page(self, authority: str, host: str) -> bool:
        """Return whether pages of the host *authority*, which `origins` does not name, may use the server at *host*."""
        return self._is_local and _names_this_machine(authority)

    def _check_length(self, headers: dict[bytes, bytes]) -> Response | None:
        length = headers.get(b"content-length", b"")
        # Python refuses to read a number of thousands of digits.
        is_long = length.isdigit() and (len(length) > _MAX_LENGTH_DIGITS or int(length) > self._max_body_bytes)
        return self._refuse_length() if is_long else None

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
            return refuse(408, text, {"connection": "close"})

    def _refuse_length(self) -> Response:
        return refuse(413, f"a request has at most {self._max_body_bytes:,} bytes")


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives *body* first, and then what the connection gives."""
    is_given = False

    async def replay_body() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay_body


def add_headers(send: Send, headers: Iterable[tuple[bytes, bytes]]) -> Send:
    """Return a *send* that adds *headers* to each response."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *headers]}
        await send(message)

    return send_with_headers


def refuse(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """Return the response of a request that is not served, with the reason for people."""
    return JSONResponse({"error": text}, status, headers)
