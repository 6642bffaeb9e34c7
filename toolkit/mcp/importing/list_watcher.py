"""
Notices that a server has changed its tools, in both protocol revisions.

A server may say so as often as it likes. The list is read again at most once in a while, and less often the longer the
server goes on.
"""

from __future__ import annotations

import time
from typing import Any

import anyio
import mcp_types as types
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from .remote_server import ServerLimits

__all__ = ["ListWatcher"]


class ListWatcher:
    """Tells when the list of tools has to be read again."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._changed = anyio.Event()
        self._wait_seconds = 0.0
        self._last_time = -float("inf")

    async def handle_message(self, message: Any) -> None:
        """Take note of a message that the server sent without being asked."""
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()

    def note_dropped(self, method: str) -> None:
        """Take note of a message that was dropped because there are too many. It may say that the tools changed."""
        if method == "notifications/tools/list_changed":
            self._changed.set()

    async def wait_for_change(self) -> None:
        """Wait until the server has changed its tools, and until the list may be read again."""
        await self._changed.wait()
        quiet_seconds = time.monotonic() - self._last_time
        if quiet_seconds > 2 * self._wait_seconds:
            self._wait_seconds = 0.0
        await anyio.sleep(max(0.0, self._wait_seconds - quiet_seconds))
        # A storm doubles the wait each time; a single change after a quiet time is followed at once.
        doubled = max(self._limits.refresh_seconds, 2 * self._wait_seconds)
        self._wait_seconds = min(self._limits.wait_max, doubled)
        self._last_time = time.monotonic()
        self._changed = anyio.Event()

    async def listen(self, client: Any, is_pinned: bool) -> None:
        """
        Subscribe to changes, as revision 2026-07-28 wants it, and subscribe again after a loss.

        A server that does not announce changes is not asked, unless the program chose the revision (*is_pinned*): then
        what the server announces is not known.
        """
        capability = client.server_capabilities.tools
        if not is_pinned and (capability is None or not capability.list_changed):
            return
        wait = self._limits.wait_initial
        while True:
            try:
                async with client.listen(tools_list_changed=True) as subscription:
                    wait = self._limits.wait_initial
                    async for _ in subscription:
                        self._changed.set()
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND:
                    return
            except (SubscriptionLost, TimeoutError):
                pass
            await anyio.sleep(wait)
            wait = min(self._limits.wait_max, 2 * wait)
            self._changed.set()  # the changes of the meantime are not sent again
