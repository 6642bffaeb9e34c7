"""
Server-sent events, read as they come: a chunk may end anywhere, also within a line end or a letter.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MOST_BYTES", "Event", "EventParser"]

MOST_BYTES = 8 * 1024 * 1024
"""How long one event may be."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, "message" if it has none, and its data, lines joined."""

    name: str
    data: str


class EventParser:
    """
    Turns chunks of bytes into events.

    Lines end with LF, CR or CRLF. Comments and fields that nobody needs here are passed over.
    """

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._pieces: list[bytes] = []  # of a line whose end has not come
        self._size = 0  # of the event so far
        self._is_first = True
        self._ended_with_cr = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that *chunk* completes; `ValueError` if one is too long."""
        if not chunk:
            return []
        if self._ended_with_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._ended_with_cr = False
            if not chunk:
                return []
        self._ended_with_cr = chunk.endswith(b"\r")
        # Pieces are joined once a line, so that a long one that comes in drops takes no longer than its length.
        if b"\n" not in chunk and b"\r" not in chunk:
            self._keep(chunk)
            return []
        lines = b"".join([*self._pieces, chunk]).splitlines(keepends=True)
        self._size -= sum(map(len, self._pieces))
        self._pieces = []
        rest = b"" if lines[-1].endswith((b"\n", b"\r")) else lines.pop()
        events = [event for line in lines if (event := self._line(line.rstrip(b"\r\n"))) is not None]
        if rest:
            self._keep(rest)
        return events

    def close(self) -> list[Event]:
        """What was left when the stream ended: servers forget the last empty line."""
        rest, self._pieces = b"".join(self._pieces), []
        self._size -= len(rest)
        events = [self._line(line) for line in (rest, b"")]
        return [event for event in events if event is not None]

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._grow(len(piece))

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._most:
            raise ValueError(f"an event of more than {self._most:,} bytes is too long")

    def _line(self, line: bytes) -> Event | None:
        text = line.decode("utf-8", "replace")
        if self._is_first:
            self._is_first = False
            text = text.removeprefix("\ufeff")
        if text:
            self._grow(len(line))
            field, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                self._data.append(value)
            elif field == "event":
                self._name = value
            return None
        event = Event(self._name or "message", "\n".join(self._data)) if self._data else None
        self._name, self._data, self._size = "", [], 0
        return event
