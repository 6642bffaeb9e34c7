"""The items of a set have an order in JSON, the natural one if there is one."""

from __future__ import annotations

import itertools
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from toolkit.values.codecs.containers import order_forms
from toolkit.values.codecs.rules import create_hint_reader
from toolkit.values.rendering import as_json, as_text


class Color(Enum):
    """Members that cannot be compared."""

    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("hint", "value", "form"),
    [
        (set[int], {100, 9, -1, 20}, [-1, 9, 20, 100]),
        (frozenset[float], frozenset([10.5, 9.0]), [9.0, 10.5]),
        (set[str], {"b", "a b", "a"}, ["a", "a b", "b"]),
        (set[Decimal], {Decimal(10), Decimal(9)}, ["9", "10"]),
        (set[date], {date(2026, 1, 2), date(2025, 3, 4)}, ["2025-03-04", "2026-01-02"]),
        (set[tuple[int, str]], {(10, "a"), (9, "b")}, [[9, "b"], [10, "a"]]),
        (set[Color], {Color.RED, Color.BLUE}, ["blue", "red"]),
        (set[int | str], {10, "a", 9}, ["a", 10, 9]),
        (set[frozenset[int]], {frozenset([3]), frozenset([1, 2])}, [[1, 2], [3]]),
    ],
    ids=str,
)
def test_items_that_can_be_compared_are_in_their_natural_order(hint: Any, value: Any, form: Any) -> None:
    """The items of the other sets are in the order of their texts."""
    assert create_hint_reader(for_output=True).codec(hint).encode(value) == form
    assert sorted(map(as_text, as_json(value))) == sorted(map(as_text, form))


def test_a_set_without_annotation_is_in_its_natural_order() -> None:
    assert as_json({100, 9, -1, 20}) == [-1, 9, 20, 100]


class Partly(int):
    """A number that is less than another if it is half of it or less."""

    def __lt__(self, other: int) -> bool:
        return int(self) * 2 <= int(other)


def test_the_order_of_a_set_does_not_depend_on_how_it_was_made() -> None:
    """Even an incomplete order of the class gives one order."""
    orders = [
        order_forms([(Partly(number), number) for number in numbers])
        for numbers in itertools.permutations([10, 3, 4, 5])
    ]
    assert orders == [orders[0]] * 24
