"""
The checks on a request to the inspector: host, token, and for all that changes something the page's own origin.

The token is in the fragment of the address that is printed, so no other page, program or log knows it. A page of
another site cannot send the token, and is refused by its origin and by the name of the host.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ..safety.hosts import is_ip_address
from ..web_server.request_guard import RequestGuard, add_headers, is_loopback, refuse, replay, split_authority

__all__ = ["InspectorGuard"]

_MAX_BODY_BYTES = 4 * 1024 * 1024
_BODY_SECONDS = 30.0
_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
_HEADERS = {
    "content-security-policy": f"{_POLICY}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
# They keep other sites and scripts out.
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]


class InspectorGuard(RequestGuard):
    """
    An ASGI application that passes good requests on to *app*.

    Args:
        token: What every request has to bring, but for those to the page and its files.
        hosts: The names by which the inspector is reached, besides those of the loopback address.
        any_address: Whether every IP address is such a name. A web site cannot make its own name an address.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Iterable[str] = (), any_address: bool = False) -> None:
        super().__init__(is_local=True, max_body_bytes=_MAX_BODY_BYTES, body_seconds=_BODY_SECONDS)
        self._app = app
        self._bearer = f"Bearer {token}".encode()
        self._hosts = frozenset(host.lower().strip("[]") for host in hosts)
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of a web server."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = add_headers(send, _RAW_HEADERS)
        headers: dict[bytes, bytes] = dict(scope["headers"])
        refusal = self._check_repetition(scope["headers"], headers) or self._check_addresses(headers)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if refusal is None and path not in ("", "/") and not path.startswith("/page/"):
            refusal = self._check_token(headers)
        if refusal is None and scope["method"] not in ("GET", "HEAD"):
            body = self._check_sender(headers) or self._check_length(headers) or await self._read_body(receive)
            if isinstance(body, bytes):
                receive = replay(body, receive)
            else:
                refusal = body
        await (refusal or self._app)(scope, receive, send)

    def _is_own_host(self, authority: str) -> bool:
        host = split_authority(authority)
        if host is None:
            return False
        name = host.lower().strip("[]")
        return is_loopback(name) or name in self._hosts or (self._any_address and is_ip_address(name))

    def _is_allowed_page(self, authority: str, host: str) -> bool:
        return authority.lower() == host.lower()

    def _check_token(self, headers: dict[bytes, bytes]) -> Response | None:
        if hmac.compare_digest(headers.get(b"authorization", b""), self._bearer):
            return None
        text = "the token is missing or wrong; open the address that the inspector printed, with its #token=..."
        return refuse(401, text, {"www-authenticate": "Bearer"})

    def _check_sender(self, headers: dict[bytes, bytes]) -> Response | None:
        """Return the refusal of a request that changes something and does not come from the page."""
        if b"origin" not in headers:  # one of another page was refused before
            return refuse(403, "only the page of the inspector may do this; the request has no Origin")
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        return None if kind == b"application/json" else refuse(415, "send JSON, with Content-Type: application/json")
