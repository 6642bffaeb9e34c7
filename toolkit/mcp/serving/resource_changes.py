"""
Resources that change: the program says which, and the clients that have subscribed to them are told.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp_types import INVALID_PARAMS, SubscribeRequestParams, UnsubscribeRequestParams

from ..._plumbing.forks import unlock_in_children
from .conversations import connection_of
from .resources import ResourceBook

__all__ = ["ResourceChanges", "ResourceSubscriptions"]

OnResourceChange: TypeAlias = Callable[[str], object]

_MAX_SUBSCRIPTIONS = 1_000


class ResourceChanges:
    """
    Tells servers which of their resources have changed: `changes.announce("memo://today")`.

    One object may be given to several servers.
    """

    def __init__(self) -> None:
        self._listeners: list[OnResourceChange] = []
        self._lock = unlock_in_children(threading.Lock())

    def announce(self, uri: str) -> None:
        """Tell the clients that have subscribed to *uri* that its content has changed. Any thread may call this."""
        if not isinstance(uri, str):
            raise TypeError(f"announce wants the URI of a resource, such as 'memo://today', got {type(uri).__name__}")
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener(uri)

    def subscribe(self, listener: OnResourceChange) -> Callable[[], None]:
        """Call *listener* with the URI of each resource that changes, until the returned function is called."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end


class ResourceSubscriptions:
    """The resources that connections of an older revision have subscribed to."""

    def __init__(self, book: ResourceBook) -> None:
        self._book = book
        self._connections: dict[str, set[Connection]] = {}
        self._uris: dict[Connection, set[str]] = {}

    def find_subscribers(self, uri: str) -> list[Connection]:
        """Return the connections that have subscribed to *uri*."""
        return list(self._connections.get(uri, ()))

    async def subscribe(
        self, context: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> dict[str, Any]:
        """
        Subscribe the connection of *context* to a resource, until it unsubscribes or ends.

        Raises:
            MCPError: There is no such resource, or the connection has too many subscriptions.
        """
        uri, connection = str(params.uri), connection_of(context)
        if self._book.find_fixed(uri) is None and self._book.find_function(uri) is None:
            raise MCPError(INVALID_PARAMS, f"there is no resource {uri[:200]}", {"uri": uri})
        uris = self._uris.get(connection)
        if uris is None:
            uris = self._uris[connection] = set()
            connection.exit_stack.callback(self._forget, connection)
        if uri not in uris and len(uris) >= _MAX_SUBSCRIPTIONS:
            raise MCPError(INVALID_PARAMS, f"a connection can subscribe to {_MAX_SUBSCRIPTIONS:,} resources at most")
        uris.add(uri)
        self._connections.setdefault(uri, set()).add(connection)
        return {}

    async def unsubscribe(
        self, context: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> dict[str, Any]:
        """End the subscription of the connection of *context* to a resource, if there is one."""
        self._remove(connection_of(context), str(params.uri))
        return {}

    def _forget(self, connection: Connection) -> None:
        for uri in list(self._uris.get(connection, ())):
            self._remove(connection, uri)
        self._uris.pop(connection, None)

    def _remove(self, connection: Connection, uri: str) -> None:
        self._uris.get(connection, set()).discard(uri)
        connections = self._connections.get(uri, set())
        connections.discard(connection)
        if not connections:
            self._connections.pop(uri, None)
