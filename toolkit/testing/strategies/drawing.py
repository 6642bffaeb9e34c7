"""
A strategy, and what is known about what it draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .lazy_hypothesis import Strategy, st

__all__ = ["Made", "one_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """
    What draws values for a schema.

    Attributes:
        strategy: The simplest value is the first to shrink to.
        count: How many values there are at most; None if nobody knows, or there is no end to them.
        exact: Whether every value fits; otherwise each has to be judged.
    """

    strategy: Strategy
    count: int | None = None
    exact: bool = True


def one_of(options: Iterable[Made]) -> Made:
    """What draws from any of *options*, of which there is at least one."""
    made = list(options)
    if len(made) == 1:
        return made[0]
    counts = [each.count for each in made]
    total = None if None in counts else sum(count for count in counts if count is not None)
    return Made(st.one_of([each.strategy for each in made]), total, all(each.exact for each in made))
