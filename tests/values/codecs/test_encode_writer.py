from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypedDict

import attrs
import pytest

from toolkit.values.codecs.base import Codec
from toolkit.values.codecs.code_writer import UNSURE, compile_encode
from toolkit.values.codecs.rules import create_hint_reader


@dataclass
class Place:
    name: str
    height: float = 0.0
    tags: list[str] = field(default_factory=list)
    above: Place | None = None


class Pair(NamedTuple):
    left: int
    right: str


class Row(TypedDict, total=False):
    name: str
    count: int


@attrs.define
class Mark:
    _x: int


class Text(str):
    __slots__ = ()


def encoder_of(hint: Any) -> Any:
    return compile_encode(create_hint_reader(globals(), for_output=True).codec(hint), "it")


@pytest.mark.parametrize(
    ("hint", "value", "form"),
    [
        (str, "ä", "ä"),
        (int, -5, -5),
        (float, 2, 2.0),
        (bool, True, True),
        (None, None, None),
        (Any, {"a": [1, None, 2.5, "x"]}, {"a": [1, None, 2.5, "x"]}),
        (list[str], ["a", "b"], ["a", "b"]),
        (Sequence[int], (1, 2), [1, 2]),
        (deque[int], deque([1]), [1]),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (tuple[()], (), []),
        (tuple[int, ...], (1, 2), [1, 2]),
        (set[int], {2, 1}, [1, 2]),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (dict[int, int], {3: 1}, {"3": 1}),
        (Mapping[str, Any], {"a": [1]}, {"a": [1]}),
        (defaultdict[str, int], defaultdict(int, a=1), {"a": 1}),
        (Place, Place("x", 3), {"name": "x", "height": 3.0, "tags": [], "above": None}),
        (Pair, Pair(1, "a"), {"left": 1, "right": "a"}),
        (Row, {"count": 1, "name": "x"}, {"count": 1, "name": "x"}),
        (Mark, Mark(3), {"x": 3}),
        (Literal["a", 1], "a", "a"),
        (int | str | None, "a", "a"),
        (int | list[Pair], [Pair(1, "a")], [{"left": 1, "right": "a"}]),
    ],
)
def test_values_that_generated_code_encodes(hint: Any, value: Any, form: Any):
    assert encoder_of(hint)(value, 0) == form


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (str, 5),
        (str, "\ud800"),
        (str, Text("a")),
        (int, True),
        (int, 10**1000),
        (float, float("nan")),
        (float, 10**400),
        (Any, {"a": {1}}),
        (Any, float("inf")),
        (list[str], ("a",)),
        (list[str], ["a", 5]),
        (dict[str, int], OrderedDict(a=1)),
        (dict[str, int], {Text("a"): 1}),
        (Place, "x"),
        (Row, {"other": 1}),
        (tuple[int, str], (1,)),
        (int | str, b"a"),
        (list[int] | list[str], ["a"]),
    ],
)
def test_values_that_are_left_to_the_codec(hint: Any, value: Any):
    """The codec may encode them all the same, or it says what is wrong with them."""
    assert encoder_of(hint)(value, 0) is UNSURE


def test_a_field_that_was_never_set_is_left_to_the_codec():
    place = Place("x")
    del place.name
    assert encoder_of(Place)(place, 0) is UNSURE


def test_a_record_inside_itself_is_encoded_to_a_limit():
    place = Place("last")
    for _ in range(10):
        place = Place("one", above=place)
    codec = create_hint_reader(globals(), for_output=True).codec(Place)
    assert compile_encode(codec, "it")(place, 0) == codec.encode(place)
    for _ in range(100):
        place = Place("one", above=place)
    assert compile_encode(codec, "it")(place, 0) is UNSURE


def test_another_encode_function_replaces_the_code():
    """Otherwise its own encoding would be ignored."""
    codec = replace(create_hint_reader(for_output=True).codec(str), encode=lambda value: value.upper())
    assert compile_encode(codec, "it")("a", 0) == "A"


def test_the_output_of_a_users_encode_function_is_checked():
    assert compile_encode(Codec(schema={}, decode=int, encode=lambda value: {value}), "it")(1, 0) is UNSURE
    assert compile_encode(Codec(schema={}, decode=int, encode=lambda value: [value]), "it")(1, 0) == [1]
