"""
One HTTP client for each event loop, because a connection cannot be used in another loop.

A client is closed with its loop. The clients of loops that ended without notice are dropped at the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["LoopClients"]


class LoopClients:
    """The HTTP clients of all event loops, or the user's own *client* for every loop, which is never closed here."""

    def __init__(self, client: httpx.AsyncClient | None = None) -> None:
        self._users_client = client
        self._clients: dict[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None]]] = {}

    async def get(self) -> httpx.AsyncClient:
        """Return the user's client, or else the client of the running loop."""
        if self._users_client is not None:
            return self._users_client
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            import httpx

            client = httpx.AsyncClient()
            closer = self._close_with_loop(loop, client)
            # Other threads may add the clients of their loops at the same time, so the table is replaced, not changed.
            alive = {other: entry for other, entry in self._clients.copy().items() if not other.is_closed()}
            self._clients = {**alive, loop: (client, closer)}
            await anext(closer)
        return self._clients[loop][0]

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        entry = self._clients.get(asyncio.get_running_loop())
        if entry is not None:
            await entry[1].aclose()

    async def _close_with_loop(
        self, loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient
    ) -> AsyncGenerator[None]:
        """
        Close *client* at the end of *loop*. Until then this generator stays suspended.

        `asyncio.run` closes every asynchronous generator that was started in its loop. This is the only notice that a
        loop gives before it ends.
        """
        try:
            yield
        finally:
            self._clients.pop(loop, None)
            await client.aclose()
