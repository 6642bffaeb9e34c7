"""Types and schemas that the tests of records share."""

import collections
from dataclasses import dataclass, field
from datetime import date
from typing import Generic, NamedTuple, TypeVar

__all__ = ["DAY", "Frozen", "Point", "T", "Tree", "TypedPair", "Untyped"]

T = TypeVar("T")
DAY = date(2024, 5, 1)


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass(frozen=True)
class Frozen:
    x: int


class TypedPair(NamedTuple):
    x: int
    day: date = DAY


Untyped = collections.namedtuple("Untyped", ["a", "b"], defaults=[2])


@dataclass
class Tree(Generic[T]):
    value: T
    children: "list[Tree[T]]" = field(default_factory=list)
