"""
The addresses that a login at a server may reach. The server names them, so they are foreign.

A server may name public hosts. A server on loopback may also name loopback, and one in a private network private hosts,
because the user chose that network. The check is that of `web_fetch`: each name is looked up once, and the connection
goes to the address that was judged.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from ipaddress import IPv4Address, ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx2

from ..._plumbing.decompression import read_limited
from ...builtin.web.addresses import ReachableHosts, Resolve, WebTarget, resolve_by_system
from ...errors import Safety, ToolError
from ...safety.hosts import Address, check_url, is_ip_address, unreachable
from .remote_server import RemoteServer

__all__ = ["LoginHosts", "read_whole"]

_LOOPBACK, _PRIVATE = unreachable(IPv4Address("127.0.0.1")), unreachable(IPv4Address("10.0.0.1"))
_MAX_ANSWER_BYTES = 1_000_000
_ANSWER_SECONDS = 30.0
_ORIGINAL_URL = "toolkit.original_url"


class LoginHosts:
    """
    Judges the requests that an HTTP client sends for *server*, except those to the address of the server itself.

    Args:
        resolve: Looks up the addresses of a name. A program that gives a transport of its own decides itself where a
            name leads.
        seconds: How long the answer of such a page may take in all, however slowly its parts come.
    """

    def __init__(
        self, server: RemoteServer, *, resolve: Resolve = resolve_by_system, seconds: float = _ANSWER_SECONDS
    ) -> None:
        self._seconds = seconds
        self._own = httpx2.URL(server.target)
        self._kind = _kind_of_server(self._own.host)
        self._resolve = resolve
        self._looks_up = server.http_transport is None

    @property
    def hooks(self) -> dict[str, list[Any]]:
        """The `event_hooks` of a client that asks this object before each request."""
        return {"request": [self._pin], "response": [self._read]}

    async def check(self, url: str) -> tuple[WebTarget, list[str]]:
        """Return where *url* leads to, and the addresses; raise `Safety` if the login may not reach them."""
        try:
            # What the text of a private name may stand for is decided by its addresses.
            names = [] if self._kind is None else [_quote_host(urlsplit(url).hostname or "")]
            hosts = ReachableHosts(private_hosts=names, resolve=self._resolve, judge=self._judge)
            target = replace(hosts.check_url(url), may_be_private=False)
            needs_lookup = self._looks_up or is_ip_address(target.host)
            return target, await hosts.resolve_addresses(target) if needs_lookup else []
        except (Safety, ValueError) as error:
            reason = str(error).partition(";")[0]
            raise Safety(
                f"the server wants its login at an address that is not reached: {reason}; tell its operator, or give a "
                "token in `headers=`"
            ) from None

    def _judge(self, address: Address) -> str | None:
        kind = unreachable(address)
        return None if kind == self._kind else kind

    def _is_own(self, url: httpx2.URL) -> bool:
        return (url.scheme, url.host, url.port) == (self._own.scheme, self._own.host, self._own.port)

    async def _pin(self, request: httpx2.Request) -> None:
        """Let *request* go to an address that was judged. The certificate is checked against the name of the host."""
        url = request.url
        if self._is_own(url):
            return
        try:
            target, addresses = await self.check(str(url))
        except Safety:
            raise
        except ToolError as error:
            raise httpx2.ConnectError(str(error), request=request) from None
        if addresses:
            request.url = url.copy_with(host=addresses[0])
            request.extensions = {**request.extensions, "sni_hostname": target.host, _ORIGINAL_URL: url}

    async def _read(self, response: httpx2.Response) -> None:
        """Read the answer of a page that the server named, within limits."""
        request = response.request
        # A redirect may be relative to the address.
        request.url = request.extensions.get(_ORIGINAL_URL, request.url)
        if self._is_own(request.url) and "text/event-stream" in request.headers.get("accept", ""):
            return  # a message of the protocol, whose client has limits of its own, and whose answer may be a stream
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.ReadError(f"the answer of {request.url.host} is compressed, which was not asked for")
        try:
            async with asyncio.timeout(self._seconds):
                is_whole = await read_whole(response, _MAX_ANSWER_BYTES)
        except TimeoutError:
            raise httpx2.ReadTimeout(f"the answer of {request.url.host} took too long", request=request) from None
        if not is_whole:
            raise httpx2.ReadError(f"the answer of {request.url.host} is larger than {_MAX_ANSWER_BYTES:,} bytes")


async def read_whole(response: httpx2.Response, max_bytes: int) -> bool:
    """Read the body of *response* into memory. Return False, and stop, if it has more than *max_bytes*."""
    stream: Any = response.stream
    try:
        body, is_longer = await read_limited(stream, max_bytes)
    finally:
        await stream.aclose()
    if is_longer:
        return False
    response.stream = httpx2.ByteStream(body)
    return True


def _kind_of_server(host: str) -> str | None:
    """Return the kind of private address that the server has by its text; None if it is public."""
    if check_url(f"http://{_quote_host(host)}/") is None:
        return None
    if f".{host.removesuffix('.')}".endswith(".localhost"):
        return _LOOPBACK
    return unreachable(ip_address(host)) if is_ip_address(host) else _PRIVATE


def _quote_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
