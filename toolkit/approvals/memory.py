"""Approvals that last as long as the process."""

from __future__ import annotations

import threading
import time
from types import EllipsisType

from ..requests import ApprovalRequest
from .records import ApprovalError, Record, dumped, loaded
from .stores import Change, Changing, is_pending

__all__ = ["MemoryApprovals"]


class MemoryApprovals(Changing):
    """
    Keep approvals in memory, for the threads and loops of one process.

    Args:
        size: How many are kept. For one more, the oldest that is over is forgotten. What waits or runs
            is never forgotten: if there is nothing else, a new request is refused.
        until_expired: Whether what is over is kept as long as it could have been answered. For requests
            that come back from outside, sealed: one that is forgotten could be used again.
    """

    blocking = False

    def __init__(self, *, size: int = 10_000, until_expired: bool = False) -> None:
        if size < 1:
            raise ValueError(f"size has to be at least 1, got {size!r}")
        self._size = size
        self._until_expired = until_expired
        self._kept: dict[str, Record] = {}
        self._lock = threading.Lock()

    def add(self, record: Record) -> None:
        """Keep a record that is pending; `ValueError` if its id is taken."""
        if record.state != "pending":
            raise ValueError(f"only a pending request can be added; this one is {record.state}")
        own = _copy(self._signed(record))
        with self._lock:
            if own.request.id in self._kept:
                raise ValueError(f"there is a request {own.request.id!r} already")
            self._make_room(own.request.created_at)
            self._kept[own.request.id] = own

    def get(self, request_id: str) -> Record | None:
        """The record of exactly this id, as it is now."""
        record = self._kept.get(request_id)
        return None if record is None else _copy(self._checked(record))

    def pending(
        self,
        *,
        session: str | EllipsisType | None = ...,
        principal: str | EllipsisType | None = ...,
        now: float | None = None,
    ) -> list[ApprovalRequest]:
        """What can still be answered *now*, the oldest first."""
        now = time.time() if now is None else now
        with self._lock:
            kept = list(self._kept.values())
        found = [_copy(each).request for each in kept if is_pending(each, session, principal, now)]
        return sorted(found, key=lambda request: request.created_at)

    def purge(self, *, before: float) -> int:
        """Forget what was denied, done or expired *before*, and say how many."""
        with self._lock:
            old = [key for key, each in self._kept.items() if self._can_go(each, before) and _is_over(each, before)]
            for key in old:
                del self._kept[key]
        return len(old)

    def _change(self, request_id: str, change: Change) -> bool:
        with self._lock:
            record = self._kept.get(request_id)
            changed = None if record is None else change(record)
            if changed is not None:
                self._kept[request_id] = _copy(self._signed(changed))
                self._remember(changed)
            return changed is not None

    def _make_room(self, now: float) -> None:
        if len(self._kept) < self._size:
            return
        oldest = next((key for key, each in self._kept.items() if self._can_go(each, now)), None)
        if oldest is None:
            raise ApprovalError(
                f"{self._size:,} calls wait for an answer or run, and no more are kept; "
                "answer some, give requests a time to expire, or make the store larger with size=",
                why="store",
            )
        del self._kept[oldest]

    def _can_go(self, record: Record, now: float) -> bool:
        is_answered = record.state in ("denied", "done")
        return record.state != "claimed" and (record.is_expired(now) or (is_answered and not self._until_expired))


def _is_over(record: Record, before: float) -> bool:
    since = record.over_since()
    return since is not None and since < before


def _copy(record: Record) -> Record:
    """A record nobody else holds, just as it would come out of a file."""
    return loaded(dumped(record))
