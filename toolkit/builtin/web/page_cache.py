"""
Pages that a session has fetched. They are kept for a while, so that a model can read on without a second request.

The number, the age and the size of the pages are limited. This module does not decide whether a page may be shown: the
caller that takes out a page judges every address that it came from once more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from ..._plumbing.forks import unlock_in_children
from ...session import Session

__all__ = ["CachedPage", "PageCache"]

_STATE_KEY = "toolkit.web_fetch"
_MAX_CHARACTERS = 8_000_000


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A page in the form in which it is shown: the addresses of redirects, the lines about the page, and its text."""

    hops: tuple[str, ...]
    head: str
    text: str
    kept_since: float = 0.0
    expires_at: float = 0.0


class PageCache:
    """The pages that one session keeps. Of more than *max_pages*, those used longest ago are removed first."""

    def __init__(self, *, max_pages: int, clock: Callable[[], float]) -> None:
        self._max_pages = max_pages
        self._clock = clock
        self._pages: dict[Hashable, CachedPage] = {}
        self._lock = unlock_in_children(threading.Lock())  # several event loops may use one session

    @classmethod
    def of(cls, session: Session | None, owner: Hashable, *, max_pages: int, clock: Callable[[], float]) -> PageCache:
        """Return the pages that the tool *owner* keeps in *session*. Without a session, they keep nothing."""
        if session is None:
            return cls(max_pages=0, clock=clock)
        caches: dict[Hashable, PageCache] = session.state.setdefault(_STATE_KEY, {})
        return caches.setdefault(owner, cls(max_pages=max_pages, clock=clock))

    def get(self, url: str) -> CachedPage | None:
        """Return the page at *url*, if it is kept and not too old, else None."""
        with self._lock:
            page = self._pages.pop(url, None)
            if page is None or self._clock() >= page.expires_at:
                return None
            self._pages[url] = page
            return page

    def add(self, url: str, page: CachedPage, seconds: float) -> None:
        """Keep *page* for *seconds*."""
        now = self._clock()
        if seconds <= 0 or self._max_pages <= 0:
            return
        with self._lock:
            self._pages.pop(url, None)
            self._pages[url] = CachedPage(page.hops, page.head, page.text, now, now + seconds)
            while (
                len(self._pages) > self._max_pages
                or sum(len(other.text) for other in self._pages.values()) > _MAX_CHARACTERS
            ):
                del self._pages[next(iter(self._pages))]
