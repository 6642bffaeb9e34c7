"""
A short way for plain calls over HTTP.

The SDK starts several tasks for each request: they send events while the call runs, and end the call if its client goes
away. A call that never waits, asks or reports needs none of them. Every other request takes the SDK's own way.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    NotificationParams,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from .answers import build_error_answer
from .call_shortcut import PLAIN_KEYS, strip_answer
from .conversations import connection_of
from .event_response import ClientGoneError, EventResponse
from .http_guard import Receive, Scope, Send, send_json
from .tool_server import ToolServer

__all__ = ["HttpShortcut"]

_MESSAGE_KEYS = {"jsonrpc", "id", "method", "params"}
_OLD_META_KEYS = frozenset({"progressToken"})
_NEW_META_KEYS = frozenset(
    {PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, *_OLD_META_KEYS}
)
_REFRESH_SECONDS = 60.0
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(slots=True)
class _KnownConnection:
    """
    A connection of an older revision.

    Attributes:
        connection: The connection.
        principal: The user who opened it.
        refreshed_at: When a request of it last took the SDK's way, by `time.monotonic()`.
    """

    connection: Connection
    principal: str | None
    refreshed_at: float


class HttpShortcut:
    """Answers the plain calls of *server*."""

    def __init__(self, server: ToolServer, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._shortcut = server.shortcut
        self._caller = server.shortcut.caller
        self._conversations = self._caller.conversations
        self._clock = clock
        self._connections: dict[bytes, _KnownConnection] = {}
        entry = server.get_notification_handler("notifications/initialized")
        self._follow = None if entry is None else entry.handler
        server.add_notification_handler("notifications/initialized", NotificationParams, self._note_connection)

    async def _note_connection(self, context: ServerRequestContext[Any, Any], params: NotificationParams) -> None:
        """Remember the connection of *context* until it ends."""
        if self._follow is not None:
            await self._follow(context, params)
        connection = connection_of(context)
        if connection.session_id is not None:
            key = connection.session_id.encode()
            principal = self._conversations.principal_of(context)
            self._connections[key] = _KnownConnection(connection, principal, self._clock())
            connection.exit_stack.callback(self._connections.pop, key, None)

    async def answer(
        self, scope: Scope, headers: dict[bytes, bytes], message: Any, receive: Receive, send: Send
    ) -> bool:
        """Answer *message*, and return whether it is answered. If not, the SDK has to answer it."""
        if type(message) is not dict or message.get("method") != "tools/call" or message.keys() != _MESSAGE_KEYS:
            return False
        params, number = message["params"], message["id"]
        if (
            message["jsonrpc"] != "2.0"
            or type(number) not in (int, str)
            or type(params) is not dict
            or not params.keys() <= PLAIN_KEYS
            or type(params.get("name")) is not str
            or type(params.get("arguments", {})) is not dict
            or not _has_plain_headers(scope, headers)
        ):
            return False
        version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
        principal = self._conversations.find_principal(scope.get("user"))
        if version in MODERN_PROTOCOL_VERSIONS:
            return await self._answer_new(version, headers, message, principal, EventResponse(receive, send))
        if version in HANDSHAKE_PROTOCOL_VERSIONS:
            return await self._answer_old(version, headers, message, principal, send)
        return False

    async def _answer_new(
        self,
        version: str,
        headers: dict[bytes, bytes],
        message: dict[str, Any],
        principal: str | None,
        response: EventResponse,
    ) -> bool:
        params = message["params"]
        meta, name = params.get("_meta"), params["name"]
        if (
            type(meta) is not dict
            or not meta.keys() <= _NEW_META_KEYS
            or meta.get(PROTOCOL_VERSION_META_KEY) != version
            or type(meta.get(CLIENT_CAPABILITIES_META_KEY)) is not dict
            or type(meta.get(CLIENT_INFO_META_KEY, {})) is not dict
            or headers.get(b"mcp-method") != b"tools/call"
            or headers.get(b"mcp-name", b"").decode("latin-1") != name
            or self._has_header_schema(name)
        ):
            return False
        session = self._conversations.session_of_principal(principal)
        is_quick = self._caller.is_plain(name, session, may_wait=False)
        if not (is_quick or self._caller.is_plain(name, session, may_wait=True)):
            return False
        run = self._caller.call_plain(name, params.get("arguments"), session, principal)
        try:
            answer = await (run if is_quick else response.wait_for(run))
        except (ClientGoneError, MCPError) as error:
            return isinstance(error, ClientGoneError)  # the SDK knows the status of each error of the protocol
        if answer is None and not response.is_started:
            return False
        answer = answer or build_error_answer("error: the tool needs credentials; call it again")
        await response.finish(_build_message(message["id"], self._shortcut.complete(answer, version)))
        return True

    async def _answer_old(
        self, version: str, headers: dict[bytes, bytes], message: dict[str, Any], principal: str | None, send: Send
    ) -> bool:
        params = message["params"]
        known = self._connections.get(headers.get(b"mcp-session-id", b""))
        if (
            known is None
            or known.principal != principal
            or known.connection.protocol_version != version
            or type(params.get("_meta", {})) is not dict
            or not params.get("_meta", {}).keys() <= _OLD_META_KEYS
        ):
            return False
        now = self._clock()
        if now - known.refreshed_at > _REFRESH_SECONDS:
            # The SDK ends connections that have no requests, and does not see those that are answered here.
            known.refreshed_at = now
            return False
        session = self._conversations.session_of_connection(known.connection, principal)
        # A client cancels a call with a message of its own, which only the SDK sees.
        if not self._caller.is_plain(params["name"], session, may_wait=False):
            return False
        try:
            answer = await self._caller.call_plain(params["name"], params.get("arguments"), session, principal)
        except MCPError:
            return False
        if answer is None:
            return False
        await send_json(send, 200, _build_message(message["id"], strip_answer(answer)))
        return True

    def _has_header_schema(self, name: str) -> bool:
        find = self._server.get_tool_input_schema
        return find is None or find(name) is not None

    def forget(self, session_id: bytes) -> None:
        """Answer no more requests of the connection *session_id*, which its client ends."""
        self._connections.pop(session_id, None)


def _build_message(number: str | int, result: dict[str, Any]) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": number, "result": result}).encode()


def _has_plain_headers(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    """Return whether no header stands twice or repeats an argument, and the content is what the protocol wants."""
    accept = headers.get(b"accept", b"")
    return (
        len(headers) == len(scope["headers"])
        and headers.get(b"content-type", b"").startswith(b"application/json")
        and b"application/json" in accept
        and b"text/event-stream" in accept
        and not any(name.startswith(b"mcp-param-") for name in headers)
    )
