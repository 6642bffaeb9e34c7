"""
The pages of an authorization server, fetched within limits of size and time; and the error of a token that is refused.

The program gives the address of the server, which may be any host. A page at another host, which the server names, is
judged as the pages of a login are. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx2

from ..._plumbing.wording import format_seconds
from ...catalogs.foreign_text import clean_text
from ...errors import ToolError, ToolkitError
from ..importing.login_hosts import LoginHosts
from ..importing.remote_server import RemoteServer
from .strict_messages import parse_message

__all__ = ["AuthError", "IssuerPages", "check_address"]

_log = logging.getLogger("toolkit")

_Word = Literal["invalid_token", "insufficient_scope"] | None


class AuthError(ToolkitError):
    """
    Raised if a request is not served because of its token. The text never repeats the token.

    Attributes:
        word: What the client is told in a word of RFC 6750; None if it sent no token, or can do nothing about it.
        status: 401 without a good token, 403 without a scope, 503 if the token cannot be checked now.
        scopes: The scopes that a new token needs.
    """

    def __init__(self, text: str, word: _Word = "invalid_token", status: int = 401, scopes: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.word, self.status, self.scopes = word, status, scopes

    @classmethod
    def until_later(cls) -> AuthError:
        """Return the error of a token that cannot be checked now. The log of the server says why."""
        return cls("tokens cannot be checked at the moment; try again later", None, 503)


def check_address(address: str, option: str) -> str:
    """Return *address*, or raise `ValueError` that names *option* if it is no plain web address."""
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_plain = not (parts.username or parts.query or parts.fragment or '"' in address)
    except (AttributeError, TypeError, ValueError):
        is_address = is_plain = False
    if not (is_address and is_plain and address.isascii() and address.isprintable()):
        raise ValueError(f"{option} is an address such as https://login.example, without a password and a query")
    return address


class IssuerPages:
    """
    Fetches JSON from the authorization server at *address*.

    Args:
        timeout_seconds: The time for one `fetch`.
        transport: An `httpx2` transport to reach the server by, for tests.
    """

    def __init__(self, address: str, *, timeout_seconds: float = 10.0, transport: Any = None) -> None:
        # An authorization server may name the same hosts as a server of tools that wants a login.
        self._hosts = LoginHosts(RemoteServer(address, http_transport=transport))
        self._timeout_seconds = timeout_seconds
        self._transport = transport
        self._ssl_context: ssl.SSLContext | None = None

    async def fetch(
        self, *urls: str, form: Mapping[str, str] | None = None, credentials: tuple[str, str] | None = None
    ) -> dict[str, Any]:
        """
        Return the JSON object at the first of *urls* that exists. With *form*, send the form there.

        If there is none, raise `AuthError`. The log says why, and the client is not told.
        """
        if self._ssl_context is None:
            self._ssl_context = httpx2.create_ssl_context()  # it takes long to make
        options: Any = {"event_hooks": self._hosts.hooks, "transport": self._transport, "verify": self._ssl_context}
        options["timeout"] = None  # the time for everything is limited below
        headers = {"accept": "application/json", "accept-encoding": "identity"}
        problem = "there is no such page"
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                httpx2.AsyncClient(auth=credentials, headers=headers, **options) as client,
            ):
                for url in urls:
                    response = await client.request("GET" if form is None else "POST", url, data=form)
                    message = parse_message(response.content) if response.status_code == 200 else None
                    if isinstance(message, dict):
                        return message
                    if response.status_code != 404:
                        problem = f"the answer has status {response.status_code}, and is no JSON object"
                        break
        except TimeoutError:
            problem = f"it took longer than {format_seconds(self._timeout_seconds)}"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ToolError, ValueError) as error:
            problem = str(error) or type(error).__name__
        _log.warning("tokens cannot be checked: %s: %s", clean_text(urls[0], 200), clean_text(problem, 300))
        raise AuthError.until_later()
