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
    """Draw any JSON, small."""
    return st.recursive(
        _LEAVES,
        lambda deeper: st.lists(deeper, max_size=4) | st.dictionaries(_KEYS, deeper, max_size=4),
        max_leaves=12,
    )


_KEYS = st.sampled_from(["a", "b", "type", "value", "next", "1"]) | st.text(max_size=4)


@functools.cache
def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """Draw any JSON object, small."""
    return st.dictionaries(_KEYS, json_values(), max_size=4)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    return [path, *(place for key, inner in items for place in _places(inner, (*path, key)))]


_TWINS = [(1, True), (0, False), (1, 1.0), (5, "5"), (None, "null"), ("", None), ([], {})]


def _twin(value: Any) -> list[Any]:
    """Return values that a careless check would take for *value*."""
    twins: list[Any] = [{"value": value}, [value], str(value)]
    if isinstance(value, (int, float)) and abs(value) < 2**53:
        twins += [bool(value), float(value), int(value)]
    if isinstance(value, str):
        twins += [value + " ", value.upper(), value.encode().decode("latin-1")]
    if isinstance(value, list):
        twins += [value + value, value[:-1], dict(enumerate(map(str, value)))]
    if isinstance(value, dict):
        twins += [list(value), list(value.items())]
    for left, right in _TWINS:
        if type(value) is type(left) and value == left:
            twins.append(right)
        if type(value) is type(right) and value == right:
            twins.append(left)
    return [_as_json(twin) for twin in twins]


def _as_json(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    return {str(key): _as_json(member) for key, member in value.items()} if isinstance(value, dict) else value


_TIMES = st.integers(1, 3)
_DAMAGE = st.sampled_from(["replace", "twin", "drop", "add"])


@st.composite
def damaged(draw: Any, valid: dict[str, Any]) -> dict[str, Any]:
    """Draw *valid* with a few small changes: a key more or less, another type, another leaf."""
    value = copy.deepcopy(valid)
    for _ in range(draw(_TIMES)):
        path = draw(st.sampled_from(_places(value)))
        holder: Any = value
        for key in path[:-1]:
            holder = holder[key]
        here = holder[path[-1]] if path else value
        damage = draw(_DAMAGE)
        if damage == "add" and isinstance(here, dict):
            here[draw(_KEYS)] = draw(json_values())
        elif damage == "add" and isinstance(here, list):
            here.insert(draw(st.integers(0, len(here))), draw(json_values()))
        elif not path:
            value = draw(json_objects())
        elif damage == "drop":
            del holder[path[-1]]
        elif damage == "twin":
            holder[path[-1]] = draw(st.sampled_from(_twin(here)))
        else:
            holder[path[-1]] = draw(json_values())
    return value


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal and of the same types, all the way down."""
    if type(left) is not type(right):
        return False
    if dataclasses.is_dataclass(left):
        return all(same(getattr(left, field.name), getattr(right, field.name)) for field in dataclasses.fields(left))
    if isinstance(left, (list, tuple, collections.deque)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (set, frozenset)):
        return left == right and collections.Counter(map(type, left)) == collections.Counter(map(type, right))
    return bool(left == right)
