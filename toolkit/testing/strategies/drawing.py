"""
A strategy, together with what is known about the values that it draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .lazy_hypothesis import Strategy, st

__all__ = ["SchemaStrategy", "one_of"]


@dataclass(frozen=True, slots=True, eq=False)
class SchemaStrategy:
    """
    A strategy that draws values for a schema.

    Attributes:
        strategy: The strategy. Hypothesis shrinks to its simplest value.
        count: How many values there are at most; None if the number is unknown or has no limit.
        exact: Whether every value fits the schema. Otherwise each value has to be judged.
    """

    strategy: Strategy
    count: int | None = None
    exact: bool = True


def one_of(options: Iterable[SchemaStrategy]) -> SchemaStrategy:
    """Combine *options*, of which there is at least one, into one `SchemaStrategy` that draws from any of them."""
    choices = list(options)
    if len(choices) == 1:
        return choices[0]
    counts = [choice.count for choice in choices]
    total = None if None in counts else sum(count for count in counts if count is not None)
    return SchemaStrategy(
        st.one_of([choice.strategy for choice in choices]), total, all(choice.exact for choice in choices)
    )
