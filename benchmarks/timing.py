"""
Timing on a noisy machine.

Candidates take turns, many short rounds each, and the best round counts: noise
only ever adds. Read the ratios; the microseconds belong to one machine.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

__all__ = ["Row", "best_of", "print_table", "ratio"]

Row = tuple[str, float, float | None, str]
"""What was measured, microseconds, the ratio that matters, and what it is a ratio to."""


def best_of(candidates: Mapping[str, Callable[[], object]], *, number: int, rounds: int = 40) -> dict[str, float]:
    """Microseconds for one call of each candidate."""
    best = dict.fromkeys(candidates, float("inf"))
    for candidate in candidates.values():
        candidate()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, candidate in candidates.items():
                start = time.perf_counter()
                for _ in range(number):
                    candidate()
                best[name] = min(best[name], (time.perf_counter() - start) / number * 1e6)
    finally:
        gc.enable()
    return best


def ratio(ours: float, theirs: float) -> float:
    return ours / theirs


def print_table(title: str, rows: list[Row]) -> None:
    print(f"\n{title}\n")
    print("| | microseconds | ratio | |\n|---|--:|--:|---|")
    for what, microseconds, factor, to in rows:
        print(f"| {what} | {microseconds:,.2f} | {'' if factor is None else f'{factor:.2f}'} | {to} |")
