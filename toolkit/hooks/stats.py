"""A hook that counts what the tools did."""

from __future__ import annotations

import math
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence

from .._plumbing.forks import unlock_in_children
from .._plumbing.records import record
from ..results import ToolCall, ToolResult
from ..values.text_limits import estimate_tokens
from .events import CallEnded

__all__ = ["Stats", "ToolStats", "compute_percentile"]

_UNKNOWN = "(unknown)"
_OTHERS = "(others)"


@record(frozen=True, slots=True)
class ToolStats:
    """
    The numbers of one tool.

    Attributes:
        tool: The name of the tool. "(unknown)" stands for all names that no tool has, "(others)" for the tools beyond
            `max_tools`.
        calls: How many calls there were.
        failures: How many calls ended in each kind of error.
        retries: The number of attempts beyond the first.
        p50_seconds: Half of the last calls that ran took at most this long.
        p95_seconds: 95 of 100 took at most this long.
        p99_seconds: 99 of 100 took at most this long.
        chars: The number of characters in the results' texts.
        tokens: The tokens that the results' texts cost a model, estimated at four characters a token.
        cost: The cost of the calls, by the tools' fact `cost` or by the `cost` function of `Stats`.
    """

    tool: str
    calls: int
    failures: dict[str, int]
    retries: int
    p50_seconds: float
    p95_seconds: float
    p99_seconds: float
    chars: int
    tokens: int
    cost: float


class _ToolCounters:
    def __init__(self, window: int) -> None:
        self.calls = self.chars = self.retries = 0
        self.cost = 0.0
        self.failures: Counter[str] = Counter()
        self.seconds: deque[float] = deque(maxlen=window)


class Stats:
    """
    A hook that counts calls, failures, retries, sizes and costs by tool, and keeps the last *window* latencies of each.

    Args:
        window: How many latencies of each tool are kept.
        max_tools: How many tools have numbers of their own; further tools are counted together as "(others)".
        cost: A function that returns what a call costs; `result.cost` unless given.
    """

    listens_to = (CallEnded,)

    def __init__(
        self,
        *,
        window: int = 1000,
        max_tools: int = 1000,
        cost: Callable[[ToolCall, ToolResult], float] | None = None,
    ) -> None:
        if window < 1:
            raise ValueError(f"window has to be at least 1, got {window}")
        if max_tools < 1:
            raise ValueError(f"max_tools has to be at least 1, got {max_tools}")
        self._window = window
        self._max_tools = max_tools
        self._cost = cost or (lambda call, result: result.cost)
        self._counters: dict[str, _ToolCounters] = {}
        # Calls may end in several event loops, and another thread may take a snapshot at the same time.
        self._lock = unlock_in_children(threading.Lock())

    def on_event(self, event: CallEnded) -> None:
        """Count a call that has ended."""
        call, result = event.call, event.result
        # A model can invent any number of names that no tool has, so these are counted together.
        name = _UNKNOWN if call.tool is None else call.tool.name
        if result is None:
            self.add(name, event.kind)
            return
        self.add(name, event.kind, len(result.text), result.attempts, result.duration_seconds)
        if result.attempts:
            cost = self._cost(call, result)  # The user's function must not run while the lock is held.
            with self._lock:
                self._counters_for(name).cost += cost

    def add(self, name: str, kind: str, chars: int = 0, attempts: int = 0, seconds: float = 0.0) -> None:
        """Count a call of the tool *name* that has ended as *kind*, such as one of an audit log."""
        with self._lock:
            tally = self._counters_for(name)
            tally.calls += 1
            tally.chars += chars
            tally.retries += max(0, attempts - 1)
            if kind not in ("ok", "waiting"):
                tally.failures[kind] += 1
            if attempts:
                tally.seconds.append(seconds)

    def snapshot(self) -> list[ToolStats]:
        """Return the numbers as they are now, a record for each tool in the order of their first calls."""
        with self._lock:
            return [_build_stats(name, tally) for name, tally in self._counters.items()]

    def _counters_for(self, name: str) -> _ToolCounters:
        tally = self._counters.get(name)
        if tally is None:
            # Tools may come and go, so the number of their names has a limit as well.
            name = name if len(self._counters) < self._max_tools else _OTHERS
            tally = self._counters.setdefault(name, _ToolCounters(self._window))
        return tally


def _build_stats(name: str, tally: _ToolCounters) -> ToolStats:
    ordered = sorted(tally.seconds)
    return ToolStats(
        tool=name,
        calls=tally.calls,
        failures=dict(tally.failures),
        retries=tally.retries,
        p50_seconds=compute_percentile(0.50, ordered),
        p95_seconds=compute_percentile(0.95, ordered),
        p99_seconds=compute_percentile(0.99, ordered),
        chars=tally.chars,
        tokens=estimate_tokens(tally.chars),
        cost=tally.cost,
    )


def compute_percentile(fraction: float, sorted_values: Sequence[float]) -> float:
    """
    Return the smallest value of *sorted_values* that at least this *fraction* of them does not exceed; 0 if it is
    empty.
    """
    return sorted_values[math.ceil(fraction * len(sorted_values)) - 1] if sorted_values else 0.0
