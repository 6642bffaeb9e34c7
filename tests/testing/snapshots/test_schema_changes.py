"""
`find_narrowings`: if it finds nothing, every value of the old schema fits the new one.
"""

from __future__ import annotations

import copy
import datetime as dt
import random
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import annotated_types as at
import pytest

from toolkit.spec import Tool
from toolkit.testing.laws.smallest_example import Effort, draw_values
from toolkit.testing.snapshots.schema_changes import find_narrowings
from toolkit.testing.strategies.arguments import arguments
from toolkit.testing.strategies.base import Unsupported
from toolkit.values.schemas.validator import compile_schema


class Options(TypedDict):
    depth: int
    label: NotRequired[str]


class FewerOptions(TypedDict):
    depth: NotRequired[int]


@dataclass
class Tree:
    name: str
    children: list[Tree]


HINTS: list[Any] = [
    *(str, int, float, bool, None, Any, object, dt.date, dt.time),
    *(int | None, str | int, list[int] | str | None, bool | None, dict[str, int] | list[str]),
    *(Literal["a", "b"], Literal["a"], Literal[1, "a", None], Literal[True]),
    *(Annotated[int, at.Ge(3)], Annotated[int, at.Gt(3)], Annotated[int, at.Le(9)], Annotated[float, at.Ge(0)]),
    *(Annotated[int, at.MultipleOf(3)], Annotated[str, at.MinLen(2)], Annotated[str, at.Len(2, 4)]),
    *(list, list[int], list[float], list[int | None], Annotated[list[int], at.MinLen(2)], set[int], tuple[int, str]),
    *(tuple[int, ...], tuple[()], dict, dict[str, int], dict[str, float], dict[Literal["a", "b"], int]),
    *(Options, FewerOptions, Tree, list[Tree], Tree | None),
]


def build_schema(hint: Any) -> dict[str, Any]:
    def probe(value): ...

    probe.__annotations__["value"] = hint
    return dict(Tool.described(probe, name="probe", description="Probe.").schema)


SCHEMAS = [build_schema(hint) for hint in HINTS]


def draw(schema: dict[str, Any], examples: int = 25) -> list[Any]:
    try:
        return draw_values(arguments(schema), Effort(examples=examples, seed=1))
    except Unsupported:
        return []


def check(old: dict[str, Any], new: dict[str, Any], values: list[Any]) -> None:
    """Raise `AssertionError` if a value of *old* is refused by *new*, and no narrowing says so."""
    if find_narrowings(old, new):
        return
    refused = [value for value in values if not compile_schema(new).is_valid(value)]
    assert refused == [], f"{old} -> {new}"


@pytest.mark.parametrize("index", range(len(HINTS)), ids=[str(hint) for hint in HINTS])
def test_a_value_that_only_one_of_two_types_accepts_is_found(index):
    values = draw(SCHEMAS[index])
    for new in SCHEMAS:
        check(SCHEMAS[index], new, values)


@pytest.mark.parametrize("schema", SCHEMAS, ids=[str(hint) for hint in HINTS])
def test_a_schema_is_not_narrower_than_itself(schema):
    assert find_narrowings(schema, copy.deepcopy(schema)) == []


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (int | None, int),
        (float, int),
        (Any, str),
        (str, Literal["a"]),
        (Literal["a", "b"], Literal["a"]),
        (list[float], list[int]),
        (dict[str, float], dict[str, int]),
        (int, Annotated[int, at.Ge(3)]),
        (FewerOptions | Options, FewerOptions),
        (tuple[int, ...], tuple[()]),
    ],
)
def test_a_wider_type_breaks_no_caller(wide, narrow):
    """The reverse is a narrowing."""
    assert find_narrowings(build_schema(narrow), build_schema(wide)) == []
    assert find_narrowings(build_schema(wide), build_schema(narrow)) != []


MUTATIONS = {
    "type": ["string", "integer", "number", "array", "object", "boolean", ["string", "null"]],
    "enum": [["a"], ["a", 1, None], [True]],
    "minimum": [0, 5],
    "maximum": [5, 100],
    "minLength": [1, 3],
    "maxLength": [1, 30],
    "pattern": ["^a", "b$"],
    "minItems": [1, 2],
    "maxItems": [1, 9],
    "uniqueItems": [True],
    "multipleOf": [2, 3],
    "items": [True, False, {"type": "integer"}, {"type": ["integer", "null"]}],
    "required": [[], ["value"], ["value", "other"]],
    "additionalProperties": [True, False, {"type": "string"}],
    "properties": [{}, {"value": {"type": "string"}}, {"value": {}, "other": {"type": "integer"}}],
    "anyOf": [[{"type": "string"}, {"type": "integer"}], [{"minimum": 3}, {"type": "null"}]],
    "const": [1, "a"],
    "not": [{"type": "string"}],
}


def mutate(source: random.Random, schema: Any) -> None:
    """Change one keyword somewhere in *schema*."""
    parts = [schema]
    for part in parts:  # it grows meanwhile
        members = [part.get("items"), *part.get("properties", {}).values(), *part.get("anyOf", ())]
        parts += [member for member in members if isinstance(member, dict)]
    part = source.choice(parts)
    keyword = source.choice([*MUTATIONS, *(name for name in part if name != "$defs")])
    if keyword in part and (keyword not in MUTATIONS or source.random() < 0.5):
        del part[keyword]
    else:
        part[keyword] = copy.deepcopy(source.choice(MUTATIONS[keyword]))


@pytest.mark.parametrize("seed", range(15))
def test_a_value_that_a_changed_schema_refuses_is_found(seed):
    """Keywords are added, changed and removed at random, one after the other, so the schemas are unlike those of types."""
    source = random.Random(seed)
    schema = copy.deepcopy(source.choice(SCHEMAS))
    for _ in range(4):
        old = copy.deepcopy(schema)
        mutate(source, schema)
        check(old, schema, draw(old, 15))
        check(schema, old, draw(schema, 15))
