"""
Unions whose members take the same JSON: what is read may be of another member, what is written again is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import NotRequired, TypedDict

from toolkit.spec import Tool


@dataclass
class Two:
    a: str = ""
    b: str = ""


@dataclass
class Three:
    a: str
    b: str
    c: str = ""


@dataclass
class One:
    a: str = ""


@dataclass
class Nothing:
    pass


class Loose(TypedDict):
    a: NotRequired[str]
    b: NotRequired[str]
    z: NotRequired[str]


@dataclass
class OfTwo:
    x: Two


@dataclass
class OfThree:
    x: Three


FLAT = {
    Two: [Two(), Two("1", "2")],
    Three: [Three("1", "2"), Three("1", "2", "3")],
    One: [One(), One("1")],
    Nothing: [Nothing()],
    Loose: [{}, {"z": "1"}, {"a": "1", "b": "2"}],
}
NESTED = {OfTwo: [OfTwo(Two())], OfThree: [OfThree(Three("1", "2"))]}


@pytest.mark.parametrize("types", [FLAT, NESTED], ids=["flat", "nested"])
@given(data=st.data())
def test_decoding_and_encoding_again_gives_the_same_json(types, data):
    """In every order of the members, no member fills in values that another left out."""
    members: list[Any] = data.draw(st.permutations(list(types)))
    value = data.draw(st.sampled_from([value for values in types.values() for value in values]))

    def take(x):
        """Take one of them."""

    take.__annotations__ = {"x": reduce(or_, members)}
    tool = Tool.described(take)
    encoded = tool.encode({"x": value})
    assert tool.encode(tool.check(encoded)) == encoded
