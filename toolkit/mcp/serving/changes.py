"""
Tell clients that the tools have changed.

In an older revision every connection gets a notification. In revision 2026-07-28 the clients that listen get one.
Changes that come close together are one notification.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged

from ...catalogs.views import CatalogView
from .conversations import connection_of

__all__ = ["ChangeNotifier"]

_log = logging.getLogger("toolkit")


class ChangeNotifier:
    """
    Follows the catalogs of tools and of prompts, and notifies clients of their changes.

    Attributes:
        listen: The handler of `subscriptions/listen`.
    """

    def __init__(self, catalog: CatalogView, *, prompts: CatalogView | None = None) -> None:
        self._catalogs = [catalog] if prompts is None else [catalog, prompts]
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

    def notify_soon(self) -> None:
        """Tell all clients that the tools have changed. Call this on the event loop that serves."""
        self._has_changed = True
        if self._loop is not None and (self._task is None or self._task.done()):
            self._task = self._loop.create_task(self._notify())

    async def _notify(self) -> None:
        while self._has_changed:
            self._has_changed = False
            for connection in list(self._connections):
                try:
                    await connection.send_tool_list_changed()
                    await connection.send_prompt_list_changed()
                except Exception:  # noqa: BLE001 -- one broken connection must not keep the news from the others
                    _log.exception("a client could not be told that the tools have changed")
            await self._bus.publish(ToolsListChanged())
            await self._bus.publish(PromptsListChanged())
