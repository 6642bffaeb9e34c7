"""Generic records without brackets: a type variable is anything that it may be, also in a record that contains itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Optional, TypedDict, TypeVar

import pytest
import typing_extensions

from toolkit import DefinitionError

from .kit import problem, read, schema_of, there_and_back, tool_for

T = TypeVar("T")
A = TypeVar("A")
Number = TypeVar("Number", int, float)
Short = TypeVar("Short", bound=str)
Later = TypeVar("Later", bound="Base")
Filled = typing_extensions.TypeVar("Filled", default=int)


@dataclass
class Base:
    n: int


@dataclass
class Node(Generic[T]):
    value: T
    children: list[Node] = field(default_factory=list)


@dataclass
class Tree(Generic[T]):
    value: T
    children: list[Tree[T]] = field(default_factory=list)


@dataclass
class Chain(Generic[Number]):
    value: Number
    rest: Chain[Number] | None = None


@dataclass
class Swap(Generic[A, T]):
    a: A
    t: T
    other: Optional[Swap[T, A]] = None


class Link(TypedDict, Generic[T], total=False):
    value: T
    next: Link[T]


class Pair(NamedTuple, Generic[T]):
    left: T
    right: list[Pair[T]]


@dataclass
class Box(Generic[T]):
    item: T


@dataclass
class Boxes(Generic[T]):
    box: Box[list[T]]


@dataclass
class Longer(Box[list[T]], Generic[T]):
    more: T


@dataclass
class Bounded(Generic[Short]):
    box: Box[Short]


@dataclass
class BoundLater(Generic[Later]):
    box: Box[Later]


@dataclass
class Default(Generic[Filled]):
    box: Box[Filled]


@dataclass
class Grow(Generic[T]):
    value: T
    inner: Grow[list[T]] | None = None


@pytest.mark.parametrize("cls", [Node, Tree])
def test_a_bare_generic_recursive_record_contains_itself(cls):
    """One definition is enough for `Node` and for `Tree[T]`."""
    name = cls.__name__
    assert schema_of(cls) == {
        "$ref": f"#/$defs/{name}",
        "$defs": {
            name: {
                "type": "object",
                "properties": {"value": {}, "children": {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}},
                "required": ["value"],
                "additionalProperties": False,
            }
        },
    }


@pytest.mark.parametrize(
    ("hint", "value", "form"),
    [
        (Node, Node(1, [Node("a")]), {"value": 1, "children": [{"value": "a", "children": []}]}),
        (Tree, Tree(1, [Tree("a")]), {"value": 1, "children": [{"value": "a", "children": []}]}),
        (Tree[T], Tree(1, []), {"value": 1, "children": []}),
        (Tree[int], Tree(1, [Tree(2)]), {"value": 1, "children": [{"value": 2, "children": []}]}),
        (Chain, Chain(1, Chain(0.5)), {"value": 1, "rest": {"value": 0.5, "rest": None}}),
        (Swap, Swap(1, "a", Swap("b", 2)), {"a": 1, "t": "a", "other": {"a": "b", "t": 2, "other": None}}),
        (Swap[int, str], Swap(1, "a", Swap("b", 2)), {"a": 1, "t": "a", "other": {"a": "b", "t": 2, "other": None}}),
        (Link, {"value": 1, "next": {"value": "a"}}, {"value": 1, "next": {"value": "a"}}),
        (Pair, Pair(1, [Pair(2, [])]), {"left": 1, "right": [{"left": 2, "right": []}]}),
        (Boxes, Boxes(Box([1])), {"box": {"item": [1]}}),
        (Boxes[int], Boxes(Box([1])), {"box": {"item": [1]}}),
        (Longer, Longer([1], "a"), {"item": [1], "more": "a"}),
        (Bounded, Bounded(Box("a")), {"box": {"item": "a"}}),
        (BoundLater, BoundLater(Box(Base(1))), {"box": {"item": {"n": 1}}}),
        (Default, Default(Box(1)), {"box": {"item": 1}}),
    ],
    ids=str,
)
def test_generic_records_are_decoded_and_encoded(hint, value, form, validation):
    there_and_back(hint, value, form, validation)


@pytest.mark.parametrize(
    ("hint", "form", "place"),
    [
        (Tree[int], {"value": 1, "children": [{"value": "a"}]}, "value.children[0].value: expected an integer"),
        (Chain, {"value": 1, "rest": {"value": "a"}}, "value.rest.value: expected an integer or a number"),
        (Swap[int, str], {"a": 1, "t": "a", "other": {"a": 1, "t": 1}}, "value.other.a: expected a string"),
        (Boxes, {"box": {"item": 1}}, "value.box.item: expected an array"),
        (Bounded, {"box": {"item": 1}}, "value.box.item: expected a string"),
        (Default, {"box": {"item": "a"}}, "value.box.item: expected an integer"),
    ],
    ids=str,
)
def test_bounds_and_constraints_and_defaults_of_type_variables_count(hint, form, place, validation):
    """They count if no types stand in brackets."""
    assert problem(hint, form, validation).startswith(place)


@pytest.mark.parametrize("hint", [Grow, Grow[int]])
def test_a_record_that_grows_in_itself_is_refused_with_the_remedy(hint):
    """Each level would be another type without an end. The place is named once."""
    with pytest.raises(DefinitionError, match="give it the same ones") as caught:
        tool_for(hint)
    assert str(caught.value).count("Grow.inner") == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is new in Python 3.12")
def test_the_syntax_of_python_3_12_is_read_too(validation):
    """`class Leaf[T]` is the same as `Generic[T]`."""
    names: dict[str, Any] = {"dataclass": dataclass, "field": field, "__name__": __name__}
    source = """
@dataclass
class Leaf[T]:
    value: T
    children: list["Leaf[T]"] = field(default_factory=list)
"""
    exec(source, names)
    leaf = names["Leaf"]
    assert read(leaf, {"value": 1, "children": [{"value": "a"}]}, validation) == leaf(1, [leaf("a")])
