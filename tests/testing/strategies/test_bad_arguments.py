"""
`bad_arguments`: near misses and hostile ones; and calls, alone and in batches.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import annotated_types as at
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.example_counts import limit_examples
from toolkit import BadArgs, Catalog, ToolCall
from toolkit.spec import Tool
from toolkit.testing import Unsupported, bad_arguments, batches, calls, mistaken_arguments
from toolkit.testing.strategies.mistakes import (
    MISTAKE_KINDS,
    BoundaryValues,
    hostile_changes,
    non_object_changes,
    possible_mistakes,
)

from ..least import least


def book(
    seats: Annotated[int, at.Ge(1), at.Le(9)],
    row: Annotated[str, at.MinLen(1), at.MaxLen(2)],
    kind: Literal["front", "back"] = "front",
    *,
    names: Annotated[list[str], at.MaxLen(2)] | None = None,
    vip: bool = False,
) -> None:
    """Book seats."""


def everything(**anything: Any) -> None:
    """Take anything."""


@pytest.mark.long
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("description", "path", "here"),
    [
        ("left out", ("seats",), None),
        ("an unknown key", ("unexpected",), 1),
        ("a key in other letters", ("SEATS",), 1),
        ("a text for a number", ("seats",), "1"),
        ("a fraction", ("seats",), 1.5),
        ("beyond a bound", ("seats",), 0),
        ("beyond a length", ("row",), "000"),
        ("a text for a truth", ("vip",), "false"),
        pytest.param("beyond a size", ("names",), ["", "", ""], marks=pytest.mark.long),
        ("in other letters", ("kind",), "FRONT"),
    ],
)
def test_every_kind_of_mistake_is_made(description, path, here):
    """Each is one change to good arguments, with its place."""
    smallest = least(
        mistaken_arguments(book), lambda mistake: mistake.description == description and mistake.path == path
    )
    assert smallest.arguments.get(path[0]) == here


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "description", ["very deep arrays", "a number without end", "half of a character", "many keys"]
)
@pytest.mark.long
def test_hostile_arguments_are_drawn(description):
    """The schema refuses them."""
    smallest = least(mistaken_arguments(book), lambda mistake: mistake.description == description)
    with pytest.raises(BadArgs):
        Tool.of(book).check(smallest.arguments)


def test_the_smallest_bad_call_is_a_near_miss():
    """The smallest good one with something left out."""
    assert least(bad_arguments(book)) == {"row": "0"}


def test_a_tool_for_any_object_refuses_other_values():
    """So bad arguments exist for every tool."""

    @settings(max_examples=limit_examples(30))
    @given(bad_arguments(everything))
    def draw(value):
        assert not isinstance(value, dict)
        with pytest.raises(BadArgs):
            Tool.of(everything).check(value)

    draw()


def test_a_schema_that_accepts_everything_is_refused():
    """There is nothing bad to draw."""
    with pytest.raises(Unsupported, match="accepts everything that was tried"):
        least(bad_arguments({}))


def test_bad_arguments_exist_for_a_schema_that_accepts_nothing():
    """Every value is bad."""
    assert least(bad_arguments({"type": "object", "not": {}})) == []


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "not": {"required": ["a"]}},
        {"type": "object", "properties": {"a": {"allOf": [{"pattern": "^a"}, {"pattern": "z$"}]}}, "required": ["a"]},
    ],
    ids=["nothing", "hardly anything"],
)
@pytest.mark.long
def test_bad_arguments_are_drawn_for_a_schema_with_hardly_any_good_ones(schema):
    """A bad call needs no good one to begin with, and no health check fails."""

    @settings(max_examples=60, database=None, deadline=None)
    @given(bad_arguments(schema))
    def check_refusal(bad):
        assert not Draft202012Validator(schema).is_valid(bad)

    check_refusal()


def test_a_change_of_a_copy_does_not_change_the_original():
    """Good arguments stay good."""
    value = {"a": [1, {"b": "x"}], "c": {"d": None, "e": True}}
    before = repr(value)
    limits = BoundaryValues.of({"minimum": 3, "items": {"maxLength": 2, "minItems": True, "maximum": "no"}})
    assert limits == BoundaryValues((2, 3, 4), (1, 3))
    for kind, _, make in [*possible_mistakes(value, limits), *hostile_changes(value), *non_object_changes()]:
        assert kind in MISTAKE_KINDS
        changed = make()
        if isinstance(changed, dict):
            changed.clear()
    assert repr(value) == before


def test_drawn_calls_fit_the_tools_of_the_catalog():
    catalog = Catalog(book, everything)
    names = set()

    @settings(max_examples=limit_examples(40))
    @given(calls(catalog))
    def draw(call):
        assert isinstance(call, ToolCall)
        catalog[call.name].check(call.arguments)
        names.add(call.name)

    draw()
    assert names == {"book", "everything"}


@pytest.mark.unmeasured
def test_the_calls_of_a_batch_have_numbered_ids():
    @settings(max_examples=limit_examples(40))
    @given(batches(Catalog(book, everything), max_calls=3))
    def draw(batch):
        assert [call.id for call in batch] == [f"call_{number}" for number in range(1, len(batch) + 1)]
        assert len(batch) <= 3

    draw()
    assert [call.name for call in least(batches(Catalog(book)))] == ["book"]


def test_an_empty_catalog_has_no_calls():
    """The error comes at construction, and not while drawing."""
    with pytest.raises(ValueError, match="no tools in the catalog"):
        calls(Catalog())
    with pytest.raises(ValueError, match="max_calls has to be at least 1"):
        batches(Catalog(book), max_calls=0)


@pytest.mark.unmeasured
@given(st.data())
def test_the_mistake_of_a_nested_value_has_its_path(data):
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}, "minItems": 1}}, "required": ["a"], "additionalProperties": False}  # fmt: skip
    mistake = data.draw(mistaken_arguments(schema))
    assert mistake.path[:1] in ((), ("a",), ("A",), ("unexpected",))


@pytest.mark.long
def test_a_number_that_jsonschema_cannot_judge_is_a_bad_argument():
    """A number beyond every float, of which jsonschema finds no remainder, is judged by its digits."""
    schema = {"type": "object", "properties": {"x": {"type": "number", "multipleOf": 0.3}}, "required": ["x"]}
    smallest = least(mistaken_arguments(schema), lambda mistake: mistake.description == "very large")
    assert smallest.arguments == {"x": 10**400}
