"""
What counts as JSON here: less than Python's parser takes, and never a surprise.

Not a number, infinities, duplicate keys, lone surrogates, and anything too
deep, too long or too much for a tool's arguments are refused with the place
named. Nothing here recurses, so no input can exhaust the stack; nothing here
calls a method that a subclass could have replaced, so no object can lie.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from ...errors import Problem

__all__ = [
    "INT_LIMIT",
    "MAX_DEPTH",
    "MAX_STRING",
    "MAX_TEXT",
    "MAX_VALUES",
    "class_name",
    "copied",
    "count_values",
    "examined",
    "flaws",
    "is_clean",
    "is_plain",
    "loads",
    "show",
]

MAX_DEPTH = 64
"""How deep arguments may nest: jsonschema recurses, and its stack must suffice."""

MAX_STRING = 4 * 1024 * 1024
"""How many characters one string may have."""

MAX_TEXT = 8 * 1024 * 1024
"""How many characters of JSON text are parsed."""

MAX_VALUES = 200_000
"""How many values an object may unfold to that was not made by a parser: one that shares parts has no end."""

INT_LIMIT = 10**1000
"""Integers beyond this are refused: Python could not print the largest of them, nor any reader read them."""

_LOWEST = -INT_LIMIT
_SCALARS = frozenset({str, int, float, bool, type(None)})
_MAX_FLAWS = 20


def loads(text: str | bytes | bytearray) -> Any:
    """Parse JSON text, or raise `ValueError` with what is wrong and where."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"{len(text):,} characters of JSON are too long; at most {MAX_TEXT:,} are read")
    try:
        return _DECODER.decode(text if isinstance(text, str) else str(text, "utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not JSON: the text is not UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {show(twice)} stands twice in one object")
    return made


def _constant(name: str) -> float:
    raise ValueError(_NOT_FINITE.format(name))


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MOST_DIGITS:
        raise ValueError(_TOO_MANY_DIGITS)
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)

_MOST_DIGITS = 1000
_TOO_DEEP = f"nested too deeply; at most {MAX_DEPTH} levels are read"
_TOO_MANY = f"too many values; at most {MAX_VALUES:,} are read"
_TOO_MANY_DIGITS = f"a number of more than {_MOST_DIGITS:,} digits is too long"
_NOT_FINITE = "{} is not JSON; use a finite number or null"


def is_clean(text: str) -> bool:
    """Whether *text* can be sent on: not too long, and without lone surrogates."""
    if len(text) > MAX_STRING:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain(value: Any, level: int = 0) -> bool:
    """Whether *value*, which stands at *level*, is strict JSON of exactly the types that Python's parser makes."""
    values = [value]
    layers: list[dict[int, Any]] = []
    shared = False
    for _ in range(level, MAX_DEPTH + 1):
        deeper: list[Any] = []
        # What stands in several places, which no parser makes, is looked at once a level: it could unfold without end.
        seen: dict[int, Any] = {}
        for each in values:
            kind = type(each)
            if kind is str:
                if (not each.isascii() or len(each) > MAX_STRING) and not is_clean(each):
                    return False
            elif kind is dict or kind is list:
                if id(each) in seen:
                    shared = True
                    continue
                seen[id(each)] = each
                if kind is list:
                    deeper += each
                    continue
                for key in each:
                    if type(key) is not str or ((not key.isascii() or len(key) > MAX_STRING) and not is_clean(key)):
                        return False
                deeper += each.values()
            elif kind is int:
                if not _LOWEST < each < INT_LIMIT:
                    return False
            elif kind is float:
                if each - each != 0.0:
                    return False
            elif kind is not bool and each is not None:
                return False
        layers.append(seen)
        if not deeper:
            return not shared or _unfolded(layers) <= MAX_VALUES
        values = deeper
    return False


def _unfolded(layers: list[dict[int, Any]]) -> int:
    """How many values there are if what stands in several places is counted in each."""
    sizes: dict[int, int] = {}
    for layer in reversed(layers):
        sizes = {
            key: 1 + sum(sizes.get(id(each), 1) for each in (holder.values() if type(holder) is dict else holder))
            for key, holder in layer.items()
        }
    return sum(sizes.values())


def count_values(value: Any, limit: int) -> int:
    """Return how many values *value* holds, itself included, or *limit* if there are as many or more."""
    count = 0
    waiting = [value]
    while waiting and count < limit:
        part = waiting.pop()
        count += 1
        kind = type(part)
        # Each repair counts several times. By the class itself: one of the caller's own may answer wrongly, or raise.
        if kind is dict:
            inner = list(part.values())
        elif kind is list:
            inner = part
        elif issubclass(kind, dict):
            inner = list(dict.values(part))
        elif issubclass(kind, list):
            inner = list(list.__iter__(part))
        else:
            continue
        if len(inner) + count >= limit:
            return limit
        others = [item for item in inner if type(item) not in _SCALARS]
        count += len(inner) - len(others)
        waiting += others
    return min(count, limit)


