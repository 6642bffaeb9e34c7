"""Lists, tuples, sets and similar containers, with items of any type."""

import collections
import typing
from collections import abc, deque
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
import typing_extensions

from toolkit import DefinitionError

from .kit import DATE, problem, read, schema_of, three_ways, tool_for, written

INTEGERS = {"type": "array", "items": {"type": "integer"}}
UNIQUE = {**INTEGERS, "uniqueItems": True}


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (list[int], [1, 2], [1, 2], INTEGERS),
        (list[int], [], [], INTEGERS),
        (list, [1, "a"], [1, "a"], {"type": "array"}),
        (list[Any], [1, "a"], [1, "a"], {"type": "array"}),
        (typing.List[int], [1], [1], INTEGERS),
        (typing.List, [1], [1], {"type": "array"}),
        (list[list[date]], [[date(2024, 5, 1)]], [["2024-05-01"]], None),
        (deque[int], deque([1, 2]), [1, 2], INTEGERS),
        (typing.Deque[int], deque([1]), [1], INTEGERS),
        (deque, deque([1]), [1], {"type": "array"}),
        (abc.Sequence[int], [1], [1], INTEGERS),
        (abc.MutableSequence[int], [1], [1], INTEGERS),
        (abc.Collection[int], [1], [1], INTEGERS),
        (abc.Iterable[int], [1], [1], INTEGERS),
        (abc.Container[int], [1], [1], INTEGERS),
        (abc.Reversible[int], [1], [1], INTEGERS),
        (typing.Sequence[int], [1], [1], INTEGERS),
        (typing.MutableSequence[int], [1], [1], INTEGERS),
        (typing.Collection[int], [1], [1], INTEGERS),
        (typing.Iterable[int], [1], [1], INTEGERS),
        (typing.Container[int], [1], [1], INTEGERS),
        (typing.Reversible[int], [1], [1], INTEGERS),
        (typing.Iterable, [1], [1], {"type": "array"}),
        (set[int], {1, 2}, [1, 2], UNIQUE),
        (frozenset[int], frozenset([1]), [1], UNIQUE),
        (
            set,
            {1},
            [1],
            {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}, "uniqueItems": True},
        ),
        (abc.Set[int], {1}, [1], UNIQUE),
        (abc.MutableSet[int], {1}, [1], UNIQUE),
        (typing.Set[int], {1}, [1], UNIQUE),
        (typing.FrozenSet[int], frozenset([1]), [1], UNIQUE),
        (typing.AbstractSet[int], {1}, [1], UNIQUE),
        (typing.MutableSet[int], {1}, [1], UNIQUE),
        (set[tuple[int, str]], {(1, "a")}, [[1, "a"]], None),
        (set[frozenset[int]], {frozenset([1])}, [[1]], None),
        (tuple[int, ...], (1, 2), [1, 2], INTEGERS),
        (tuple, (1, "a"), [1, "a"], {"type": "array"}),
        (typing.Tuple, (1, "a"), [1, "a"], {"type": "array"}),
        (typing.Tuple[int, ...], (1,), [1], INTEGERS),
        (
            tuple[int, date],
            (1, date(2024, 5, 1)),
            [1, "2024-05-01"],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, DATE],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (tuple[()], (), [], {"type": "array", "maxItems": 0}),
        (typing.Tuple[()], (), [], {"type": "array", "maxItems": 0}),
    ],
)
def test_containers_go_three_ways(hint, value, form, schema, validation):
    """A container arrives as the type it was annotated with; an abstract one as the plainest that fits."""
    three_ways(hint, value, form, schema_of(hint) if schema is None else schema, validation)


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (list[int], "1", "expected an array"),
        (list[int], {"0": 1}, "expected an array"),
        (list[int], [1, True], "value[1]: expected an integer"),
        (list[list[int]], [[1], ["2"]], "value[1][0]: expected an integer"),
        (list[date], ["2024-05-01", "today"], "value[1]: expected date"),
        (tuple[int, str], [1], "at least 2 items"),
        (tuple[int, str], [1, "a", 2], "at most 2 items"),
        (tuple[int, str], ["a", 1], "value[0]: expected an integer"),
        (tuple[date, int], ["today", 1], "value[0]: expected date"),
        (tuple[()], [1], "at most 0 items"),
        (set[int], [1, 1], "items that differ"),
        (set[int], [1, 1.0], "items that differ"),
        (set[str], "abc", "expected an array"),
    ],
)
def test_wrong_items_are_refused_with_their_path(hint, form, words, validation):
    assert words in problem(hint, form, validation)


