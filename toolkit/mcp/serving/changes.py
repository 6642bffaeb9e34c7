"""
Tell clients that the tools or the contents of resources have changed.

In an older revision every connection gets a notification. In revision 2026-07-28 the clients that listen get one.
Changes that come close together are one notification.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from ...catalogs.views import CatalogView
from .conversations import connection_of
from .resource_changes import ResourceChanges, ResourceSubscriptions

__all__ = ["ChangeNotifier"]

_log = logging.getLogger("toolkit")


class ChangeNotifier:
    """
    Follows the catalogs of tools and of prompts, and notifies clients of their changes.

    Args:
        catalog: The tools.
        prompts: The functions that are prompts.
        resources: Says which resources have changed.
        subscriptions: Who has subscribed to which resource in an older revision.

    Attributes:
        listen: The handler of `subscriptions/listen`.
    """

    def __init__(
        self,
        catalog: CatalogView,
        *,
        prompts: CatalogView | None = None,
        resources: ResourceChanges | None = None,
        subscriptions: ResourceSubscriptions,
    ) -> None:
        self._catalogs = [catalog] if prompts is None else [catalog, prompts]
        self._resources = resources
        self._subscriptions = subscriptions
        self._changed_uris: dict[str, None] = {}
        self._ends: list[Callable[[], None]] = []
        self._bus = InMemorySubscriptionBus()
        self._connections: set[Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._has_changed = False
        self.listen = ListenHandler(self._bus)

    async def follow(self, context: ServerRequestContext[Any, Any], params: Any) -> None:
        """Notify the connection of *context* from now on, until it ends. This handles `notifications/initialized`."""
        connection = connection_of(context)
        if connection not in self._connections:
            self._connections.add(connection)
            connection.exit_stack.callback(self._connections.discard, connection)

    def start(self) -> None:
        """Follow the catalogs from now on. Call this on the event loop that serves."""
        self._loop = asyncio.get_running_loop()
        self._ends = [catalog.subscribe(self._on_change) for catalog in self._catalogs]
        if self._resources is not None:
            self._ends.append(self._resources.subscribe(self._on_resource_change))

    def stop(self) -> None:
        """Follow the catalogs no longer."""
        for end in self._ends:
            end()
        self._loop = None
        if self._task is not None:
            self._task.cancel()

    def _on_change(self, change: object) -> None:
        # A catalog may be changed in any thread.
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self.notify_soon)

    def _on_resource_change(self, uri: str) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._note_resource, uri)

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
                for connection in self._subscriptions.find_subscribers(uri):
                    await _send(connection.send_resource_updated(uri))
                await self._bus.publish(ResourceUpdated(uri=uri))

    async def _notify_of_lists(self) -> None:
        for connection in list(self._connections):
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
