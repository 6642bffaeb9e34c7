"""
Any input gives decoded arguments, or `BadArgs` with something to read.
"""

from __future__ import annotations

import collections
import enum
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.errors import BadArgs

from .signatures import Case, cases
from .values import json_values

MODES = ["fast", "jsonschema"]


class Words(str):
    """A string that pretends to be longer, and shorter."""

    def __len__(self) -> int:
        return 10**9

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class Liar:
    """An object that fails at everything one can ask of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no")

    def __len__(self) -> int:
        raise RuntimeError("no")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    def __bool__(self) -> bool:
        raise RuntimeError("no")

    def __hash__(self) -> int:
        return hash("a")


class Keys(dict):
    """A dictionary that lies about what it holds."""

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        raise RuntimeError("no")

    items = keys = values = get = __contains__ = __getitem__ = __iter__  # type: ignore[assignment]


class Colour(enum.StrEnum):
    RED = "red"


_WEIRD = {
    "liar": Liar(),
    "lying keys": Keys(a=1),
    "lying words": Words("a"),
    "enum": Colour.RED,
    "object": object(),
    "tuple": (1, 2),
    "set": {1, 2},
    "bytes": b"bytes",
    "complex": 1j,
    "nan": float("nan"),
    "infinity": float("inf"),
    "long": 10**5000,
    "surrogate": "\ud800",
    "integer key": {1: 2},
    "null key": {None: 1},
    "surrogate key": {"\udfff": 1},
    "lying key": {Liar(): 1},
    "key of lying words": {Words("a"): 1},
    "ordered": collections.OrderedDict(a=1),
    "proxy": types.MappingProxyType({"a": 1}),
    "class": int,
}
_OBJECTS = st.recursive(
    # By name: hypothesis wants to print what it draws.
    json_values() | st.sampled_from(sorted(_WEIRD)).map(lambda name: ("weird", name)),
    lambda deeper: (
        st.lists(deeper, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "type"]), deeper, max_size=3)
    ),
    max_leaves=5,
)


def build_value(value: Any) -> Any:
    """Make *value* with the weird objects in place of their names."""
    if isinstance(value, tuple):
        return _WEIRD[value[1]]
    if isinstance(value, list):
        return [build_value(item) for item in value]
    return {key: build_value(member) for key, member in value.items()} if isinstance(value, dict) else value


def is_read_or_refused(case: Case, arguments: Any, validation: Any) -> bool:
    """Return whether there are decoded arguments for every parameter, or a `BadArgs` whose words can be sent on."""
    try:
        decoded = case.tool.check(arguments, validation=validation)
    except BadArgs as error:
        return 0 < len(str(error).encode()) < 20_000 and bool(error.problems)
    required = case.tool.schema.get("required", [])
    return type(decoded) is dict and set(required) <= decoded.keys()


@pytest.mark.parametrize("validation", MODES)
@given(case=cases(), arguments=json_values())
def test_json_is_read_or_refused(case: Case, arguments, validation):
    """No JSON value makes a tool raise anything but `BadArgs`."""
    assert is_read_or_refused(case, arguments, validation)


@pytest.mark.parametrize("validation", MODES)
@given(case=cases(), arguments=_OBJECTS)
def test_python_objects_are_read_or_refused(case: Case, arguments, validation):
    """No Python object does, however it was built."""
    assert is_read_or_refused(case, build_value(arguments), validation)


@pytest.mark.parametrize("validation", MODES)
@given(
    case=cases(), arguments=st.text() | st.binary() | st.text(st.characters(categories=["Cs", "Nd", "Ps", "Pe", "Po"]))
)
def test_text_is_read_or_refused(case: Case, arguments, validation):
    """No text and no bytes do."""
    assert is_read_or_refused(case, arguments, validation)
