"""The texts of records and fields, and the names in their annotations."""

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import attrs
import pytest

from tests.values.codecs.record_kit import DAY, Frozen, Point, TypedPair, Untyped
from toolkit import DefinitionError
from toolkit.spec import Tool

from . import future_records as future
from .kit import schema_of, tool_for, written


@dataclass
class Described:
    """
    What it is for.

    Attributes:
        a: From the docstring.
        b: From the docstring.
        c: From the docstring.
        f: From the docstring.
    """

    a: int
    b: Annotated[int, "On the spot."]
    c: int = field(metadata={"description": "From the metadata."})
    d: int = field(metadata={"description": 5})
    e: int
    """From beneath the field."""
    f: Annotated[int, ""]


@dataclass
class DescribedHeir(Described):
    """
    Another one.

    Attributes:
        a: From the heir.
    """


@attrs.define
class DescribedAttrs:
    """
    What it is for.

    Attributes:
        a: From the docstring.
    """

    a: int
    b: int = attrs.field(metadata={"description": "From the metadata."})
    c: int
    """From beneath the field."""


class DescribedTuple(NamedTuple):
    """
    What it is for.

    Attributes:
        a: From the docstring.
    """

    a: int
    b: int
    """From beneath the field."""


@pytest.mark.parametrize(
    ("hint", "texts"),
    [
        (
            Described,
            {
                "": "What it is for.",
                "a": "From the docstring.",
                "b": "On the spot.",
                "c": "From the metadata.",
                "d": None,
                "e": "From beneath the field.",
                "f": "From the docstring.",
            },
        ),
        (
            DescribedHeir,
            {"": "Another one.", "a": "From the heir.", "b": "On the spot.", "e": "From beneath the field."},
        ),
        (
            DescribedAttrs,
            {
                "": "What it is for.",
                "a": "From the docstring.",
                "b": "From the metadata.",
                "c": "From beneath the field.",
            },
        ),
        (DescribedTuple, {"": "What it is for.", "a": "From the docstring.", "b": "From beneath the field."}),
        (Point, {"": None, "x": None}),
        (TypedPair, {"": None, "x": None}),
        (Untyped, {"": None, "a": None}),
    ],
)
def test_fields_have_the_descriptions_of_their_author(hint, texts):
    """
    They may stand at the field, in the metadata, in an `Attributes` section, or beneath the field. Default
    docstrings of Python do not count.
    """
    schema = schema_of(hint)
    descriptions = {name: schema["properties"][name].get("description") for name in texts if name}
    assert descriptions | {"": schema.get("description")} == texts


def test_a_field_that_cannot_be_described_is_named():
    """Which record and which field, however deep."""
    hole = dataclasses.make_dataclass("Hole", [("inside", list[range])])
    with pytest.raises(DefinitionError, match=r"parameter `value`: Hole\.inside: range has no JSON form"):
        tool_for(list[hole])


def test_names_are_resolved_in_their_own_module(validation):
    """A local name in the scope of the tool does not change a record of another module."""
    Day = int

    def probe(value: "tuple[future.Base, future.Old, Day]"): ...

    tool = Tool.described(probe, description="Probe.")
    received = tool.check({"value": [{"day": "2024-05-01"}, {"day": "2024-05-01"}, 3]}, validation=validation)
    assert received == {"value": (future.Base(DAY), {"day": DAY}, Day(3))}


def test_a_name_only_for_type_checkers_is_refused_at_the_first_use():
    """The error has the name."""
    with pytest.raises(DefinitionError, match="Missing"):
        _ = tool_for(future.Lost).schema


@pytest.mark.parametrize(
    ("hint", "value"), [(Point, {"x": 1}), (Frozen, Point(1)), (Point, Point("a")), (TypedPair, (1, DAY))]
)
def test_other_objects_do_not_encode(hint, value):
    """Only an instance with valid fields has the form."""
    with pytest.raises(TypeError):
        written(hint, value)
