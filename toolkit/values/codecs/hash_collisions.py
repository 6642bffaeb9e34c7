"""
Sets and dictionaries that strangers fill.

The hash of a string cannot be foreseen, that of a number can: a list of long
integers that all share one takes minutes to become a set.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["FEW", "crowded"]

FEW = 1000
"""So many of them do no harm, whatever their hashes."""


def crowded(items: Iterable[Any]) -> bool:
    """Whether more than a few of *items* share their hash with another."""
    hashes = [hash(item) for item in items]
    return len(hashes) - len(set(hashes)) > FEW
