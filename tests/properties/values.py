"""
Random JSON, small damage to it, and comparison of Python values by value and type.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
from typing import Any

from hypothesis import strategies as st

__all__ = ["damaged", "json_objects", "json_values", "same"]

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        [0, 1, True, False, 1.0, 0.0, -0.0, "1", "true", "null", "", "a", 1e300, 10**400, 2**53 + 1, "2024-05-01"]
    )
)


# Strategies are made once: to make and check one costs more than to draw from it.
@functools.cache
def json_values() -> st.SearchStrategy[Any]:
    """Any JSON, small."""
    return st.recursive(
        _LEAVES,
        lambda deeper: st.lists(deeper, max_size=4) | st.dictionaries(_KEYS, deeper, max_size=4),
        max_leaves=12,
    )


_KEYS = st.sampled_from(["a", "b", "type", "value", "next", "1"]) | st.text(max_size=4)


@functools.cache
def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """Any JSON object, small."""
    return st.dictionaries(_KEYS, json_values(), max_size=4)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    return [path, *(place for key, each in items for place in _places(each, (*path, key)))]


_TWINS = [(1, True), (0, False), (1, 1.0), (5, "5"), (None, "null"), ("", None), ([], {})]


def _twin(value: Any) -> list[Any]:
    """Values that a careless check would take for *value*."""
    found: list[Any] = [{"value": value}, [value], str(value)]
    if isinstance(value, (int, float)) and abs(value) < 2**53:
        found += [bool(value), float(value), int(value)]
    if isinstance(value, str):
        found += [value + " ", value.upper(), value.encode().decode("latin-1")]
    if isinstance(value, list):
        found += [value + value, value[:-1], dict(enumerate(map(str, value)))]
    if isinstance(value, dict):
        found += [list(value), list(value.items())]
    for one, two in _TWINS:
        if type(value) is type(one) and value == one:
            found.append(two)
        if type(value) is type(two) and value == two:
            found.append(one)
    return [_as_json(each) for each in found]


def _as_json(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    return {str(key): _as_json(each) for key, each in value.items()} if isinstance(value, dict) else value


_TIMES = st.integers(1, 3)
_DAMAGE = st.sampled_from(["replace", "twin", "drop", "add"])


@st.composite
def damaged(draw: Any, valid: dict[str, Any]) -> dict[str, Any]:
    """*valid* with a few small changes: a key more or less, another type, another leaf."""
    value = copy.deepcopy(valid)
    for _ in range(draw(_TIMES)):
        path = draw(st.sampled_from(_places(value)))
        holder: Any = value
        for key in path[:-1]:
            holder = holder[key]
        here = holder[path[-1]] if path else value
        what = draw(_DAMAGE)
        if what == "add" and isinstance(here, dict):
            here[draw(_KEYS)] = draw(json_values())
        elif what == "add" and isinstance(here, list):
            here.insert(draw(st.integers(0, len(here))), draw(json_values()))
        elif not path:
            value = draw(json_objects())
        elif what == "drop":
            del holder[path[-1]]
        elif what == "twin":
            holder[path[-1]] = draw(st.sampled_from(_twin(here)))
        else:
            holder[path[-1]] = draw(json_values())
    return value


def same(one: Any, two: Any) -> bool:
    """Whether two values are equal and of the same types, all the way down."""
    if type(one) is not type(two):
        return False
    if dataclasses.is_dataclass(one):
        return all(same(getattr(one, each.name), getattr(two, each.name)) for each in dataclasses.fields(one))
    if isinstance(one, (list, tuple, collections.deque)):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, (set, frozenset)):
        return one == two and collections.Counter(map(type, one)) == collections.Counter(map(type, two))
    return bool(one == two)
