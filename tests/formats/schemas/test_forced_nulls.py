"""Nulls that strict mode forced are taken out, and no others."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from tests.formats.tools import TreeNode
from toolkit import Tool
from toolkit.formats.schemas.forced_nulls import remove_forced_nulls


@dataclass
class Inner:
    """Something inside."""

    name: str
    size: int = 1
    note: str | None = None


@dataclass
class Circle:
    """A shape."""

    kind: Literal["circle"]
    radius: int = 1


@dataclass
class Line:
    """Another."""

    kind: Literal["line"]
    length: int | None = 1


def act(
    path: str,
    limit: int = 10,
    since: str | None = "x",
    inner: Inner | None = None,
    many: list[Inner] = [],  # noqa: B006 -- never changed
    table: dict[str, Inner] = {},  # noqa: B006 -- as above
    pair: tuple[int, Inner] | None = None,
    shape: Circle | Line | None = None,
    tree: TreeNode | None = None,
) -> None:
    """Act."""


TOOL = Tool.described(act)
NOTHING = {"name": "a", "size": None, "note": None}
KEPT = {"name": "a", "note": None}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "a", "limit": None}, {"path": "a"}),
        ({"path": "a", "since": None, "limit": None}, {"path": "a", "since": None}),
        ({"path": "a", "inner": NOTHING}, {"path": "a", "inner": KEPT}),
        ({"path": "a", "many": [NOTHING, NOTHING]}, {"path": "a", "many": [KEPT, KEPT]}),
        ({"path": "a", "table": {"x": NOTHING}}, {"path": "a", "table": {"x": KEPT}}),
        ({"path": "a", "pair": [1, NOTHING]}, {"path": "a", "pair": [1, KEPT]}),
        ({"path": "a", "shape": {"kind": "circle", "radius": None}}, {"path": "a", "shape": {"kind": "circle"}}),
        (
            {"path": "a", "limit": None, "shape": {"kind": "line", "length": None}},
            {"path": "a", "shape": {"kind": "line", "length": None}},
        ),
        (
            {"path": "a", "many": None, "tree": {"value": 1, "children": [{"value": 2, "children": []}]}},
            {"path": "a", "tree": {"value": 1, "children": [{"value": 2, "children": []}]}},
        ),
    ],
    ids=["top", "nullable", "record", "list", "table", "tuple", "union", "union-nullable", "recursive"],
)
@pytest.mark.parametrize("form", [lambda value: value, json.dumps], ids=["object", "text"])
def test_a_forced_null_is_removed(arguments, expected, form):
    """This holds at any depth, if the property is optional and may not be null. Otherwise null stays."""
    assert remove_forced_nulls(form(arguments), TOOL) == expected
    assert TOOL.check(expected) is not None


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": None},
        {"path": "a", "unknown": None},
        {"path": "a", "since": None},
        {"path": "a", "shape": {"kind": "square", "radius": None}},
        {"path": "a", "limit": 5},
        '{"path": "a", "limit": null',
        '{"path": "a", "path": null}',
        '[null, {"limit": null}]',
        "null",
        "",
        None,
        [None],
        7,
    ],
    ids=repr,
)
def test_arguments_without_a_forced_null_are_not_changed(arguments):
    """Examples are a required null, an unknown key, and a text that is not JSON. The check describes the problem."""
    assert remove_forced_nulls(arguments, TOOL) is arguments


def test_arguments_are_not_changed_in_place():
    """The response that they came from belongs to the caller."""
    arguments = {"path": "a", "inner": dict(NOTHING)}
    remove_forced_nulls(arguments, TOOL)
    assert arguments == {"path": "a", "inner": NOTHING}


def build_written_tool(schema: dict[str, Any]) -> Tool:
    """Make a tool with a hand-written schema."""
    return Tool.from_schema("act", "Act.", schema, lambda arguments: None)


def test_a_property_that_another_part_of_the_schema_requires_is_not_optional():
    parts = [{"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}, {"required": ["a"]}]
    tool = build_written_tool({"type": "object", "allOf": parts})
    assert remove_forced_nulls({"a": None, "b": None}, tool) == {"a": None}


def test_a_property_whose_schema_is_true_keeps_null():
    tool = build_written_tool({"type": "object", "properties": {"a": True, "b": {"type": "integer"}}})
    assert remove_forced_nulls({"a": None, "b": None}, tool) == {"a": None}


@pytest.mark.long
def test_a_value_with_too_many_readings_is_not_changed():
    """Any arguments from outside end quickly against any schema from outside."""
    deeper = {"$ref": "#/$defs/node"}
    node = {
        "type": "object",
        "anyOf": [
            {"properties": {"a": deeper, "x": {"type": "integer"}}, "required": ["p"]},
            {"properties": {"a": deeper, "x": {"type": "integer"}}, "required": ["q"]},
        ],
    }
    tool = build_written_tool({"type": "object", "properties": {"a": deeper}, "$defs": {"node": node}})
    value: dict[str, Any] = {"x": None}
    for _ in range(60):
        value = {"a": value, "x": None}
    started = time.process_time()
    assert remove_forced_nulls({"a": value}, tool) == {"a": value}
    assert time.process_time() - started < 10
