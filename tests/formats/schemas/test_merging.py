"""What providers refuse at the top of a schema does not stand there."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from tests.formats.tools import build_definitions, everything
from toolkit import Catalog, Tool
from toolkit.formats.schemas.merging import flatten_top_level


def test_a_union_at_the_top_can_be_strict():
    """Its properties are merged, and a property that not every member requires is nullable."""
    [definition] = build_definitions("openai", Catalog(everything()["find_user"]), strict=True)
    assert definition["function"]["strict"] is True
    parameters = definition["function"]["parameters"]
    assert parameters["properties"]["id"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert parameters["properties"]["by"]["enum"] == ["name", None]
    assert "oneOf" in parameters["description"]


@pytest.mark.parametrize("top", ["$ref", "allOf", "anyOf", "not", "enum", "if"])
def test_the_top_of_a_sent_schema_is_an_object_with_properties(top):
    """This holds for any schema that the author wrote."""
    member = {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    value = {"$ref": "#/$defs/m", "not": member, "enum": [{"a": "x"}], "if": member}.get(top, [member, member, True])
    schema = {"type": "object", top: value, "$defs": {"m": member}, "properties": {"b": {"type": "integer"}}}
    tool = Tool.from_schema("act", "Act.", schema, lambda arguments: None)
    [definition] = build_definitions("anthropic", Catalog(tool))
    sent = definition["input_schema"]
    assert top not in sent
    assert sent["type"] == "object"
    assert "b" in sent["properties"]
    assert f"`{top}`" in sent["description"] or "one of" in sent["description"]
    assert ("a" in sent["properties"]) is (top in ("$ref", "allOf", "anyOf"))
    Draft202012Validator.check_schema(sent)


CLOSED = {"properties": {"a": {"type": "string"}}, "additionalProperties": False}
OPEN = {"properties": {"b": {"type": "string"}}}


@pytest.mark.parametrize(
    ("members", "expected"), [([CLOSED, CLOSED], False), ([CLOSED, OPEN], None)], ids=["closed", "open"]
)
def test_a_union_of_objects_is_closed_if_all_members_are(members, expected):
    tool = Tool.from_schema("act", "Act.", {"anyOf": members}, lambda arguments: None)
    [definition] = build_definitions("anthropic", Catalog(tool))
    assert definition["input_schema"].get("additionalProperties") is expected


def test_a_long_chain_of_references_at_the_top_is_left_out():
    """Python cannot follow it, and the check of the arguments does."""
    row = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(3000)}
    made_flat, left_out = flatten_top_level({"$ref": "#/$defs/d0", "$defs": {**row, "d3000": {}}})
    assert made_flat["properties"] == {}
    assert list(left_out) == ["$ref"]
