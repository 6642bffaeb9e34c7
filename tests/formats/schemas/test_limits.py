"""Schemas that are too large, too deep or without end."""

from __future__ import annotations

import time
from typing import Any

import pytest

from toolkit.formats.schemas.dialects import ANTHROPIC, GEMINI, OPENAI
from toolkit.formats.schemas.rewriting import rewrite_schema

pytestmark = pytest.mark.unmeasured


@pytest.mark.long
@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({}, id="alone", marks=pytest.mark.long),
        pytest.param({"description": "x"}, id="described", marks=pytest.mark.long),
        pytest.param({"minProperties": 1}, id="more"),
    ],
)
@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC, GEMINI], ids=["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("shape", ["properties", "allOf", "anyOf"])
def test_definitions_that_use_each_other_twice_end_quickly(dialect, shape, beside):
    """Forty definitions, each in the next twice, would unfold to a million million."""

    def using(name: str) -> dict[str, Any]:
        reference, other = ({"$ref": f"#/$defs/{name}", **beside} for _ in range(2))
        return (
            {"type": "object", "properties": {"a": reference, "b": other}}
            if shape == "properties"
            else {shape: [reference, other]}
        )

    definitions = {f"d{number}": using(f"d{number + 1}") for number in range(40)}
    definitions["d40"] = {"type": "object", "properties": {"x": {"type": "string"}}}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0", **beside}}, "$defs": definitions}
    started = time.process_time()
    rewrite_schema(schema, dialect)
    rewrite_schema({**schema, "$ref": "#/$defs/d0"}, dialect)
    assert time.process_time() - started < 10


def test_a_long_row_of_definitions_is_not_strict():
    """Python cannot follow it, and the tool is sent without strictness."""
    definitions: dict[str, Any] = {
        f"d{number}": {"type": "object", "properties": {"a": {"$ref": f"#/$defs/d{number + 1}", "minProperties": 0}}}
        for number in range(2000)
    }
    definitions["d2000"] = {"type": "object", "properties": {}}
    result = rewrite_schema(
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0", "minProperties": 0}}, "$defs": definitions},
        ANTHROPIC,
    )
    assert result.obstacles == ["the whole nests too deeply"]


def nest_objects(levels: int) -> Any:
    """Return the schema of objects in each other."""
    schema: Any = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for _ in range(levels - 1):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def choices(count: int, length: int = 4) -> dict[str, Any]:
    return {"enum": [f"{number:0{length}}" for number in range(count)]}


@pytest.mark.parametrize(
    ("fits", "exceeds", "why"),
    [
        (nest_objects(10), nest_objects(11), "nests 11 levels deep, 10 are allowed"),
        (
            {"properties": {f"p{number}": {"type": "null"} for number in range(5000)}},
            {"properties": {f"p{number}": {"type": "null"} for number in range(5001)}},
            "has 5,001 properties in all, 5,000 are allowed",
        ),
        (
            {"properties": {name: choices(250) for name in "abcd"}, "required": list("abcd")},
            {"properties": {**{name: choices(250) for name in "abcd"}, "e": {"const": 1}}, "required": list("abcde")},
            "has 1,001 choices in all, 1,000 are allowed",
        ),
        (
            {"properties": {"a": choices(251, 59)}},
            {"properties": {"a": choices(251, 60)}},
            "has a choice of 15,060 characters; 15,000 are allowed for more than 250 values",
        ),
        (
            {"properties": {"a" * 120_000: {"type": "null"}}},
            {"properties": {"a" * 120_001: {"type": "null"}}},
            "has names and choices of 120,001 characters, 120,000 are allowed",
        ),
    ],
    ids=["levels", "properties", "choices", "large-choice", "names"],
)
def test_openais_limits_are_checked(fits, exceeds, why):
    """A tool with one more than is allowed is not strict, and the note has both numbers."""
    assert rewrite_schema({"type": "object", **fits}, OPENAI).obstacles == []
    assert rewrite_schema({"type": "object", **exceeds}, OPENAI).obstacles == [f"the whole {why}"]


def test_levels_are_counted_through_references_and_unions():
    """A definition is as deep as what is in it; one that contains itself is counted once."""
    inner = nest_objects(9)
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]}},
        "$defs": {"x": {"type": "array", "items": inner}},
    }
    assert rewrite_schema(schema, OPENAI).obstacles == ["the whole nests 11 levels deep, 10 are allowed"]
