"""
A short way for plain calls over HTTP.

The SDK starts several tasks for each request: they send events while the call runs, and end the call if its client goes
away. A call that never waits, asks or reports needs none of them. Every other request takes the SDK's own way.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

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

from ...session import Session
from .answers import build_error_answer
from .call_shortcut import PLAIN_KEYS, strip_answer
from .conversations import connection_of
from .event_response import CallCancelledError, ClientGoneError, EventResponse
from .http_guard import Receive, Scope, Send
from .tool_server import ToolServer

__all__ = ["HttpShortcut"]

T = TypeVar("T")

PlainRun: TypeAlias = Coroutine[Any, Any, "dict[str, Any] | None"]
WaitForAnswer: TypeAlias = Callable[[PlainRun], "Awaitable[dict[str, Any] | None]"]

_MESSAGE_KEYS = {"jsonrpc", "id", "method", "params"}
_OLD_META_KEYS = frozenset({"progressToken"})
_NEW_META_KEYS = frozenset(
    {PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, *_OLD_META_KEYS}
)
_REFRESH_SECONDS = 60.0
_CREDENTIALS_TEXT = "error: the tool needs credentials, and found that out late; call it again"
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(slots=True)
class _KnownConnection:
    """
    A connection of an older revision.

    Attributes:
        connection: The connection.
        refreshed_at: When a request of it last took the SDK's way, by `time.monotonic()`.
    """

    connection: Connection
    refreshed_at: float


@dataclass(slots=True)
class _PlainRequest:
    """
    A request that can be answered here, as far as its form goes.

    Attributes:
        version: The protocol revision.
        headers: The headers of the HTTP request.
        number: The id of the message.
        params: The parameters of the message.
        principal: For whom the call is made.
    """

    version: str
    headers: dict[bytes, bytes]
    number: str | int
    params: dict[str, Any]
    principal: str | None


class HttpShortcut:
    """Answers the plain calls of *server*."""

    def __init__(self, server: ToolServer, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._shortcut = server.shortcut
        self._caller = server.shortcut.caller
        self._conversations = server.conversations
        self._clock = clock
        self._connections: dict[bytes, _KnownConnection] = {}
        self._running: dict[tuple[bytes, str], asyncio.Task[dict[str, Any] | None]] = {}
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
            self._connections[key] = _KnownConnection(connection, self._clock())
            connection.exit_stack.callback(self._connections.pop, key, None)

    async def answer(
        self, scope: Scope, headers: dict[bytes, bytes], message: Any, receive: Receive, send: Send
    ) -> bool:
        """Answer *message*, and return whether it is answered. If not, the SDK has to answer it."""
        if type(message) is dict and message.get("method") == "notifications/cancelled":
            self._cancel(headers, message)
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
            answer = self._answer_new
        elif version in HANDSHAKE_PROTOCOL_VERSIONS:
            answer = self._answer_old
        else:
            return False
        return await answer(_PlainRequest(version, headers, number, params, principal), EventResponse(receive, send))

    async def _answer_new(self, request: _PlainRequest, response: EventResponse) -> bool:
        params, headers = request.params, request.headers
        meta, name = params.get("_meta"), params["name"]
        if (
            type(meta) is not dict
            or not meta.keys() <= _NEW_META_KEYS
            or meta.get(PROTOCOL_VERSION_META_KEY) != request.version
            or type(meta.get(CLIENT_CAPABILITIES_META_KEY)) is not dict
            or type(meta.get(CLIENT_INFO_META_KEY, {})) is not dict
            or headers.get(b"mcp-method") != b"tools/call"
            or headers.get(b"mcp-name", b"").decode("latin-1") != name
            or self._has_header_schema(name)
        ):
            return False
        session = self._conversations.session_of_principal(request.principal)
        try:
            answer = await self._call(
                request, session, response, lambda run: response.wait_for(_start(run), stops_with_client=True)
            )
        except ClientGoneError:
            return True
        if answer is None:
            return False
        await response.finish(_build_message(request.number, self._shortcut.complete(answer, request.version)))
        return True

    async def _answer_old(self, request: _PlainRequest, response: EventResponse) -> bool:
        known = self._find_connection(request)
        if known is None:
            return False
        session = self._conversations.session_of_connection(known.connection, request.principal)
        try:
            answer = await self._call(request, session, response, lambda run: self._wait(request, run, response))
        except CallCancelledError:
            await response.end()
            return True
        if answer is None:
            return False
        await response.finish(_build_message(request.number, strip_answer(answer)))
        return True

    async def _call(
        self, request: _PlainRequest, session: Session, response: EventResponse, wait_for: WaitForAnswer
    ) -> dict[str, Any] | None:
        """Return the answer to *request*; None if the SDK has to answer it. *wait_for* awaits a call that may wait."""
        name = request.params["name"]
        is_quick = self._caller.is_plain(name, session, may_wait=False)
        if not (is_quick or self._caller.is_plain(name, session, may_wait=True)):
            return None
        run = self._caller.call_plain(name, request.params.get("arguments"), session, request.principal)
        try:
            answer = await (run if is_quick else wait_for(run))
        except MCPError:
            return None  # the SDK knows the status of each error
        if answer is None and not response.is_started:
            return None
        return answer or build_error_answer(_CREDENTIALS_TEXT)

    def _find_connection(self, request: _PlainRequest) -> _KnownConnection | None:
        """Return the connection of a request, if the request can be answered here."""
        known = self._connections.get(request.headers.get(b"mcp-session-id", b""))
        meta = request.params.get("_meta", {})
        if (
            known is None
            or known.connection.protocol_version != request.version
            or type(meta) is not dict
            or not meta.keys() <= _OLD_META_KEYS
        ):
            return None
        now = self._clock()
        if now - known.refreshed_at > _REFRESH_SECONDS:
            # The SDK ends connections that have no requests, and does not see those that are answered here.
            known.refreshed_at = now
            return None
        return known

    async def _wait(self, request: _PlainRequest, run: PlainRun, response: EventResponse) -> dict[str, Any] | None:
        """Wait for *run*, which the client may cancel with a message."""
        key = request.headers[b"mcp-session-id"], str(request.number)
        task = self._running[key] = _start(run)
        try:
            return await response.wait_for(task, stops_with_client=False)
        finally:
            if self._running.get(key) is task:
                del self._running[key]

    def _cancel(self, headers: dict[bytes, bytes], message: dict[str, Any]) -> None:
        """Cancel the call that *message*, a notification of its client, names. The SDK handles the others."""
        params = message.get("params")
        number = params.get("requestId") if type(params) is dict else None
        task = self._running.get((headers.get(b"mcp-session-id", b""), str(number)))
        if task is not None:
            task.cancel()

    def _has_header_schema(self, name: str) -> bool:
        find = self._server.get_tool_input_schema
        return find is None or find(name) is not None

    def forget(self, session_id: bytes) -> None:
        """Answer no more requests of the connection *session_id*, which its client ends."""
        self._connections.pop(session_id, None)


def _start(run: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    return asyncio.get_running_loop().create_task(run)


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
