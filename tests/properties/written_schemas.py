"""Schemas as people write them, drawn from all keywords."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from .exact_multiples import with_exact_multiples
from .values import json_values

_JUDGE = with_exact_multiples(Draft202012Validator)
_NAMES = st.sampled_from(["a", "b", "type", "value", "next", "1", "default", "const"])
_TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
_SIZES = st.integers(0, 4)
_NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 2**53, 2**53 + 1, 1e300, 10**400])
_PATTERNS = st.sampled_from(["^a", "a$", "[0-9]+", "^(a+)+$", "", "."])


# Made once: to make and check a strategy costs more than to draw from it.
@functools.cache
def _keywords(deeper: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    few = st.lists(deeper, min_size=1, max_size=3)
    named = st.dictionaries(_NAMES, deeper, max_size=3)
    return {
        "type": _TYPES | st.lists(_TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(json_values(), min_size=1, max_size=4),
        "const": json_values(),
        "minimum": _NUMBERS,
        "maximum": _NUMBERS,
        "exclusiveMinimum": _NUMBERS,
        "exclusiveMaximum": _NUMBERS,
        "multipleOf": st.sampled_from([1, 2, 0.5, 0.1, 3]),
        "minLength": _SIZES,
        "maxLength": _SIZES,
        "pattern": _PATTERNS,
        "minItems": _SIZES,
        "maxItems": _SIZES,
        "uniqueItems": st.booleans(),
        "items": deeper,
        "prefixItems": few,
        "contains": deeper,
        "minContains": _SIZES,
        "minProperties": _SIZES,
        "maxProperties": _SIZES,
        "properties": named,
        "required": st.lists(_NAMES, max_size=3, unique=True),
        "additionalProperties": deeper,
        "patternProperties": st.dictionaries(_PATTERNS, deeper, max_size=2),
        "propertyNames": deeper,
        "dependentRequired": st.dictionaries(_NAMES, st.lists(_NAMES, max_size=2, unique=True), max_size=2),
        "dependentSchemas": named,
        "allOf": few,
        "anyOf": few,
        "oneOf": few,
        "not": deeper,
        "if": deeper,
        "then": deeper,
        "else": deeper,
        "unevaluatedItems": deeper,
        "title": st.text(max_size=3),
        "description": st.text(max_size=3),
        "default": json_values(),
        "format": st.sampled_from(["date", "email"]),
        "x-note": json_values(),
        "$comment": st.text(max_size=3),
    }


_USUAL = ["type", "enum", "minimum", "maximum", "maxLength", "pattern", "minItems", "items", "properties"]


@functools.cache
def _names(usual: bool) -> st.SearchStrategy[list[str]]:
    names = _USUAL if usual else _keywords(st.nothing())
    return st.lists(st.sampled_from(sorted(names)), max_size=5, unique=True)


@st.composite
def _objects(draw: Any, deeper: st.SearchStrategy[Any], usual: bool) -> Any:
    keywords = _keywords(deeper)
    return {name: draw(keywords[name]) for name in draw(_names(usual))}


@functools.cache
def schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Draw the schema of an object, from every keyword there is, or from those that most schemas are made of."""
    return st.one_of([_schema(usual) for usual in (True, False)])


@functools.cache
def _schema(usual: bool) -> st.SearchStrategy[dict[str, Any]]:
    inner = st.recursive(
        st.booleans() | _TYPES.map(lambda kind: {"type": kind}), lambda deeper: _objects(deeper, usual), max_leaves=6
    )
    return _objects(inner, usual).map(lambda schema: {**schema, "type": "object"})


def reference(schema: Any, arguments: Any) -> bool | None:
    """Return what plain jsonschema says; None if it breaks down."""
    try:
        return bool(_JUDGE(schema).is_valid(arguments))
    except OverflowError:  # an integer beyond every float, divided by one
        return None
