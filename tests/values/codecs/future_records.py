"""Records whose annotations are text, for heirs in another module."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass, field
from datetime import date as Day
from typing import Generic, NamedTuple, NotRequired, Required, TypedDict, TypeVar

import attrs
import typing_extensions

if typing.TYPE_CHECKING:
    from nowhere import Missing

T = TypeVar("T")


@dataclass
class Base:
    day: Day
    tags: list[str] = field(default_factory=list)


@dataclass
class Crate(Generic[T]):
    item: T
    more: dict[str, T] = field(default_factory=dict)


@dataclass
class Tricky:
    """Its fields hide what other annotations mean."""

    list: list[int]
    str: str = "a"
    date: Day | None = None
    count: dataclasses.InitVar[int] = 0


@dataclass(slots=True)
class Slotted:
    set: set[int]
    int: int


class Row(NamedTuple):
    day: Day
    label: str = ""


@attrs.define
class Item:
    day: Day
    label: str = ""


class Old(TypedDict):
    day: Day
    label: NotRequired[str]


class Loose(TypedDict, total=False):
    day: Required[Day]
    label: str


class New(typing_extensions.TypedDict):
    day: Day
    label: typing_extensions.NotRequired[str]
    number: typing_extensions.ReadOnly[int]


class Nested(typing_extensions.TypedDict, Generic[T]):
    item: T
    days: typing_extensions.NotRequired[list[Day]]


class Quoted(typing_extensions.TypedDict):
    day: "typing.Optional[Day]"


@dataclass
class Lost:
    item: Missing
