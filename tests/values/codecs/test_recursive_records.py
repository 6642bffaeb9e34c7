"""Records that contain themselves or each other."""

from dataclasses import dataclass, field
from datetime import date
from typing import Generic, Literal, NamedTuple, Optional, Self

import attrs
import pytest

from tests.values.codecs.record_kit import DAY, T, Tree

from .kit import problem, schema_of, three_ways, tool_for, written


@dataclass
class Node:
    value: int
    next: "Optional[Node]" = None


@dataclass
class Left:
    right: "Optional[Right]" = None
    name: str = ""


@dataclass
class Right:
    left: "list[Left]" = field(default_factory=list)


@dataclass
class Folder:
    files: "dict[str, list[File | Folder]]" = field(default_factory=dict)


@dataclass
class File:
    kind: Literal["file"]
    inside: "Folder | None" = None


@dataclass
class Selfish(Generic[T]):
    item: T
    more: list[Self] = field(default_factory=list)


class Link(NamedTuple):
    value: int
    next: "Optional[Link]" = None


@attrs.define
class Chain:
    value: int
    next: "Chain | None" = None


@pytest.mark.parametrize(
    ("hint", "value", "names"),
    [
        (Node, Node(1, Node(2, Node(3))), ["Node"]),
        (Left, Left(Right([Left(name="a"), Left(Right())])), ["Left", "Right"]),
        (Folder, Folder({"a": [File("file", Folder({"b": [Folder()]})), Folder()]}), ["Folder", "File"]),
        (Tree[date], Tree(DAY, [Tree(DAY, [Tree(DAY)])]), ["Tree_date"]),
        (Selfish[date], Selfish(DAY, [Selfish(DAY)]), ["Selfish_date"]),
        (Link, Link(1, Link(2)), ["Link"]),
        (Chain, Chain(1, Chain(2)), ["Chain"]),
    ],
)
def test_recursive_records_go_three_ways(hint, value, names, validation):
    """A record may contain itself, directly or by way of others; then it has a definition."""
    form = written(hint, value)
    three_ways(hint, value, form, schema_of(hint), validation)
    assert sorted(tool_for(hint).schema["$defs"]) == sorted(names)


def test_problems_deep_in_a_recursive_record_have_their_path(validation):
    """The path leads there from any depth."""
    assert "value.next.next.value: expected an integer" in problem(
        Node, {"value": 1, "next": {"value": 2, "next": {"value": "x"}}}, validation
    )
    assert "value.children[0].value: expected date" in problem(
        Tree[date], {"value": "2024-05-01", "children": [{"value": "x"}]}, validation
    )
