"""
Numbers that put what happens in a run in order, also if the clock jumps back.
"""

from __future__ import annotations

import secrets
import threading

from ..._plumbing.forks import renew_in_children
from .row_texts import check_number

__all__ = ["SequenceClock", "read_sequence"]

# A clock that is far ahead must leave room for later numbers.
_MAX_SEQUENCE = 2**62


class SequenceClock:
    """A clock whose numbers only grow, and which tells its own numbers from those of others."""

    def __init__(self) -> None:
        self._last = 0
        self.renew_after_fork()
        renew_in_children(self)

    def renew_after_fork(self) -> None:
        """Take another mark, so that the changes of a forked child are not taken for those of its parent."""
        self._nonce = secrets.token_hex(4)
        self._lock = threading.Lock()

    def take(self, now: float) -> int:
        """Return a number above all before it: the time in microseconds, unless the clock stands or has jumped back."""
        microseconds = int(check_number(now, "the time") * 1e6)
        with self._lock:
            self._last = max(self._last + 1, min(microseconds, _MAX_SEQUENCE))
            return self._last

    def advance(self, sequence: int) -> None:
        """Let all later numbers be greater than *sequence*, which another process has written."""
        with self._lock:
            self._last = max(self._last, sequence)

    def mark(self, sequence: int) -> str:
        """Return a text that no other clock makes, for a change with this number."""
        return f"{sequence}-{self._nonce}"


def read_sequence(mark: str) -> int:
    """Return the number of a mark."""
    return int(mark.partition("-")[0])
