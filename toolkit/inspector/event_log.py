"""
What happens, for pages that listen: server-sent events with a bounded history and a place to go on from.

All listeners read the same history. A listener that reads too slowly keeps nothing alive: when it comes back and what
it has missed is gone, it is told so, and reads its lists again.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping
from itertools import islice
from typing import Any

from .._plumbing.forks import unlock_in_children
from ..policies.audit import encode_line

__all__ = ["EventLog"]

_MAX_BATCH = 500
_MISSED = "some events are gone; read the lists again"


class EventLog:
    """
    The newest *max_events* events. Any thread may add one.

    A comment is sent every *pulse_seconds*, so that a connection that is broken is noticed.
    """

    def __init__(self, *, max_events: int = 10_000, pulse_seconds: float = 15.0) -> None:
        self._mark = os.urandom(4).hex()
        self._events: deque[str] = deque(maxlen=max_events)
        self._last = 0
        self._pulse_seconds = pulse_seconds
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._is_closed = False
        self._lock = unlock_in_children(threading.Lock())

    @property
    def listener_count(self) -> int:
        """How many pages listen now."""
        return len(self._waiting)

    @property
    def place(self) -> str:
        """The id of the newest event: who reads a list now and then follows the log from here, misses nothing."""
        return f"{self._mark}-{self._last}"

    def add(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep an event, and send it to all listeners."""
        text = encode_line(dict(data))
        with self._lock:
            self._last += 1
            self._events.append(self._write(kind, text, self._last))
        self._wake()

    def close(self) -> None:
        """End all listeners, also those that come later."""
        self._is_closed = True
        self._wake()

    def _wake(self) -> None:
        for event, loop in [*self._waiting.items()]:
            try:
                loop.call_soon_threadsafe(event.set)
            except RuntimeError:  # its loop is closed
                self._waiting.pop(event, None)

    def _write(self, kind: str, text: str, number: int) -> str:
        return f"id: {self._mark}-{number}\nevent: {kind}\ndata: {text}\n\n"

    async def follow(self, after: str = "") -> AsyncIterator[str]:
        """
        Yield what has happened after the id *after*, and then what happens.

        Without an id, the first event only says where the listener begins.
        """
        wake = asyncio.Event()
        self._waiting[wake] = asyncio.get_running_loop()
        try:
            mark, _, number = after.rpartition("-")
            is_known = mark == self._mark and number.isdecimal() and int(number) <= self._last
            place = int(number) if is_known else self._last
            if not after:
                yield self._write("hello", "{}", place)
            elif not is_known:
                yield self._write_reset(place)
            while not self._is_closed:
                wake.clear()
                place, text = self._read(place)
                if text:
                    yield text
                    continue
                try:
                    await asyncio.wait_for(wake.wait(), self._pulse_seconds)
                except TimeoutError:
                    yield ":\n\n"
        finally:
            self._waiting.pop(wake, None)

    def _read(self, place: int) -> tuple[int, str]:
        """Return the next place after *place*, and the events up to it."""
        with self._lock:
            missing = self._last - place
            if missing > len(self._events):
                return self._last, self._write_reset(self._last)
            start = len(self._events) - missing
            batch = [*islice(self._events, start, start + _MAX_BATCH)]
        return place + len(batch), "".join(batch)

    def _write_reset(self, number: int) -> str:
        return self._write("reset", encode_line({"reason": _MISSED}), number)
