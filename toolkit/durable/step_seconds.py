"""
How long the steps of a run took, by the clock on the wall.
"""

from __future__ import annotations

from collections.abc import Iterable

from .journal.records import StepRow

__all__ = ["measure_steps"]


def measure_steps(steps: Iterable[StepRow]) -> float:
    """Return how many seconds at least one of *steps* was under way. Steps at the same time count once."""
    times = sorted(
        (step.finished_at - step.seconds, step.finished_at) for step in steps if step.finished_at is not None
    )
    total, covered_until = 0.0, float("-inf")
    for began_at, finished_at in times:
        total += max(0.0, finished_at - max(began_at, covered_until))
        covered_until = max(covered_until, finished_at)
    return total
