"""
Schemas as people write them by mistake: each is refused when the tool is made, or gives every call a verdict.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from toolkit import Catalog, DefinitionError, Dispatcher
from toolkit.spec import Tool

from .exact_multiples import with_exact_multiples
from .values import json_objects, json_values
from .written_schemas import _keywords, _schema

_REFERENCES = [
    "#",
    "",
    "#/properties/a",
    "#/$defs/a",
    "#/$defs/nowhere",
    "#/type",
    "#/enum/0",
    "#anchor",
    "#/properties/a~2",
    "https://example.invalid/schema",
    "http://[bad",
    "%",
]
_ODD_KEYWORDS: dict[str, list[Any]] = {
    "$ref": [*_REFERENCES, 5, None],
    "$dynamicRef": _REFERENCES,
    "$id": ["http://[bad", "https://example.invalid/", "relative", "#", "", 5],
    "$anchor": ["anchor", "5", ""],
    "$schema": [
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
        "nonsense",
        5,
    ],
    "$defs": [{"a": {"$ref": "#/$defs/a"}}, {"a": False}, {"a": {"$ref": "#/properties/a"}}, {"a": 5}, 5, {}],
    "type": [[], "any", None, ["string", "string"], {}, ["object", "null"], "object"],
    "enum": [[], [[]], [None, None], "abc", {}, list(range(20)), [1, 1.0, True], [{"a": [1]}]],
    "const": [None, {}, [[]], float("nan")],
    "anyOf": [[], [False], [True], [{}], [{"enum": []}, {"type": "null"}], {}],
    "oneOf": [[], [False], [True, True], [{"const": 1}, {"const": 1.0}]],
    "allOf": [[], [False]],
    "not": [{}, False, {"not": {}}, 5],
    "items": [False, True, [], [{"type": "string"}], {"enum": []}],
    "prefixItems": [[], [False], {}],
    "required": [["nowhere"], ["a", "a"], "a", []],
    "properties": [{"a": False}, {"": {}}, {"a": 5}, [], {"a": {"enum": []}}, {"a": {"$ref": "#"}}],
    "additionalProperties": [False, None, {"enum": []}],
    "propertyNames": [False, {"enum": []}, {"type": "integer"}],
    "patternProperties": [{"(": {}}, {"": False}, {"^(a+)+$": False}],
    "pattern": ["(", "^(a+)+$", r"\p{L}", "(?=a)", 5],
    "multipleOf": [0, -1, 1e-320, 10**400, 0.1],
    "minimum": ["a", 10**400, None],
    "minLength": [-1, 1.5, 2.0, 10**30],
    "exclusiveMinimum": [True, 5],
    "unevaluatedProperties": [False, {"enum": []}],
    "contains": [False, {"enum": []}],
    "if": [True, False, {"enum": []}],
    "then": [False],
    "dependentRequired": [{"a": ["nowhere"]}, {"a": "b"}],
    "format": ["nonsense", 5],
    "default": [object(), float("inf"), {}],
    "x-toolkit-member-names": [5, {"A": 1}],
    "x-toolkit-flag-names": [5, {"A": 1}],
    "discriminator": [{"propertyName": "a"}, 5],
}


@functools.cache
def _odd_part(deeper: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(st.sampled_from(sorted(_ODD_KEYWORDS)), max_size=3, unique=True)
    usual = _keywords(deeper)
    values = {
        name: st.sampled_from(odd) | (usual[name] if name in usual else st.nothing())
        for name, odd in _ODD_KEYWORDS.items()
    }
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: values[name] for name in chosen}))


@functools.cache
def odd_schemas() -> st.SearchStrategy[Any]:
    """Draw schemas with values that are wrong, or right but seldom seen, under every keyword; a few are no schema."""
    inner = st.recursive(st.booleans() | st.just({}), _odd_part, max_leaves=4)
    return _odd_part(inner) | st.tuples(_schema(False), _odd_part(inner)).map(lambda pair: {**pair[0], **pair[1]})


async def take(arguments: dict[str, Any]) -> str:
    """Take anything."""
    return "taken"


def plain_verdict(schema: Any, arguments: Any) -> bool | None:
    """Return what plain jsonschema says, by the draft that the schema names; None if it cannot say."""
    try:
        validator = with_exact_multiples(validator_for(schema, default=Draft202012Validator))
        return bool(validator({**schema, "type": "object"}).is_valid(arguments))
    except Exception:  # noqa: BLE001 -- a reference that leads nowhere, or a number beyond every float
        return None


@pytest.mark.filterwarnings("ignore:.*is no keyword of draft:toolkit.ToolkitWarning")
@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
@given(schema=odd_schemas() | json_values(), arguments=json_objects())
@example(schema={"properties": {"a": {"enum": []}}}, arguments={"a": 1})
@example(schema={"properties": {"a": {"type": "string", "enum": []}}}, arguments={"a": 1})
@example(schema={"properties": {"a": {"anyOf": [{"enum": []}]}}}, arguments={"a": 1})
@example(schema={"properties": {"a": {"$ref": "#/type"}}, "type": "object"}, arguments={"a": 1})
@example(schema={"$id": "http://[bad"}, arguments={})
@example(schema={"properties": {"a": {"enum": [1], "x-toolkit-member-names": {"A": 1}}}}, arguments={"a": "A"})
def test_an_odd_schema_is_refused_or_gives_every_call_a_verdict(validation, schema, arguments):
    """A `DefinitionError` when the tool is made, else "ok" or "bad_args" when it is called; never a bug of ours."""
    try:
        tool = Tool.from_schema("odd", "Take anything.", schema, take)
        catalog = Catalog()
        catalog.add(tool)
    except DefinitionError:
        return
    result = asyncio.run(Dispatcher(catalog, validation=validation).call("odd", arguments))
    assert result.kind in ("ok", "bad_args"), result.text
    assert len(result.text) < 10_000
    verdict = plain_verdict(schema, arguments)
    if verdict is not None:
        assert (result.kind == "ok" and not result.repairs) == verdict, result.text
