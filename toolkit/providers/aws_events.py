"""
A parser for the event streams of Amazon's services, which are binary.

Each event becomes JSON text with the type of the event as its only key.
"""

from __future__ import annotations

import json
from typing import Any

from .http.sse import MAX_EVENT_BYTES

__all__ = ["AwsEventParser"]

_STATUSES = {
    "throttlingException": 429,
    "internalServerException": 500,
    "modelStreamErrorException": 500,
    "serviceUnavailableException": 503,
    "modelTimeoutException": 504,
}


class AwsEventParser:
    """A parser with the methods of `EventParser`. It uses botocore."""

    def __init__(self) -> None:
        from botocore.eventstream import EventStreamBuffer

        self._buffer = EventStreamBuffer()
        self._size = 0  # of the bytes since the last event

    def feed(self, chunk: bytes) -> list[str]:
        """Return the events that *chunk* completes. Raise `ValueError` if the stream cannot be read."""
        from botocore.eventstream import ParserError

        self._buffer.add_data(chunk)
        try:
            events = [_read_event(message.headers, message.payload) for message in self._buffer]
        except ParserError as error:
            raise ValueError(f"the stream cannot be read: {error}") from error
        self._size = 0 if events else self._size + len(chunk)
        if self._size > MAX_EVENT_BYTES:
            raise ValueError(f"an event of more than {MAX_EVENT_BYTES:,} bytes is too long")
        return events

    def close(self) -> list[str]:
        """Return nothing: an event that was cut off cannot be read."""
        return []


def _read_event(headers: Any, payload: bytes) -> str:
    text = payload.decode("utf-8", "replace")
    if headers.get(":message-type") == "event":
        return f"{{{json.dumps(str(headers.get(':event-type')))}:{text or '{}'}}}"
    kind = str(headers.get(":exception-type") or headers.get(":error-code"))
    problem = {"type": kind, "code": _STATUSES.get(kind, 400), "message": text or str(headers.get(":error-message"))}
    return json.dumps({"error": problem})
