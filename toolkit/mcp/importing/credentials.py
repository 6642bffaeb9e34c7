"""
Masks the credentials that a server was given in everything that it sends.

Some servers repeat a token in the message that refuses it, or in what a tool returns. A model would read it there, and
a log would keep it. This helps against an accident. A server that means to pass its token on can write it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp_types.jsonrpc import JSONRPCError, JSONRPCMessage, JSONRPCResponse

from ...policies.credentials import list_header_secrets, list_variable_secrets
from ...policies.redaction import Redaction
from .remote_server import RemoteServer

__all__ = ["ServerCredentials"]


class ServerCredentials:
    """The credentials that *server* was given: in its headers, address, variables, command and logins."""

    def __init__(self, server: RemoteServer) -> None:
        self._secrets = set(_list_secrets(server))
        self._redaction = Redaction(self._secrets)

    async def note_request(self, request: httpx2.Request) -> None:
        """Remember the token in *request*. A login gets new ones while the connection is open."""
        secrets = list_header_secrets({"authorization": request.headers.get("authorization", "")})
        if not self._secrets.issuperset(secrets):
            self._secrets.update(secrets)
            self._redaction = Redaction(self._secrets)

    def mask_text(self, text: str) -> str:
        return self._redaction.mask_text(text)

    def mask_message(self, message: JSONRPCMessage) -> None:
        """Mask the credentials in *message*, in place."""
        if not self._redaction:
            return
        if isinstance(message, JSONRPCResponse):
            message.result = self._redaction.mask_value(message.result)
        elif isinstance(message, JSONRPCError):
            message.error.message = self.mask_text(message.error.message)
            message.error.data = self._redaction.mask_value(message.error.data)
        elif message.params is not None:
            message.params = self._redaction.mask_value(message.params)


def _list_secrets(server: RemoteServer) -> Iterator[str]:
    yield from list_header_secrets(server.headers)
    if server.kind == "address":
        address = urlsplit(server.target)
        yield from list_header_secrets({"password": address.password or "", **dict(parse_qsl(address.query))})
    elif server.kind == "command":
        yield from list_variable_secrets({**_read_options(server.target), **server.env})


def _read_options(words: list[str]) -> dict[str, str]:
    """Return the values of the options in the *words* of a command: of `--token=x` and of `--token x`."""
    options = dict(pairwise(words[1:]))
    return {**options, **dict(word.split("=", 1) for word in words[1:] if "=" in word)}
