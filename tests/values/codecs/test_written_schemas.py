from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolkit.values.codecs import written_schemas as plain
from toolkit.values.codecs.base import Codec
from toolkit.values.codecs.code_writer import UNSURE, compile_codec
from toolkit.values.codecs.written_schemas import build_schema_emitter


def checked(schema: Any, value: Any) -> Any:
    emit = build_schema_emitter(schema)
    assert emit is not None
    return compile_codec(Codec(schema=schema, decode=dict, encode=dict, emit=emit), "it")(value, 0)


OBJECT = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}, "maxItems": 2}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (True, {"a": [1]}),
        ({}, None),
        (OBJECT, {"a": 1}),
        (OBJECT, {"a": 1, "b": ["x", "y"]}),
        ({"type": "object"}, {"any": [1, 2.5, None]}),
        ({"type": "object", "additionalProperties": {"type": "null"}, "minProperties": 1}, {"a": None}),
        ({"type": "object", "required": ["x"]}, {"x": 1}),
        ({"type": "string", "minLength": 1, "pattern": "^a", "title": "T", "x-note": 1}, "ab"),
        ({"type": "string", "enum": ["a", "b"]}, "a"),
        ({"type": "string", "const": "a", "format": "date"}, "a"),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 2**53 + 1}, 2**53),
        ({"type": "number"}, 1.5),
        ({"type": ["integer", "number", "null", "boolean", "array", "object"]}, 5),
        ({"type": ["string", "array"], "maxLength": 1, "items": {"type": "integer"}}, [1, 2, 3]),
        ({"type": "array"}, [1, [2]]),
    ],
    ids=str,
)
def test_what_fits_is_given_back_as_it_is(schema, value):
    """The usual keywords are understood, and the value is not changed."""
    assert checked(schema, value) is value
    assert Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (True, float("nan")),
        (OBJECT, {}),
        (OBJECT, {"a": True}),
        (OBJECT, {"a": 1, "c": 1}),
        (OBJECT, {"a": 1, "b": ["x", "y", "z"]}),
        (OBJECT, {"a": 1, "b": ["\ud800"]}),
        (OBJECT, {"a": 1, "b": UNSURE}),
        ({"type": "object"}, {5: 1}),
        ({"type": "object"}, {"a": (1,)}),
        ({"type": "object", "additionalProperties": {"type": "null"}}, {"a": 1}),
        ({"type": "object", "required": ["x"]}, {}),
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 10_000 + "!"),
        ({"type": "string", "enum": ["a", "b"]}, "c"),
        ({"type": ["string", "array"], "const": "a"}, []),
        ({"type": "number", "exclusiveMaximum": 2**53 + 1}, 2**53 + 1),
        ({"type": "number"}, float("inf")),
        ({"type": "number"}, 10**1000),
        ({"type": "number"}, True),
        ({"type": "integer"}, 3.0),
        ({"type": ["integer", "null"]}, "a"),
        ({"type": "array", "minItems": 1}, []),
    ],
    ids=lambda each: type(each).__name__,
)
def test_anything_else_is_left_to_the_judge(schema, value):
    """What does not fit, or only perhaps, gets no answer."""
    assert checked(schema, value) is UNSURE


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"enum": ["a"]},
        {"type": "integer", "enum": [1]},
        {"type": "string", "enum": ["a"], "const": "a"},
        {"type": "array", "uniqueItems": True},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "additionalProperties": {"anyOf": [{"type": "null"}]}},
    ],
    ids=str,
)
def test_other_keywords_are_not_understood(schema):
    """Wherever a keyword stands that is not understood, the whole is left to jsonschema."""
    assert build_schema_emitter(schema) is None


def test_a_schema_too_deep_to_write_is_not_understood():
    """Python's own stack is the limit."""
    schema: dict[str, Any] = {"type": "array"}
    for _ in range(5000):
        schema = {"type": "array", "items": schema}
    assert build_schema_emitter(schema) is None


def test_every_keyword_of_jsonschema_is_in_a_table():
    """A keyword that a new jsonschema learns must not be taken for a remark."""
    known = plain._STRUCTURE_KEYWORDS | plain._LIMITS.keys() | plain._UNSUPPORTED_KEYWORDS | {"format"}
    assert known >= set(Draft202012Validator.VALIDATORS)
