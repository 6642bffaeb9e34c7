"""Structs of msgspec: their schema, and what is decoded and encoded."""

from datetime import date
from typing import Annotated, Generic

import msgspec
import pytest

from tests.values.codecs.foreign_kit import DAY, INTEGER, TEXT, Kind, T
from toolkit import DefinitionError

from .kit import problem, read, schema_of, three_ways, tool_for


class Odd(msgspec.Struct):
    function: type


DATE = {"type": "string", "format": "date"}


class Renamed(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    first_name: str


class Add(msgspec.Struct, tag="add"):
    left: "Add | Lit"
    right: "Add | Lit"


class Lit(msgspec.Struct, tag="lit"):
    value: float


class Bounded(msgspec.Struct):
    size: Annotated[int, msgspec.Meta(gt=0, description="How big.")]

    def __post_init__(self):
        if self.size > 100:
            raise ValueError("too big")


class Many(msgspec.Struct):
    items: list[Bounded] = []
    named: dict[str, Bounded] = {}


class StructBox(msgspec.Struct, Generic[T]):
    item: T


class Row(msgspec.Struct, array_like=True):
    x: int
    y: str


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (
            Kind,
            Kind(1, DAY),
            {"x": 1, "day": "2024-05-01"},
            {
                "type": "object",
                "description": "What it is for.",
                "properties": {"x": INTEGER, "day": DATE | {"default": "2024-05-01"}},
                "required": ["x"],
            },
        ),
        (
            Renamed,
            Renamed("a"),
            {"firstName": "a"},
            {
                "type": "object",
                "properties": {"firstName": TEXT},
                "required": ["firstName"],
                "additionalProperties": False,
            },
        ),
        (
            Add,
            Add(Lit(1.0), Add(Lit(2.0), Lit(3.5))),
            {
                "type": "add",
                "left": {"type": "lit", "value": 1.0},
                "right": {
                    "type": "add",
                    "left": {"type": "lit", "value": 2.0},
                    "right": {"type": "lit", "value": 3.5},
                },
            },
            None,
        ),
        (Add | Lit, Lit(1.5), {"type": "lit", "value": 1.5}, None),
        (Bounded, Bounded(1), {"size": 1}, None),
        (Many, Many([Bounded(1)], {"a": Bounded(2)}), {"items": [{"size": 1}], "named": {"a": {"size": 2}}}, None),
        (StructBox[date], StructBox(DAY), {"item": "2024-05-01"}, None),
        (Row, Row(1, "a"), [1, "a"], None),
    ],
)
def test_structs_go_three_ways(hint, value, form, schema, validation):
    """A struct is described and converted by msgspec, by its own names and tags."""
    three_ways(hint, value, form, schema_of(hint) if schema is None else schema, validation)


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (Kind, {"x": "1"}, "value.x: expected an integer"),
        (Kind, {"x": True}, "value.x: expected an integer"),
        (Kind, {"x": 1, "day": "soon"}, "value.day: "),
        (Renamed, {"first_name": "a"}, "value.firstName: required"),
        (Bounded, {"size": 0}, "value.size: expected more than 0"),
        (Bounded, {"size": 101}, "value: too big"),
        (list[Many], [{"items": [{"size": 1}, {"size": 101}]}], "value[0].items[1]: too big"),
        (Many, {"named": {"a": {"size": 101}}}, "value.named: too big"),
        (Add, {"type": "add", "left": {"type": "lit", "value": 1}, "right": {"type": "no"}}, "value"),
    ],
)
def test_msgspec_is_not_the_judge_of_shape(hint, form, words, validation):
    """The schema refuses what msgspec might coerce; what a struct itself raises has its path."""
    assert words in problem(hint, form, validation)


def test_a_struct_takes_a_whole_number_written_as_a_float(validation):
    """`3.0` is an integer in JSON, though not for msgspec."""
    assert read(Kind, {"x": 3.0}, validation) == Kind(3)


def test_a_struct_that_cannot_be_described_is_refused():
    """msgspec's own reason is passed on, with a remedy."""
    with pytest.raises(DefinitionError, match="parameter `value`: msgspec cannot describe Odd: .*register_codec"):
        tool_for(Odd)
