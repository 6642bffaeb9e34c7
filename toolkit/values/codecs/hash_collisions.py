"""
Protect sets and dictionaries that untrusted input fills.

An attacker cannot predict the hash of a string, but can predict the hash of a number. A list of long integers that all
have the same hash takes minutes to become a set.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["MAX_COLLISIONS", "has_many_collisions"]

MAX_COLLISIONS = 1000
"""A number of items that does no harm, even if all of them have the same hash."""


def has_many_collisions(items: Iterable[Any]) -> bool:
    """Return whether more than a few of *items* share their hash with another item."""
    hashes = [hash(item) for item in items]
    return len(hashes) - len(set(hashes)) > MAX_COLLISIONS