def flaws(value: Any) -> list[Problem]:
    """What keeps *value* from being strict JSON; empty if nothing does."""
    return [] if is_plain(value) else examined(value)[1]


def examined(root: Any) -> tuple[Any, list[Problem]]:
    """A copy of *root* made of exactly the types that Python's parser makes, and what is not JSON in it."""
    found: list[Problem] = []
    top: dict[str, Any] = {}
    # One iterator a level instead of recursion. The first level holds the root alone; its key is no part of a path.
    path: list[Any] = []
    levels: list[tuple[Iterator[tuple[Any, Any]], Any]] = [(iter([("", root)]), top)]
    left = MAX_VALUES
    while levels:
        items, target = levels[-1]
        for key, value in items:
            left -= 1
            if left < 0:
                return None, [*found, Problem(_TOO_MANY)]
            kind = type(value)
            inner: Iterator[tuple[Any, Any]] | None = None
            made: Any
            flaw = None
            if issubclass(kind, dict):
                made, inner = {}, iter(dict.items(value))
            elif issubclass(kind, list):
                made, inner = [], enumerate(list.__iter__(value))
            else:
                made, flaw = _scalar(value, kind)
            if isinstance(target, list):
                target.append(made)
            else:
                plain_key, key_flaw = _key(key, target)
                if key_flaw is not None:
                    found.append(Problem(key_flaw, _shown_path(path)))
                target[plain_key] = made
            if flaw is not None:
                found.append(Problem(flaw, _shown_path([*path, key])))
            if len(found) >= _MAX_FLAWS:
                return None, found
            if inner is not None:
                if len(levels) > MAX_DEPTH and (dict if isinstance(made, dict) else list).__len__(value):
                    return None, [*found, Problem(_TOO_DEEP, _shown_path(path[:5]))]
                path.append(key)
                levels.append((inner, made))
                break
        else:
            levels.pop()
            if path:
                path.pop()
    return top[""], found


def _scalar(value: Any, kind: type) -> tuple[Any, str | None]:
    """*value* as one of the parser's own types, and what is wrong with it."""
    if value is None or kind is bool:
        return value, None
    if issubclass(kind, str):
        text = str.__str__(value)
        if len(text) > MAX_STRING:
            return text, f"a string of {len(text):,} characters is too long; at most {MAX_STRING:,} are read"
        return text, None if is_clean(text) else "the text holds half of a surrogate pair, which is not valid Unicode"
    if issubclass(kind, float):
        number = float.__float__(value)
        return number, None if number - number == 0.0 else _NOT_FINITE.format(number)
    if issubclass(kind, int):
        whole = int.__int__(value)
        return whole, None if _LOWEST < whole < INT_LIMIT else _TOO_MANY_DIGITS
    return None, f"a Python {class_name(value)} is not JSON"


def _key(key: Any, taken: dict[str, Any]) -> tuple[str, str | None]:
    if not issubclass(type(key), str):
        return "", f"the key {show(key)} is not a string"
    text, flaw = _scalar(key, type(key))
    if flaw is None and text in taken:
        flaw = f"the key {show(text)} stands twice in one object"
    return text, None if flaw is None else f"the key {show(text)}: {flaw}"


def _shown_path(path: list[Any]) -> list[str | int]:
    return [key if type(key) in (str, int) else show(key) for key in path[1:]]


_AS_IT_IS = json.JSONEncoder(ensure_ascii=False).encode


def show(value: Any, *, most: int = 60) -> str:
    """*value* as a short piece of JSON for a message: never a dump, never a failure."""
    kind = type(value)
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if issubclass(kind, str):
        start = str.__str__(value)[: most + 1]
        text = _AS_IT_IS(start) if is_clean(start) else json.dumps(start)
        return text if len(start) <= most else f"{text[:most]}..."
    if issubclass(kind, dict):
        count = dict.__len__(value)
        keys = ", ".join(show(key, most=20) for key in itertools.islice(dict.__iter__(value), 3))
        return f"an object with keys {keys}{', ...' if count > 3 else ''}" if count else "{}"
    if issubclass(kind, list):
        count = list.__len__(value)
        return f"an array of {count} item{'s' if count > 1 else ''}" if count else "[]"
    if issubclass(kind, float) or (issubclass(kind, int) and _LOWEST < int.__int__(value) < INT_LIMIT):
        text = (float if issubclass(kind, float) else int).__repr__(value)
        return text if len(text) <= most else f"{text[:most]}..."
    return "a very long number" if issubclass(kind, int) else f"a Python {class_name(value)}"


def class_name(value: Any) -> str:
    """What the class of *value* is called, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(type(value)))[:60]


def copied(value: Any) -> Any:
    """A copy of JSON, all the way down."""
    if isinstance(value, dict):
        return {key: each if type(each) in _SCALARS else copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [each if type(each) in _SCALARS else copied(each) for each in value]
    return value
