"""`$defs` hold what contains itself or is used often; everything else stands where it is used."""

from dataclasses import dataclass, field
from typing import Annotated, Optional

import pytest
from jsonschema import Draft202012Validator

from toolkit.spec import Tool
from toolkit.values.codecs.definitions import assemble_schema, rewrite_schema

from .kit import schema_of, tool_for

TEXT = {"type": "string"}


@dataclass
class Short:
    pass


@dataclass
class Address:
    """Where a person lives."""

    street: str
    city: str
    country: str = "NL"


@dataclass
class Person:
    home: Address
    work: Optional[Address] = None


@dataclass
class Node:
    """One of many."""

    next: "Optional[Node]" = None


@dataclass
class Company:
    """
    Who pays.

    Attributes:
        seat: Where it is.
        first: The first of a chain.
    """

    seat: Address
    first: Node = field(default_factory=Node)


def test_a_schema_that_is_used_once_has_no_definition():
    assert "$defs" not in tool_for(Address).schema
    assert "$defs" not in tool_for(list[dict[str, Address]]).schema
    assert schema_of(list[Address])["items"]["properties"]["city"] == TEXT


def test_a_long_schema_that_is_used_twice_has_a_definition():
    schema = tool_for(Person).schema
    assert list(schema["$defs"]) == ["Address"]
    assert schema["properties"]["value"]["properties"]["home"] == {"$ref": "#/$defs/Address"}


def test_a_short_schema_that_is_used_twice_has_no_definition():
    """A reference would be no shorter."""
    assert "$defs" not in tool_for(tuple[Short, Short]).schema


def test_an_unused_definition_is_left_out():
    """A type that was read and then replaced leaves nothing behind."""
    assert assemble_schema({"type": "object"}, {"Unused": TEXT}) == {"type": "object"}
    assert assemble_schema(TEXT, {}) == TEXT


def test_a_description_beside_a_reference_is_kept():
    """The description of a field stands at the field, and that of a type at the type."""
    schema = tool_for(Company).schema
    company = schema["properties"]["value"]["properties"]
    assert company["first"] == {"$ref": "#/$defs/Node", "description": "The first of a chain."}
    assert schema["$defs"]["Node"]["description"] == "One of many."
    assert company["seat"]["description"] == "Where it is."


@pytest.mark.parametrize(
    ("hint", "description"),
    [
        (Node, "From the docstring."),
        (Annotated[Node, "On the spot."], "On the spot."),
        (Address, "From the docstring."),
    ],
)
def test_the_description_of_a_parameter_stands_beside_a_reference(hint, description):
    """It comes from the annotation or the docstring."""

    def probe(value):
        """
        Probe.

        Args:
            value: From the docstring.
        """

    probe.__annotations__["value"] = hint
    assert Tool.described(probe).schema["properties"]["value"]["description"] == description


def namesake():
    """Return another class of a name that is taken."""

    @dataclass
    class Address:
        number: int
        street: str
        postal_code: str

    return Address


def test_namesakes_are_numbered():
    """Two classes of one name are two definitions."""
    other = namesake()
    schema = tool_for(tuple[Address, Address, other, other]).schema
    Draft202012Validator.check_schema(schema)
    assert list(schema["$defs"]) == ["Address", "Address_2"]
    assert list(schema["$defs"]["Address_2"]["properties"]) == ["number", "street", "postal_code"]


def test_names_of_properties_and_data_are_not_keywords():
    """A property called `$ref`, and a default that looks like a reference, stay as they are."""
    schema = {
        "type": "object",
        "properties": {"$ref": TEXT, "a": {"$ref": "#/$defs/Text"}, "properties": {"$ref": "#/$defs/Text"}},
        "patternProperties": {"^x": {"$ref": "#/$defs/Text"}},
        "default": {"$ref": "#/$defs/Nowhere"},
        "examples": [{"$ref": "#/$defs/Nowhere"}],
        "required": ["$ref"],
    }
    assert assemble_schema(schema, {"Text": TEXT}) == {
        "type": "object",
        "properties": {"$ref": TEXT, "a": TEXT, "properties": TEXT},
        "patternProperties": {"^x": TEXT},
        "default": {"$ref": "#/$defs/Nowhere"},
        "examples": [{"$ref": "#/$defs/Nowhere"}],
        "required": ["$ref"],
    }


def test_a_reference_to_a_reference_is_followed():
    """Definitions that only refer to another are no detour."""
    definitions = {"A": {"$ref": "#/$defs/B"}, "B": TEXT}
    assert assemble_schema({"items": {"$ref": "#/$defs/A", "description": "x"}}, definitions) == {
        "items": TEXT | {"description": "x"}
    }


def test_rewriting_leaves_the_original_alone():
    """A schema is changed by making another."""
    schema = {"anyOf": [{"title": "a"}, True], "const": {"title": "b"}}
    without = rewrite_schema(schema, lambda part: {key: value for key, value in part.items() if key != "title"})
    assert without == {"anyOf": [{}, True], "const": {"title": "b"}}
    assert schema == {"anyOf": [{"title": "a"}, True], "const": {"title": "b"}}


@dataclass
class Größe:  # noqa: PLC2401 -- what is tried
    self: "Optional[Größe]" = None


@dataclass
class 日本:  # noqa: PLC2401 -- what is tried
    self: "Optional[日本]" = None


@pytest.mark.parametrize(("hint", "name"), [(Größe, "Gr_e"), (日本, "Record")])
def test_definitions_have_names_that_need_no_escaping(hint, name):
    """A pointer to a definition is plain ASCII."""
    assert list(tool_for(hint).schema["$defs"]) == [name]
