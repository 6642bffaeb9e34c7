"""
Pages that a session has fetched. They are kept for a while, so that a model can read on without a second request.

The number, the age and the size of the pages are limited. This module does not decide whether a page may be shown: the
caller that takes out a page judges every address that it came from once more.
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
    A page in the form in which it is shown.

    Attributes:
        hops: The addresses to which redirects led, in order.
        head: The lines about the page.
        text: The whole text of the page.
    """

    hops: tuple[str, ...]
    head: str
    text: str
    since: float = 0.0
    until: float = 0.0


class Pages:
    """
    The pages that one session keeps.

    Args:
        most: How many pages are kept. The pages that were used longest ago are removed first.
    """

    def __init__(self, *, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._kept: dict[Hashable, Kept] = {}
        self._lock = unlock_in_children(threading.Lock())  # several event loops may use one session

    @classmethod
    def of(cls, session: Session | None, owner: Hashable, *, most: int, clock: Callable[[], float]) -> Pages:
        """
        Return the pages that the tool *owner* keeps in *session*.

        Without a session, return pages that keep nothing.
        """
        if session is None:
            return cls(most=0, clock=clock)
        every: dict[Hashable, Pages] = session.state.setdefault(_KEY, {})
        return every.setdefault(owner, cls(most=most, clock=clock))

    def get(self, url: str) -> Kept | None:
        """Return the page at *url*, if it is kept and not too old, else None."""
        with self._lock:
            page = self._kept.pop(url, None)
            if page is None or self._clock() >= page.until:
                return None
            self._kept[url] = page
            return page

    def add(self, url: str, page: Kept, seconds: float) -> None:
        """Keep *page* for *seconds*."""
        now = self._clock()
        if seconds <= 0 or self._most <= 0:
            return
        with self._lock:
            self._kept.pop(url, None)
            self._kept[url] = Kept(page.hops, page.head, page.text, now, now + seconds)
            while len(self._kept) > self._most or sum(len(other.text) for other in self._kept.values()) > _MOST_CHARS:
                del self._kept[next(iter(self._kept))]
