"""
HTTP as our servers speak it: that of uvicorn, with a time limit for the head of a request.

uvicorn waits without end for a client that has connected and never sends the last line of its headers. The time for the
body is limited by `RequestGuard`, under every web server.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["ImpatientProtocol"]

_Protocol: Any = AutoHTTPProtocol  # uvicorn chooses the class when it is loaded


class ImpatientProtocol(_Protocol):  # type: ignore[misc]
    """
    One connection of a client.

    Attributes:
        head_seconds: How long a client may take to send the head of a request.
    """

    head_seconds = 30.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read *data*. Wait for the rest if it ends before the head does."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._stop_timer()

    def _watch(self) -> None:
        """Run the timer while there is no request to answer. What arrives meanwhile does not set it back."""
        if not self._lacks_request():
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._end_connection)

    def _lacks_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _end_connection(self) -> None:
        self._timer = None
        if self._lacks_request():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
