"""
Tell clients that the tools, the prompts or the contents of resources have changed.

In an older revision every connection gets a notification of lists, and one of each resource that it has subscribed to.
In revision 2026-07-28 the clients that listen get one. Changes that come close together are one notification.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, SubscribeRequestParams, UnsubscribeRequestParams

from ..._plumbing.forks import unlock_in_children
from ...catalogs.views import CatalogView
from .conversations import RequestContext, connection_of, is_stateless
from .resources import ResourceBook

__all__ = ["ChangeNotifier", "ResourceChanges"]

_log = logging.getLogger("toolkit")

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


class ChangeNotifier:
    """
    Follows catalogs of tools and of prompts, and *resources*, and notifies clients of their changes.

    Attributes:
        listen: The handler of `subscriptions/listen`.
    """

    def __init__(self, resources: ResourceChanges | None = None) -> None:
        self._catalogs: tuple[CatalogView, ...] = ()
        self._book = ResourceBook({})
        self._resources = resources
        self._uris: dict[Connection, frozenset[str]] = {}  # the subscriptions of each connection of an older revision
        self._changed_uris: dict[str, None] = {}
        self._has_changed = False
        self._ends: list[Callable[[], None]] = []
        self._bus = InMemorySubscriptionBus()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self.listen = ListenHandler(self._bus)

    async def follow(self, context: RequestContext, params: Any) -> None:
        """Notify the connection of *context* from now on, until it ends. This handles `notifications/initialized`."""
        self._find_subscriptions(context)

    async def subscribe(self, context: RequestContext, params: SubscribeRequestParams) -> dict[str, Any]:
        """Subscribe the connection to a resource, until it unsubscribes or ends; raise `MCPError` if it may not."""
        if is_stateless(context):
            raise MCPError(METHOD_NOT_FOUND, "this server is stateless, so it cannot tell a client of changes")
        uri, uris = str(params.uri), self._find_subscriptions(context)
        if self._book.find_fixed(uri) is None and self._book.find_function(uri) is None:
            raise MCPError(INVALID_PARAMS, f"there is no resource {uri[:200]}", {"uri": uri})
        if uri not in uris and len(uris) >= _MAX_SUBSCRIPTIONS:
            raise MCPError(INVALID_PARAMS, f"a connection can subscribe to {_MAX_SUBSCRIPTIONS:,} resources at most")
        self._uris[connection_of(context)] = uris | {uri}
        return {}

    async def unsubscribe(self, context: RequestContext, params: UnsubscribeRequestParams) -> dict[str, Any]:
        """End the subscription of the connection of *context* to a resource, if there is one."""
        uris = self._find_subscriptions(context)
        self._uris[connection_of(context)] = uris - {str(params.uri)}
        return {}

    def _find_subscriptions(self, context: RequestContext) -> frozenset[str]:
        connection = connection_of(context)
        if connection not in self._uris:
            self._uris[connection] = frozenset()
            connection.exit_stack.callback(self._uris.pop, connection, None)
        return self._uris[connection]

    def follow_catalogs(self, *catalogs: CatalogView, book: ResourceBook) -> None:
        """Follow *catalogs*, and know the resources in *book*, in place of those before. The lists have changed."""
        self._catalogs, self._book = catalogs, book
        if self._loop is not None:
            self.stop()
            self.start()
            self.notify_soon()

    def start(self) -> None:
        """Follow the catalogs from now on. Call this on the event loop that serves."""
        self._loop = asyncio.get_running_loop()
        self._ends = [catalog.subscribe(lambda _: self._run_in_loop(self.notify_soon)) for catalog in self._catalogs]
        if self._resources is not None:
            self._ends.append(self._resources.subscribe(lambda uri: self._run_in_loop(self._note_resource, uri)))

    def stop(self) -> None:
        """Follow the catalogs no longer."""
        for end in self._ends:
            end()
        self._loop = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _run_in_loop(self, function: Callable[..., None], *arguments: str) -> None:
        # A catalog may be changed in any thread.
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(function, *arguments)

    def _note_resource(self, uri: str) -> None:
        self._changed_uris[uri] = None
        self._start_notifying()

    def notify_soon(self) -> None:
        """Tell all clients that the tools have changed. Call this on the event loop that serves."""
        self._has_changed = True
        self._start_notifying()

    def _start_notifying(self) -> None:
        if self._loop is not None and (self._task is None or self._task.done()):
            self._task = self._loop.create_task(self._notify())

    async def _notify(self) -> None:
        while self._has_changed or self._changed_uris:
            if self._has_changed:
                self._has_changed = False
                await self._notify_of_lists()
            uris, self._changed_uris = self._changed_uris, {}
            for uri in uris:
                for connection in [connection for connection, subscribed in self._uris.items() if uri in subscribed]:
                    await _send(connection.send_resource_updated(uri))
                await self._bus.publish(ResourceUpdated(uri=uri))

    async def _notify_of_lists(self) -> None:
        for connection in list(self._uris):
            await _send(connection.send_tool_list_changed())
            await _send(connection.send_prompt_list_changed())
        await self._bus.publish(ToolsListChanged())
        await self._bus.publish(PromptsListChanged())


async def _send(notification: Awaitable[None]) -> None:
    """Send *notification*. One broken connection must not keep the news from the others."""
    try:
        await notification
    except Exception:  # noqa: BLE001 -- the other connections are told in any case
        _log.exception("a client could not be told of a change")
