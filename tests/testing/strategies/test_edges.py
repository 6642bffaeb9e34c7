"""Values at the edges of a type are drawn, and shrink."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import pathlib
from typing import Annotated, Any

import annotated_types as at
import pytest
from hypothesis import find

from toolkit import tool
from toolkit.testing import arguments, values
from toolkit.testing.laws.smallest_example import Effort, draw_values

from ..least import least

EDGES: dict[str, tuple[Any, list[str]]] = {
    "date": (dt.date, ["9999-12-3", "0001-01-0"]),
    "date and time": (dt.datetime, ["9999-12-31T23:59:59.99999", "0001-01-01T00:00:00"]),
    "time": (dt.time, ["23:59:59.99999"]),
    "decimal": (decimal.Decimal, ["9" * 29]),
    "address": (ipaddress.IPv4Address, ["255.255.255.255"]),
    "path": (pathlib.Path, [".."]),
    "float": (float, ["1.7976931348623157e+308", "5e-324"]),
    "integer": (int, ["922337203685477580", "-922337203685477580"]),
    "bounded integer": (Annotated[int, at.Interval(ge=-5, le=70_000)], ["-5", "70000"]),
    "bounded text": (Annotated[str, at.MaxLen(100)], ["a" * 100, "\U0001f600" * 100]),
}


"""A type, and how the edges that are drawn of it begin."""


@pytest.mark.one_case_in(3)
@pytest.mark.unmeasured
@pytest.mark.parametrize(("hint", "edges"), EDGES.values(), ids=EDGES)
def test_edges_are_drawn(hint, edges):
    """`date.max`-like edges are drawn, within twice the 60 calls that a law tries."""

    def take(x):
        """Take it."""

    take.__annotations__["x"] = hint
    missing = set(edges)
    # Which values a seed means depends on what is imported, so one seed alone would decide by chance.
    for seed in range(3):
        drawn = (
            [str(value["x"]) for value in draw_values(arguments(take), Effort(examples=120, seed=seed))]
            if missing
            else []
        )
        missing -= {edge for edge in missing if any(value.startswith(edge) for value in drawn)}
    assert missing == set()


@pytest.mark.unmeasured
def test_the_longest_duration_is_drawn():
    """`date.max`-like edges are drawn: a duration of as many days as Python has, in both directions."""

    def take(x: dt.timedelta):
        """Take it."""

    drawn = [value["x"].days for value in draw_values(values(take), Effort(examples=200, seed=1))]
    assert {dt.timedelta.max.days, dt.timedelta.min.days} <= set(drawn)


@pytest.mark.parametrize(
    ("hint", "condition", "smallest"),
    [
        (dt.date, lambda day: day > "2100", "2100-01-01"),
        (int, lambda number: number > 1000, 1001),
        (int, lambda number: number < -3, -4),
        (decimal.Decimal, lambda text: isinstance(text, str) and float(text) >= 10, "10"),
    ],
    ids=["date", "large", "negative", "decimal"],
)
def test_an_edge_shrinks_to_the_smallest_value(hint, condition, smallest):
    """`date.max`-like edges are drawn, and the smallest example is the smallest call all the same."""

    def take(x):
        """Take it."""

    take.__annotations__["x"] = hint
    assert least(arguments(take), lambda drawn: condition(drawn["x"])) == {"x": smallest}


def test_datetimes_are_drawn_with_and_without_a_time_zone():
    """A schema accepts both, and a comparison of the two is a common mistake."""

    @tool(catalog=None)
    def note(at: dt.datetime) -> str:
        """Note it."""
        return ""

    texts = arguments(note).map(lambda drawn: drawn["at"])
    find(texts, lambda text: dt.datetime.fromisoformat(text).tzinfo is None)
    find(texts, lambda text: dt.datetime.fromisoformat(text).tzinfo is not None)
