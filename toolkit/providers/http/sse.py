"""
A parser for server-sent events that reads them while they arrive.

A chunk may end anywhere, also inside a line end or inside a character.
"""

from __future__ import annotations

__all__ = ["EventParser"]

_MAX_EVENT_BYTES = 8 * 1024 * 1024


class EventParser:
    """
    A parser that turns chunks of bytes into the data of events.

    Lines end with LF, CR or CRLF. Comments and all fields except `data` are skipped, and so is an event without data.
    """

    def __init__(self, *, max_bytes: int = _MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []  # of a line whose end has not arrived
        self._size = 0  # of the current event so far, in bytes
        self._is_first = True
        self._ended_with_cr = False
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of the events that *chunk* completes. Raise `ValueError` if an event is too long."""
        if not chunk:
            return []
        if self._ended_with_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._ended_with_cr = False
            if not chunk:
                return []
        self._ended_with_cr = chunk.endswith(b"\r")
        # The pieces are joined once per line. So a long line in many small chunks takes time linear in its length.
        if b"\n" not in chunk and b"\r" not in chunk:
            self._add_piece(chunk)
            return []
        lines = b"".join([*self._pieces, chunk]).splitlines(keepends=True)
        self._size -= sum(map(len, self._pieces))
        self._pieces = []
        rest = b"" if lines[-1].endswith((b"\n", b"\r")) else lines.pop()
        events = [event for line in lines if (event := self._process_line(line.rstrip(b"\r\n")))]
        if rest:
            self._add_piece(rest)
        return events

    def close(self) -> list[str]:
        """Return the data of the events that are left at the end, because some servers omit the last empty line."""
        rest, self._pieces = b"".join(self._pieces), []
        self._size -= len(rest)
        return [event for line in (rest, b"") if (event := self._process_line(line))]

    def _add_piece(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._count_bytes(len(piece))

    def _count_bytes(self, size: int) -> None:
        self._size += size
        if self._size > self._max_bytes:
            raise ValueError(f"an event of more than {self._max_bytes:,} bytes is too long")

    def _process_line(self, line: bytes) -> str:
        """Return the data of the event that *line* ends; empty if it ends none."""
        text = line.decode("utf-8", "replace")
        if self._is_first:
            self._is_first = False
            text = text.removeprefix("\ufeff")
        if text:
            self._count_bytes(len(line))
            field, _, value = text.partition(":")
            if field == "data":
                self._data.append(value.removeprefix(" "))
            return ""
        event = "\n".join(self._data)
        self._data, self._size = [], 0
        return event
