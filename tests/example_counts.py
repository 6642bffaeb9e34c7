"""How many examples a property tries."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["limit_examples"]


def limit_examples(count: int) -> int:
    """Return *count*, or twice the number of the profile if that is less: a short run tries few of each property."""
    return min(count, 2 * settings().max_examples)
