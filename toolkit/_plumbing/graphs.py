"""Search of a graph, such as of definitions that refer to one another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

__all__ = ["find_reachable"]

H = TypeVar("H", bound=Hashable)


def find_reachable(starts: Iterable[H], list_next: Callable[[H], Iterable[H]]) -> dict[H, None]:
    """Return *starts*, and after them all that they lead to. *list_next* returns what a node leads to directly."""
    reached = dict.fromkeys(starts)
    waiting = list(reached)
    for node in waiting:  # it grows meanwhile
        new = dict.fromkeys(other for other in list_next(node) if other not in reached)
        reached |= new
        waiting += new
    return reached
