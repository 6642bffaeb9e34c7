"""A hook that denies a call that repeats itself."""

from __future__ import annotations

from .._plumbing.newest_items import NewestItems
from ..results import ToolCall
from .base import Deny, Outcome, Proceed

__all__ = ["LoopGuard"]

_MAX_SESSIONS = 10_000


class LoopGuard:
    """
    A hook that denies a call that repeats itself; the model gets advice instead of a result.

    Args:
        max_repeats: How often in a row the same call may be made in one session.
    """

    def __init__(self, *, max_repeats: int = 3) -> None:
        if max_repeats < 1:
            raise ValueError(f"max_repeats has to be at least 1, got {max_repeats}")
        self._max_repeats = max_repeats
        self._last_calls: NewestItems[str, tuple[str, int]] = NewestItems(_MAX_SESSIONS)

    def before(self, call: ToolCall) -> Outcome:
        digest, key = call.digest(), call.session_key
        last, times = self._last_calls.get(key, ("", 0))
        times = times + 1 if digest == last else 1
        self._last_calls[key] = (digest, times)
        if times > self._max_repeats:
            return Deny(f"`{call.name}` was called {times} times in a row with the same arguments; try something else")
        return Proceed()
