"""
The calls of this process that hold the same request.

A call that ends without an answer withdraws its request. Another call that has got the same request may still wait for
the answer, so the request is withdrawn with the last call that holds it.
"""

from __future__ import annotations

import threading

from .._plumbing.forks import unlock_in_children

__all__ = ["RequestHolders"]

_MAX_COUNTED = 10_000


class RequestHolders:
    """Counts the calls that hold each of the newest requests, and knows which requests a person is asked about."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._asked: set[str] = set()
        self._digests: dict[str, str] = {}
        self._lock = unlock_in_children(threading.Lock())

    def add_maker(self, request_id: str) -> None:
        """Count a call that has made a request. Several calls may make the same sealed request."""
        with self._lock:
            self._counts[request_id] = self._counts.get(request_id, 0) + 1
            if len(self._counts) > _MAX_COUNTED:
                del self._counts[next(iter(self._counts))]

    def add(self, request_id: str) -> None:
        """Count another call. The calls that hold a request of another process are not counted."""
        with self._lock:
            if request_id in self._counts:
                self._counts[request_id] += 1

    def remove(self, request_id: str, *, is_maker: bool) -> bool:
        """Forget one call, and return whether the request has to be withdrawn, because it was the last one."""
        with self._lock:
            count = self._counts.pop(request_id, None)
            if count is None:
                return is_maker
            if count > 1:
                self._counts[request_id] = count - 1
            return count <= 1

    def reserve(self, request_id: str, digest: str) -> bool:
        """Return whether the id of a sealed request, which its caller has chosen, is free or has the same *digest*."""
        with self._lock:
            known = self._digests.setdefault(request_id, digest)
            if len(self._digests) > _MAX_COUNTED:
                del self._digests[next(iter(self._digests))]
            return known == digest

    def begin_question(self, request_id: str) -> bool:
        """Return whether the caller may ask a person about a request: no other call is asking about it."""
        with self._lock:
            is_free = request_id not in self._asked
            self._asked.add(request_id)
            return is_free

    def end_question(self, request_id: str) -> None:
        """Let other calls ask about the request again. Only a call that was asking does this."""
        with self._lock:
            self._asked.discard(request_id)
