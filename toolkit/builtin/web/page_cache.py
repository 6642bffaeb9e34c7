"""
Pages that a session has fetched, kept for a while so that reading on costs no second request.

Bounded by number, by age and by size. Whether a page may be shown is not decided here: whoever takes one
out judges every address that it came from once more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ..._forks import unlock_in_children
from ...session import Session

__all__ = ["Kept", "Pages"]

_KEY = "toolkit.web_fetch"
_MOST_CHARS = 8_000_000


@dataclass(frozen=True, slots=True)
class Kept:
    """
    A page as it is shown.

    Attributes:
        hops: Where redirects led, in order.
        head: What is said about it.
        text: All of it.
    """

    hops: tuple[str, ...]
    head: str
    text: str
    since: float = 0.0
    until: float = 0.0


class Pages:
    """
    What one session keeps.

    Args:
        most: How many pages; the ones that were used longest ago go first.
    """

    def __init__(self, *, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._kept: dict[Hashable, Kept] = {}
        self._lock = unlock_in_children(threading.Lock())  # a session may be used from several loops

    @classmethod
    def of(cls, session: Session | None, owner: Hashable, *, most: int, clock: Callable[[], float]) -> Pages:
        """The pages that the tool *owner* keeps in *session*; without a session, for this call alone."""
        if session is None:
            return cls(most=0, clock=clock)
        every: dict[Hashable, Pages] = session.state.setdefault(_KEY, {})
        return every.setdefault(owner, cls(most=most, clock=clock))

    def get(self, url: str) -> Kept | None:
        """The page at *url*, if it is kept and not too old."""
        with self._lock:
            found = self._kept.pop(url, None)
            if found is None or self._clock() >= found.until:
                return None
            self._kept[url] = found
            return found

    def add(self, url: str, page: Kept, seconds: float) -> None:
        """Keep *page* for so many seconds."""
        now = self._clock()
        if seconds <= 0 or self._most <= 0:
            return
        with self._lock:
            self._kept.pop(url, None)
            self._kept[url] = Kept(page.hops, page.head, page.text, now, now + seconds)
            while len(self._kept) > self._most or sum(len(each.text) for each in self._kept.values()) > _MOST_CHARS:
                del self._kept[next(iter(self._kept))]
