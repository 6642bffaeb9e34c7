"""
The output of a command, limited in size and made readable.

The beginning and the end are kept: the beginning says what was done, and the end says how it went. Terminal escape
codes are removed. Other control characters are shown by their numbers. What is left out can be kept as well, so that
the model can ask for it.
"""

from __future__ import annotations

import codecs
import re
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from ..._plumbing.forks import unlock_in_children
from ..._plumbing.wording import format_count

__all__ = ["MAX_KEPT_BYTES", "OutputBuffer", "OutputText", "ProgressTicker", "make_readable"]

MAX_KEPT_BYTES = 4_000_000
"""How many bytes of an output are kept, so that the model can read what it is not shown."""

# Terminal escape codes: CSI ... letter, OSC ... BEL or ST, other strings up to ST, and the short ones.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b\]|\x9d)[^\n\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\n\x1b\x9c]*(?:\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_ESCAPE_STARTS = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def make_readable(text: str) -> str:
    """Return *text* without anything that acts on a terminal. A carriage return becomes a newline."""
    text = text.replace("\r\n", "\n")
    if _ESCAPE_STARTS.search(text) is not None:  # the search for whole codes takes twenty times as long
        text = _ESCAPES.sub("", text)
    text = text.replace("\r", "\n")
    return _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


class OutputText(NamedTuple):
    """
    The output of a command, made readable.

    Attributes:
        text: The part of it that is shown, with a line that stands for the bytes left out.
        full_text: The whole output, or as much of it as was kept; None if nothing is left out of `text`.
    """

    text: str
    full_text: str | None = None


class OutputBuffer:
    """
    A buffer that shows the first and the last bytes that are added. Any thread may use it.

    Args:
        head_bytes: How many of the first bytes are shown.
        tail_bytes: How many of the last bytes are shown.
        max_kept_bytes: How many of the first bytes are kept besides, so that the middle can be read.
    """

    def __init__(self, *, head_bytes: int, tail_bytes: int, max_kept_bytes: int = 0) -> None:
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._max_kept_bytes = max_kept_bytes
        self._lock = unlock_in_children(threading.Lock())
        self._clear()

    def _clear(self) -> None:
        self._head, self._tail, self._kept = bytearray(), bytearray(), bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        with self._lock:
            self.total += len(data)
            self._kept += data[: self._max_kept_bytes - len(self._kept)]
            room = self._head_bytes - len(self._head)
            self._head += data[:room]
            self._tail += data[room:]
            # Cut only now and then. Moving the whole tail for every added byte would cost more than reading it.
            if len(self._tail) > 4 * self._tail_bytes:
                del self._tail[: -self._tail_bytes]

    def take(self) -> OutputText:
        """Return what was added since the last `take`, as readable text that counts the bytes left out."""
        with self._lock:
            head, tail, kept, total = self._head, self._tail[-self._tail_bytes :], self._kept, self.total
            self._clear()
        left_out = total - len(head) - len(tail)
        if not left_out:
            # If there is no head, the output goes on after this, and its last character may not be complete.
            whole = head + tail
            return OutputText(make_readable(whole.decode(errors="replace") if head else _decode_whole(whole)))
        shown_head = [make_readable(_decode_whole(head))] if head else []
        text = "\n".join([*shown_head, _describe_gap(left_out), make_readable(_decode_whole(tail))])
        return OutputText(text, _render_kept(kept, tail, total))


class ProgressTicker:
    """Calls *on_text* with output while it is printed: not too often, not too much at once, and in whole characters."""

    def __init__(
        self,
        on_text: Callable[[str], object],
        *,
        interval_seconds: float = 0.1,
        max_chars: int = 2000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_text = on_text
        self._interval_seconds = interval_seconds
        self._max_chars = max_chars
        self._clock = clock
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._last_sent = float("-inf")

    def add(self, data: bytes) -> None:
        """Add *data*, and call *on_text* if it is time to. Empty *data* only checks the time."""
        # Keep four times as much text as is ever passed on. An escape code that this cut divides is then not in that
        # part.
        self._waiting = (self._waiting + self._decoder.decode(data))[-4 * self._max_chars :]
        now = self._clock()
        if self._waiting and now - self._last_sent >= self._interval_seconds:
            self._last_sent = now
            self.flush()

    def flush(self) -> None:
        """Call *on_text* with the text that waits, without regard to the time."""
        text, self._waiting = make_readable(self._waiting)[-self._max_chars :], ""
        if text:
            self._on_text(text)


def _render_kept(kept: bytearray, tail: bytearray, total: int) -> str | None:
    """Return an output of *total* bytes that ends with *tail* as readable text, as far as its beginning is *kept*."""
    if not kept:
        return None
    missing = total - len(kept)
    left_out = missing - len(tail)
    if left_out <= 0:
        return make_readable((kept + tail[len(tail) - missing :]).decode(errors="replace"))
    gap = _describe_gap(left_out, ", which were too many to keep")
    return "\n".join([make_readable(_decode_whole(kept)), gap, make_readable(_decode_whole(tail))])


def _describe_gap(left_out: int, reason: str = "") -> str:
    return f"[... {format_count(left_out, 'byte')} left out{reason} ...]"


def _decode_whole(data: bytearray) -> str:
    """Decode *data*, and leave out a character that was cut at either end."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(data[start:]), final=False)
