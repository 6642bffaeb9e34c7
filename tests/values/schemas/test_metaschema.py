"""
The table of the meta-schema: what it accepts, jsonschema accepts, and most schemas need no second look.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from tests.line_counts import count_steps
from toolkit import DefinitionError
from toolkit.spec import Tool
from toolkit.values.schemas.metaschema import _CHECKS, check_against_metaschema, is_surely_valid

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from([0.0, 0.5, 2.0, -1.5, float("nan"), float("inf")]),
    st.sampled_from(["", "string", "object", "a", "#", "#/$defs/a", "a#b", "x y", "https://e.org/", "(", "a\n"]),
)
KEYWORDS = st.sampled_from([*_CHECKS, "const", "default", "x-own"])


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "^x", "("])
    return st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(KEYWORDS, inner, max_size=3),
        st.dictionaries(names, inner, max_size=2),
    )


SCHEMAS = st.dictionaries(KEYWORDS, st.recursive(LEAVES, _containers, max_leaves=6), max_size=4) | st.booleans()


def _find_error(check: Any, schema: Any) -> tuple[str, list[Any]] | None:
    try:
        check(schema)
    except SchemaError as error:
        return error.message, list(error.absolute_path)
    return None


@given(SCHEMAS)
@example({"type": ["string", "string"]})
@example({"required": ["a", "a"]})
@example({"minLength": 2.0})
@example({"multipleOf": 0})
@example({"items": [{}]})
def test_the_verdict_is_jsonschemas(schema):
    """Check each schema once, and cache the meta-schema validator: the verdict and its words stay the same."""

    def judge(schema: Any) -> None:
        Draft202012Validator.check_schema(schema, format_checker=None)

    assert _find_error(check_against_metaschema, schema) == _find_error(judge, schema)


USUAL = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "pattern": "^/", "description": "Where."},
        "limit": {"type": ["integer", "null"], "minimum": 0, "default": 10},
        "mode": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}, "uniqueItems": True},
        "at": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"Tag": {"type": "string", "maxLength": 20}},
}


@pytest.mark.parametrize(
    "schema",
    [USUAL, Draft202012Validator.META_SCHEMA["properties"]["definitions"], {}, True, {"x-own": object()}],
    ids=["usual", "meta", "empty", "true", "unknown keyword"],
)
def test_a_usual_schema_needs_no_second_look(schema):
    """Check each schema once: the table is sure of what people and libraries write."""
    assert is_surely_valid(schema)


def test_a_deep_schema_is_left_to_jsonschema():
    """The table is not sure of a schema that is nested very deeply, and does not exhaust the stack."""
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"items": schema}
    assert not is_surely_valid(schema)


def test_the_schema_of_a_tool_takes_few_steps():
    """A server may have thousands of tools, and jsonschema takes ten times as many steps for a schema."""

    def handle(arguments: dict[str, Any]) -> None:
        """Handle it."""

    Tool.from_schema("first", "The first one.", USUAL, handle)
    schema = {**USUAL, "properties": {**USUAL["properties"], "own": {"type": "boolean"}}}
    steps = count_steps(Tool.from_schema, "second", "Do it.", schema, handle)
    assert steps < count_steps(Draft202012Validator.check_schema, schema) / 5


def test_a_handwritten_schema_is_checked():
    with pytest.raises(DefinitionError, match="not a valid schema at properties/a/type"):
        Tool.from_schema("a", "Do it.", {"properties": {"a": {"type": "strnig"}}}, lambda arguments: None)
    with pytest.raises(DefinitionError, match="nothing is fetched"):
        Tool.from_schema("a", "Do it.", {"properties": {"a": {"$ref": "https://e.org/x"}}}, lambda arguments: None)
    with pytest.raises(DefinitionError, match="is not a regular expression|cannot|pattern"):
        Tool.from_schema("a", "Do it.", {"properties": {"a": {"pattern": "("}}}, lambda arguments: None)
