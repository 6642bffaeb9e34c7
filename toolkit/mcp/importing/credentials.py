"""
Masks the credentials that a server was given in everything that it sends.

Some servers repeat a token in the message that refuses it, or in what a tool returns. A model would read it there, and
a log would keep it. This helps against an accident. A server that means to pass its token on can write it otherwise.

What only travels back to the server stays as it is, because the server would not know it again: `requestState`, the
cursor of a page, the id of a task and the like.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
from mcp_types.jsonrpc import JSONRPCError, JSONRPCMessage, JSONRPCResponse

from ..._plumbing.newest_items import NewestItems
from ...policies.credentials import (
    list_command_secrets,
    list_header_secrets,
    list_variable_secrets,
    read_cookies,
    redact_credentials,
)
from ...policies.log_masks import mask_log
from .call_errors import read_local_error
from .remote_server import RemoteServer

__all__ = ["ServerCredentials"]

_MAX_SENT = 20
"""How many of the credentials in requests are remembered. A login gets a new one from time to time."""

_LOGGERS = ("httpx2", "mcp.client.sse", "mcp.client.streamable_http")
_UNSHOWN_FIELDS = frozenset(
    {"_meta", "elicitationId", "method", "nextCursor", "progress", "progressToken"}
    | {"requestId", "requestState", "resultType", "taskId", "total"}
)
"""The fields of a result or of parameters that are not shown to people or models."""

_NESTED_FIELDS = frozenset({"params", "task"})
"""The fields that have such fields again."""


class ServerCredentials:
    """The credentials that *server* was given: in its headers, address, variables, command and logins."""

    def __init__(self, server: RemoteServer) -> None:
        self._given = _list_secrets(server)
        self._sent: NewestItems[str, None] = NewestItems(_MAX_SENT)
        self._redaction = redact_credentials(self._given)
        self._log_masks = [mask_log(name) for name in _LOGGERS] if server.kind == "address" else []
        self._hide_in_logs()

    async def note_request(self, request: httpx2.Request) -> None:
        """Remember the credentials in *request*. A login gets new ones while the connection is open."""
        # The headers of the protocol hold what the server has sent, and arguments. So do cookies, but for some names.
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name != "cookie" and not name.startswith("mcp-")
        ]
        cookies = read_cookies(request.headers.get("cookie", ""))
        sent = list_header_secrets([*headers, *cookies, *request.url.params.multi_items()])
        has_new = not {*self._given, *self._sent}.issuperset(sent)
        for secret in sent:
            if secret not in self._given:
                self._sent[secret] = None
        if has_new:
            self._redaction = redact_credentials([*self._given, *self._sent])
        self._hide_in_logs()

    def _hide_in_logs(self) -> None:
        for log_mask in self._log_masks:
            log_mask.hide([*self._given, *self._sent])

    def mask_text(self, text: str) -> str:
        return self._redaction.mask_text(text)

    def mask_message(self, message: JSONRPCMessage) -> None:
        """Mask the credentials in what people and models are shown of *message*, in place."""
        if not self._redaction:
            return
        if isinstance(message, JSONRPCResponse):
            message.result = self._mask_fields(message.result)
        elif isinstance(message, JSONRPCError):
            message.error.message = self.mask_text(message.error.message)
            message.error.data = self._mask_data(message.error.code, message.error.data)
        elif message.params is not None:
            message.params = self._mask_fields(message.params)

    def _mask_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._mask_field(name, value) for name, value in fields.items()}

    def _mask_field(self, name: str, value: Any) -> Any:
        if name in _UNSHOWN_FIELDS:
            return value
        if name in _NESTED_FIELDS and isinstance(value, dict):
            return self._mask_fields(value)
        if name == "inputRequests" and isinstance(value, dict):  # the answers have the keys of the questions
            return {key: self._mask_field("params", request) for key, request in value.items()}
        return self._redaction.mask_value(value)

    def _mask_data(self, code: int, data: Any) -> Any:
        """Return the data of an error masked. Of an error that this process made, only a demand for a login is."""
        local = read_local_error(code, data)
        if local is None:
            return self._redaction.mask_value(data)
        auth = local.get("auth")
        return {**local, "auth": self._mask_fields(auth)} if isinstance(auth, dict) else local


def _list_secrets(server: RemoteServer) -> list[str]:
    if server.kind == "address":
        return list_header_secrets([*server.headers.items(), ("", server.target)])
    if server.kind == "command":
        return [*list_command_secrets(server.target[1:]), *list_variable_secrets(server.env.items())]
    return []
