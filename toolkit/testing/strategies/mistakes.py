"""
Make one mistake in good arguments, or make arguments that a caller would send only on purpose, to do harm.

A mistake is a change at one place of a value: one key fewer or more, another type, or a number just beyond a bound that
the schema names. The validator decides whether a change is a mistake: a number in place of a text is none if the schema
allows both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...values.schemas.engine import iter_mappings
from ...values.strictjson.checks import copy_json

__all__ = ["MISTAKE_KINDS", "BoundaryValues", "Mistake", "hostile_changes", "non_object_changes", "possible_mistakes"]

JsonPath: TypeAlias = "tuple[str | int, ...]"
ArgumentChange: TypeAlias = "tuple[str, JsonPath, Callable[[], Any]]"
"""A change that may be a mistake: what it is in words, its place, and a function that makes changed arguments anew."""
_UNKNOWN_KEY = "unexpected"


@dataclass(frozen=True, slots=True)
class Mistake:
    """
    One change to good arguments that makes them bad, or drawn arguments that only nearly fit.

    Attributes:
        description: The mistake, in words.
        path: The place of the mistake in the arguments.
        arguments: The arguments with the mistake in them.
    """

    description: str
    path: JsonPath
    arguments: Any


@dataclass(frozen=True, slots=True)
class BoundaryValues:
    """
    Values at and just beyond the bounds that a schema names, at any depth.

    Attributes:
        numbers: Each bound of a number, and that bound plus and minus one.
        sizes: Each bound of a length or a number of items, plus and minus one. Only bounds up to 10,000 count.
    """

    numbers: tuple[int | float, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, schema: Any) -> BoundaryValues:
        numbers: dict[int | float, None] = {}
        sizes: dict[int, None] = {}
        for part in iter_mappings(schema):
            for keyword in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"):
                limit: Any = part.get(keyword)
                if _is_number(limit):
                    numbers |= dict.fromkeys((limit - 1, limit, limit + 1))
            for keyword in ("minLength", "maxLength", "minItems", "maxItems"):
                limit = part.get(keyword)
                if _is_number(limit) and 0 <= limit <= 10_000:
                    sizes |= dict.fromkeys((max(0, int(limit) - 1), int(limit) + 1))
        return cls(tuple(numbers), tuple(sizes))


def possible_mistakes(value: Any, limits: BoundaryValues) -> list[ArgumentChange]:
    """Return every small change to *value* that could be a mistake."""
    changes: list[ArgumentChange] = []
    for path, part in _iter_places(value, ()):
        if path:
            changes += [
                (description, path, functools.partial(_replace_at, value, path, other))
                for description, other in _iter_replacements(part, limits)
            ]
        if isinstance(part, dict):
            changes += [("left out", (*path, key), functools.partial(_remove_at, value, (*path, key))) for key in part]
            if _UNKNOWN_KEY not in part:
                extra_path = (*path, _UNKNOWN_KEY)
                changes.append(("an unknown key", extra_path, functools.partial(_replace_at, value, extra_path, 1)))
            changes += [
                ("a key in other letters", (*path, key.swapcase()), functools.partial(_rename_key, value, path, key))
                for key in part
                if key.swapcase() not in part
            ]
    return changes


def hostile_changes(value: Any) -> list[ArgumentChange]:
    """Return changes that put each hostile value at each place of *value*; a tool must survive all of them."""
    places = [path for path, _ in _iter_places(value, ()) if path]
    return [
        (description, path, functools.partial(_replace_at, value, path, other))
        for description, other in _HOSTILE.items()
        for path in places
    ]


def non_object_changes() -> list[ArgumentChange]:
    """
    Return changes that replace all arguments with a value that is not an object.

    Null is not among these values, because some models send null if there are no arguments.
    """
    return [(description, (), functools.partial(copy_json, value)) for description, value in _NOT_OBJECTS.items()]


def _iter_places(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, Any]]:
    yield path, value
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from _iter_places(child, (*path, key))


def _replace_at(value: Any, path: JsonPath, other: Any) -> Any:
    copy = copy_json(value)
    _find_holder(copy, path)[path[-1]] = copy_json(other)
    return copy


def _remove_at(value: Any, path: JsonPath) -> Any:
    copy = copy_json(value)
    del _find_holder(copy, path)[path[-1]]
    return copy


def _rename_key(value: Any, path: JsonPath, key: str) -> Any:
    copy = copy_json(value)
    holder = _find_holder(copy, (*path, key))
    holder[key.swapcase()] = holder.pop(key)
    return copy


def _find_holder(value: Any, path: JsonPath) -> Any:
    return functools.reduce(lambda holder, key: holder[key], path[:-1], value)


def _iter_replacements(value: Any, limits: BoundaryValues) -> Iterator[tuple[str, Any]]:
    """Yield the values that may replace *value* by mistake, each with the mistake in words."""
    match value:
        case bool():
            yield "a number for a truth", int(value)
            yield "a text for a truth", str(value).lower()
        case int() | float():
            yield "a text for a number", str(value)
            yield "a fraction", value + 0.5 if abs(value) < 2**52 else 0.5
            yield from (("beyond a bound", limit) for limit in limits.numbers)
            yield from (("very large", 10**400), ("very small", -(10**400)))
        case str():
            yield from (("a number for a text", 0), ("empty", ""))
            yield from (("a letter more", f"{value}x"), ("in other letters", value.swapcase()))
            for size in limits.sizes:
                yield "beyond a length", (value or "x")[:1] * size if size > len(value) else value[:size]
        case None:
            yield from (("a text for null", "null"), ("a number for null", 0))
        case list():
            yield from (("empty", []), ("a text for an array", "[]"))
            if value:
                yield from (("one item for an array", value[0]), ("an item less", value[:-1]))
                yield "an item twice", [*value, value[0]]
                yield from (("beyond a size", (value * size)[:size]) for size in limits.sizes)
        case dict():
            yield from (("empty", {}), ("an array for an object", list(value.values())))
            yield "a text for an object", "{}"
    if value is not None:
        yield "null", None
    yield "in an array", [value]
    yield "in an object", {"value": value}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _nest_deeply(wrap: Callable[[Any], Any]) -> Any:
    value: Any = 0
    for _ in range(200):
        value = wrap(value)
    return value


_HOSTILE: dict[str, Any] = {
    "very deep arrays": _nest_deeply(lambda inner: [inner]),
    "very deep objects": _nest_deeply(lambda inner: {"": inner}),
    "a number without end": 10**4000,
    "a number at the edge": 1.7976931348623157e308,
    "half of a character": "\ud800",
    "text that turns itself around": "\u202etxt.exe\u2066",
    "a text that ends early": "a\x00b",
    "text that moves the cursor": "\x1b[2J\x1b[H",
    "a very long text": "x" * 100_000,
    "many keys": {f"k{number}": None for number in range(1000)},
    "keys of the machinery": {"__class__": "x", "__proto__": {}, "constructor": 0, "$ref": "#"},
}

_NOT_OBJECTS: dict[str, Any] = {
    "an array for the arguments": [],
    "an array around the arguments": [{}],
    "a number for the arguments": 0,
    "a truth for the arguments": True,
    "a text that is no JSON": "not JSON",
    "a text of an array": "[1]",
    "very deep arrays for the arguments": _HOSTILE["very deep arrays"],
}

MISTAKE_KINDS = (
    *("left out", "an unknown key", "a key in other letters", "null", "a text for a number", "a number for a text"),
    *("a number for a truth", "a text for a truth", "a text for null", "a number for null", "a text for an array"),
    *("one item for an array", "an array for an object", "a text for an object", "in an array", "in an object"),
    *("in other letters", "empty", "a letter more", "a fraction", "beyond a bound", "beyond a length"),
    *("beyond a size", "an item less", "an item twice", "very large", "very small"),
    *_HOSTILE,
    *_NOT_OBJECTS,
)
"""The kinds of mistakes, the most frequent ones first, because an example shrinks to the first kind."""
