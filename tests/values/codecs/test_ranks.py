"""One table says which member of a union comes first."""

import dataclasses
import datetime as dt
import decimal
import enum
import ipaddress
import pathlib
import re
import uuid
from collections import Counter, deque
from itertools import groupby
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import typing_extensions
from annotated_types import Ge, Len

from toolkit.values.codecs.base import Codec
from toolkit.values.codecs.ranks import CodecRank, narrow_breadth
from toolkit.values.codecs.rules import create_hint_reader
from toolkit.values.codecs.schema_first import make_strict_codec


class Color(enum.Enum):
    """One constant."""

    RED = "red"


class Permission(enum.Flag):
    """A sum of bits."""

    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Closed:
    """A record that fills in nothing."""

    a: int


@dataclasses.dataclass
class Filling:
    """A record that fills in its field."""

    a: int = 1


class Dictionary(TypedDict):
    """A record that is a dictionary."""

    a: int


class Pair(NamedTuple):
    """A record that is a tuple."""

    a: int


class Open(typing_extensions.TypedDict, extra_items=int):
    """A record that takes more keys."""

    a: int


@dataclasses.dataclass
class Node:
    """A record that contains itself."""

    next: Optional["Node"]


def strict(**schema: Any) -> Any:
    """Return a hint for a type whose author wrote the schema."""
    return Annotated[bytes, make_strict_codec(Codec(schema=schema, decode=bytes, encode=bytes))]


NARROWEST_FIRST: list[list[Any]] = [
    [None, strict(type="null")],
    [Literal["a"], Color],
    [bool, Permission, strict(type="boolean")],
    [Annotated[int, Ge(0)], strict(type="integer", minimum=0)],
    [int, Union[int, None], strict(type="integer", title="Age")],
    [Annotated[float, Ge(0)]],
    [float, strict(type="number")],
    [dt.date, dt.datetime, uuid.UUID, ipaddress.IPv4Address],
    [ipaddress.IPv4Network, ipaddress.IPv6Network],
    [ipaddress.IPv4Interface, ipaddress.IPv6Interface],
    [decimal.Decimal],
    [complex],
    [Annotated[str, Len(1)], strict(type="string", format="email")],
    [str, Union[str, int]],
    [Annotated[bytes, Len(1)]],
    [pathlib.Path, bytes, re.Pattern, strict(type="string")],
    [tuple[()]],
    [tuple[int, int]],
    [tuple[str]],
    [set[int], frozenset[int]],
    [set[str]],
    [strict(type="array", maxItems=3)],
    [Annotated[list[int], Len(1)]],
    [strict(type="array")],
    [tuple[int, ...], list[int], deque[int]],
    [list[str]],
    [list],
    [Closed, Dictionary, Pair, Union[list[int], Closed]],
    [Node],
    [Filling],
    [strict(type="object", properties={})],
    [Open],
    [strict(type="object")],
    [dict[int, int]],
    [dict[str, int], Counter[str]],
    [dict[str, str]],
    [dict],
    [strict(anyOf=[{"type": "string"}])],
    [Any, object],
]
"""Hints by their breadth. Hints in one list are equally broad, so that the one declared first wins."""


def breadth_of(hint: Any) -> tuple[Any, ...]:
    """Return the breadth of the codec for *hint*."""
    return create_hint_reader().codec(hint).breadth


def test_the_order_of_codecs():
    """The order decides what a union means to its author, so it may not change by accident."""
    hints = [hint for group in NARROWEST_FIRST for hint in group]
    by_breadth = groupby(sorted(hints, key=breadth_of), key=breadth_of)
    assert [list(group) for _, group in by_breadth] == NARROWEST_FIRST


def test_a_limit_comes_just_before_its_rank():
    """A limited codec is narrower than one without limits, and broader than one of the rank below."""
    breadth = (CodecRank.LIST, (CodecRank.INTEGER,))
    assert (CodecRank.SET, (CodecRank.ANY,)) < narrow_breadth(breadth) < breadth