@dataclass(eq=False)
class Marker:
    """Two of these are never equal, even with the same content."""

    name: str


@pytest.mark.parametrize(
    ("hint", "form"),
    [
        (set[Any], [1, True]),
        (set[int | bool], [0, False]),
        (frozenset[float | bool], [1.0, True]),
        (set[Decimal], ["1.0", "1.00"]),
        (set[Decimal], ["1", 1]),
        (set[Any], [[1], [2]]),
        (set[Any], [{"a": 1}]),
        (set[Marker], [{"name": "a"}, {"name": "a"}]),
    ],
)
def test_a_set_whose_items_collapse_is_refused(hint, form, validation):
    """A set never loses an item silently, and never has two that JSON takes for one."""
    assert problem(hint, form, validation)


def test_items_without_equality_can_be_in_a_set(validation):
    """A class without `__eq__` is fine in a set as long as its JSON forms differ."""
    received = read(set[Marker], [{"name": "a"}, {"name": "b"}], validation)
    assert sorted(marker.name for marker in received) == ["a", "b"]


def test_equal_sets_are_written_in_the_same_order():
    assert written(set[str], {"b", "a", "c"}) == ["a", "b", "c"]


@pytest.mark.parametrize("hint", [set[list[int]], set[dict[str, int]], frozenset[set[int]], set[collections.Counter]])
def test_a_set_of_unhashable_items_is_refused(hint):
    """No call could ever succeed."""
    with pytest.raises(DefinitionError, match="cannot be hashed; use a list"):
        tool_for(hint)


@pytest.mark.parametrize("hint", [tuple[int, *tuple[str, ...]], tuple[int, typing_extensions.Unpack[tuple[str, ...]]]])
def test_a_tuple_of_changing_length_in_a_tuple_is_refused(hint):
    """JSON Schema could express it only clumsily. The error has the remedy."""
    with pytest.raises(DefinitionError, match=r"use tuple\[T, \.\.\.\] or a dataclass"):
        tool_for(hint)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (list[int], (1,)),
        (list[int], "1"),
        (list[int], ["a"]),
        (tuple[int, ...], [1]),
        (tuple[int, str], (1,)),
        (tuple[int, str], [1, "a"]),
        (set[int], [1]),
        (abc.Sequence[str], "abc"),
        (abc.Iterable[int], b"abc"),
    ],
)
def test_other_containers_do_not_encode(hint, value):
    """Text is never taken for a sequence of letters, nor a tuple for a list."""
    with pytest.raises(TypeError):
        written(hint, value)


@pytest.mark.parametrize(
    ("hint", "value", "form"),
    [
        (abc.Sequence[int], (1, 2), [1, 2]),
        (abc.Iterable[int], {1: "a"}, [1]),
        (abc.Set[int], frozenset([1]), [1]),
        (list[Any], [[1]], [[1]]),
    ],
)
def test_abstract_containers_encode_any_container_that_fits(hint, value, form):
    """A default of a fitting concrete type has a JSON form."""
    assert written(hint, value) == form


def test_decoding_builds_a_new_container(validation):
    """A function may change what it was given without changing the caller's arguments."""
    form = [[1], [2]]
    received = read(list[list[int]], form, validation)
    received[0].append(3)
    assert form == [[1], [2]]
