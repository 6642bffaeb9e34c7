"""
What every strategy needs: hypothesis, a record of what a strategy draws, and the errors for schemas without values.

Hypothesis is imported when the first strategy is made. If it is missing, the error says how to install it. `st` and
`hypothesis` stand for the modules `hypothesis.strategies` and `hypothesis`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..._lazy_names import LazyModule
from ..._plumbing.distribution import install_hint
from ...errors import ToolkitError

__all__ = [
    "Impossible",
    "SchemaStrategy",
    "Strategy",
    "Unsupported",
    "hypothesis",
    "one_of",
    "repeat_to_length",
    "st",
    "with_edges",
]


class Unsupported(ToolkitError):  # noqa: N818 -- named by what happened, as all our errors are
    """
    No values can be drawn for a schema, or too few of the drawn values fit it.

    Attributes:
        keyword: The keyword of the schema that prevents it; `decode` for a check in an annotation or a class that no
            keyword states, such as `Predicate`, and `validate` for that of the tool.
        place: The place of the keyword in the schema: "#/properties/name/pattern".
    """

    def __init__(self, message: str, *, keyword: str, place: str) -> None:
        super().__init__(message)
        self.keyword = keyword
        self.place = place


class Impossible(Exception):  # noqa: N818 -- a state to recover from, not an error yet
    """
    No value fits this part of a schema. Other parts may still give a value.

    A union drops the member that raised it, and an object drops the optional property. *why* is the end of a sentence.
    *is_starved* says whether the only reason is that references lead deeper than the allowed depth.
    """

    def __init__(self, keyword: str, place: str, why: str, *, is_starved: bool = False) -> None:
        super().__init__(f"`{keyword}` at {place} {why}")
        self.keyword = keyword
        self.place = place
        self.is_starved = is_starved


Strategy: TypeAlias = "st.SearchStrategy[Any]"

if TYPE_CHECKING:
    import hypothesis
    from hypothesis import strategies as st
else:
    _INSTALL_HINT = install_hint("testing")
    hypothesis = LazyModule("hypothesis", _INSTALL_HINT)
    st = LazyModule("hypothesis.strategies", _INSTALL_HINT)


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


T = TypeVar("T", str, list[Any])


def repeat_to_length(piece: T, length: int) -> T:
    """Return *piece* again and again, up to *length*. A long value is drawn so, because each draw costs time."""
    return (piece * (length // len(piece) + 1))[:length]


_PLAIN_PER_EDGE = 3
"""Three draws in four are no edges, so that each of a few edges is likely among the 60 calls that a law tries."""


def with_edges(strategy: Strategy, edges: Sequence[Strategy]) -> Strategy:
    """
    Return *strategy* with some draws taken from *edges*: values where code breaks first, such as `date.max`.

    Hypothesis draws such values rarely or never by itself. An edge shrinks to a smaller value of *strategy* if both
    make the same draws, as `st.dates()` and `st.dates(date.max, date.max)` do: hypothesis then keeps what was drawn.
    """
    plain = _PLAIN_PER_EDGE * len(edges)
    if not plain:
        return strategy

    @st.composite
    def draw_value_or_edge(draw: st.DrawFn) -> Any:
        number = draw(st.integers(0, plain + len(edges) - 1))
        return draw(strategy if number < plain else edges[number - plain])

    return draw_value_or_edge()
