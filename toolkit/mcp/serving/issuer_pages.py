"""
The pages of an authorization server, fetched within limits of size and time.

The program gives the address of the server, which may be any host. A page at another host, which the server names, is
judged as the pages of a login are. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from ..._plumbing.wording import format_seconds
from ...catalogs.foreign_text import clean_text
from ...errors import ToolError
from ..importing.login_hosts import LoginHosts
from ..importing.remote_server import RemoteServer
from .auth_error import AuthError
from .strict_messages import parse_message

__all__ = ["IssuerPages", "check_address"]

_log = logging.getLogger("toolkit")


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

        Raises:
            AuthError: There is none. The log says why, and the client is not told.
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
