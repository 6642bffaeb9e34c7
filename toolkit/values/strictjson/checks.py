"""
Define strict JSON, which allows less than Python's parser does.

These are refused, and the message names the place: NaN, infinities, duplicate keys, lone surrogates, and values that
are too deep, too long or too many for a tool's arguments. The checks do not recurse, so deep input cannot exhaust the
stack. `copy_json` recurses, and so does `show_value` for a dictionary whose keys are dictionaries. The checks never
call a method that a subclass could have replaced, so no object can misreport its content.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..._plumbing.wording import format_count
from ...errors import Problem

__all__ = [
    "INT_LIMIT",
    "MAX_DEPTH",
    "MAX_STRING",
    "MAX_TEXT",
    "MAX_VALUES",
    "class_name",
    "copy_and_check",
    "copy_json",
    "count_values",
    "find_flaws",
    "is_plain_json",
    "is_valid_text",
    "loads",
    "read_object",
    "show_value",
]

MAX_DEPTH = 64
"""The deepest nesting of arguments. jsonschema recurses, and the stack must be large enough for it."""

MAX_STRING = 4 * 1024 * 1024
"""The most characters that one string may have."""

MAX_TEXT = 8 * 1024 * 1024
"""The longest JSON text, in characters, that is parsed."""

MAX_VALUES = 200_000
"""
The most values in an object that no parser made.

A shared part counts in every place where it occurs. Without this limit, an object that shares parts could unfold
without end.
"""

INT_LIMIT = 10**1000
"""
The limit of integers, in both directions: an integer of this size or more is refused.

Python could not print the largest integers, and no reader could read them.
"""

_NEGATIVE_INT_LIMIT = -INT_LIMIT
_SCALARS = frozenset({str, int, float, bool, type(None)})
_MAX_FLAWS = 20


def loads(text: str | bytes | bytearray) -> Any:
    """Parse JSON text, or raise `ValueError` that says what is wrong and where."""
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


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        earlier_keys: set[str] = set()
        duplicate = next(key for key, _ in pairs if key in earlier_keys or earlier_keys.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {show_value(duplicate)} stands twice in one object")
    return result


def _refuse_constant(name: str) -> float:
    raise ValueError(_NOT_FINITE.format(name))


def _parse_integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MAX_DIGITS:
        raise ValueError(_TOO_MANY_DIGITS)
    return int(digits)


def read_object(text: str) -> dict[str, Any] | None:
    """
    Return the object that *text* states; None if it is another value, or if only `loads` can say what is wrong with it.

    This takes a third of the time of `loads`: there is no space around the object, and no number is long. If the
    package jiter is installed, it parses the text, in half the time of Python's own parser.
    """
    length = len(text)
    if length > _MAX_DIGITS and (length > _MAX_QUICK_TEXT or _LONG_NUMBER.search(text)):
        return None
    try:
        value = _choose_parser()(text)
    except (ValueError, RecursionError):
        return None
    return value if type(value) is dict else None


@functools.cache
def _choose_parser() -> Callable[[str], Any]:
    try:
        from jiter import from_json
    except ImportError:
        return _parse_whole_text
    # Only the keys are cached, because a value may be a secret.
    parse = functools.partial(from_json, allow_inf_nan=False, cache_mode="keys", catch_duplicate_keys=True)
    return lambda text: parse(text.encode())


def _parse_whole_text(text: str) -> Any:
    value, end = _parse_beginning(text)
    return value if end == len(text) else None


_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=_refuse_constant, parse_int=_parse_integer)

_parse_beginning = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=_refuse_constant).raw_decode

_MAX_DIGITS = 1000
_MAX_QUICK_TEXT = 50_000
_LONG_NUMBER = re.compile(r"[0-9]{1001}")
_TOO_DEEP = f"nested too deeply; at most {MAX_DEPTH} levels are read"
_TOO_MANY = f"too many values; at most {MAX_VALUES:,} are read"
_TOO_MANY_DIGITS = f"a number of more than {_MAX_DIGITS:,} digits is too long"
_NOT_FINITE = "{} is not JSON; use a finite number or null"


def is_valid_text(text: str) -> bool:
    """Return whether *text* can be sent: it is not too long, and it has no lone surrogates."""
    if len(text) > MAX_STRING:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain_json(value: Any, level: int = 0) -> bool:
    """Return whether *value*, at depth *level*, is strict JSON of exactly the types that Python's parser makes."""
    values = [value]
    layers: list[dict[int, Any]] = []
    shared = False
    for _ in range(level, MAX_DEPTH + 1):
        deeper: list[Any] = []
        # An object that occurs in several places is visited once in each level, because it could unfold without end. No
        # parser makes such objects.
        containers: dict[int, Any] = {}
        for item in values:
            kind = type(item)
            if kind is str:
                if (not item.isascii() or len(item) > MAX_STRING) and not is_valid_text(item):
                    return False
            elif kind is dict or kind is list:
                if id(item) in containers:
                    shared = True
                    continue
                containers[id(item)] = item
                if kind is list:
                    deeper += item
                    continue
                for key in item:
                    if type(key) is not str or (
                        (not key.isascii() or len(key) > MAX_STRING) and not is_valid_text(key)
                    ):
                        return False
                deeper += item.values()
            elif kind is int:
                if not _NEGATIVE_INT_LIMIT < item < INT_LIMIT:
                    return False
            elif kind is float:
                if item - item != 0.0:
                    return False
            elif kind is not bool and item is not None:
                return False
        layers.append(containers)
        if not deeper:
            return not shared or _count_unfolded(layers) <= MAX_VALUES
        values = deeper
    return False


def _count_unfolded(layers: list[dict[int, Any]]) -> int:
    """Count the values in *layers*. An object that occurs in several places counts in each of them."""
    sizes: dict[int, int] = {}
    for layer in reversed(layers):
        sizes = {
            key: 1 + sum(sizes.get(id(item), 1) for item in (holder.values() if type(holder) is dict else holder))
            for key, holder in layer.items()
        }
    return sum(sizes.values())


def count_values(value: Any, limit: int) -> int:
    """Return how many values *value* holds, including itself, but at most *limit*."""
    count = 0
    waiting = [value]
    while waiting and count < limit:
        part = waiting.pop()
        count += 1
        kind = type(part)
        # The methods are those of `dict` and `list`, because a method of the caller's own subclass may answer wrongly.
        if issubclass(kind, dict):
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


def find_flaws(value: Any) -> list[Problem]:
    """Return the problems that keep *value* from being strict JSON, or an empty list if there are none."""
    return [] if is_plain_json(value) else copy_and_check(value)[1]


def copy_and_check(root: Any) -> tuple[Any, list[Problem]]:
    """
    Return a copy of *root* and the problems that keep it from being strict JSON.

    The copy has exactly the types that Python's parser makes. The copy is None if there are too many problems, or if
    *root* has too many values or is too deep.
    """
    problems: list[Problem] = []
    top: dict[str, Any] = {}
    # There is one iterator for each level instead of recursion. The first level holds only the root, and its key is not
    # part of any path.
    path: list[Any] = []
    levels: list[tuple[Iterator[tuple[Any, Any]], Any]] = [(iter([("", root)]), top)]
    values_left = MAX_VALUES
    while levels:
        items, target = levels[-1]
        for key, value in items:
            values_left -= 1
            if values_left < 0:
                return None, [*problems, Problem(_TOO_MANY)]
            kind = type(value)
            inner: Iterator[tuple[Any, Any]] | None = None
            plain: Any
            flaw = None
            if issubclass(kind, dict):
                plain, inner = {}, iter(dict.items(value))
            elif issubclass(kind, list):
                plain, inner = [], enumerate(list.__iter__(value))
            else:
                plain, flaw = _convert_scalar(value, kind)
            if isinstance(target, list):
                target.append(plain)
            else:
                plain_key, key_flaw = _convert_key(key, target)
                if key_flaw is not None:
                    problems.append(Problem(key_flaw, _printable_path(path)))
                target[plain_key] = plain
            if flaw is not None:
                problems.append(Problem(flaw, _printable_path([*path, key])))
            if len(problems) >= _MAX_FLAWS:
                return None, problems
            if inner is not None:
                if len(levels) > MAX_DEPTH and (dict if isinstance(plain, dict) else list).__len__(value):
                    return None, [*problems, Problem(_TOO_DEEP, _printable_path(path[:5]))]
                path.append(key)
                levels.append((inner, plain))
                break
        else:
            levels.pop()
            if path:
                path.pop()
    return top[""], problems


def _convert_scalar(value: Any, kind: type) -> tuple[Any, str | None]:
    """Convert *value* to one of the parser's own types; also return what is wrong with it, or None."""
    if value is None or kind is bool:
        return value, None
    if issubclass(kind, str):
        text = str.__str__(value)
        if len(text) > MAX_STRING:
            return text, f"a string of {len(text):,} characters is too long; at most {MAX_STRING:,} are read"
        return text, None if is_valid_text(
            text
        ) else "the text holds half of a surrogate pair, which is not valid Unicode"
    if issubclass(kind, float):
        number = float.__float__(value)
        return number, None if number - number == 0.0 else _NOT_FINITE.format(number)
    if issubclass(kind, int):
        whole = int.__int__(value)
        return whole, None if _NEGATIVE_INT_LIMIT < whole < INT_LIMIT else _TOO_MANY_DIGITS
    return None, f"a Python {class_name(value)} is not JSON"


def _convert_key(key: Any, used_keys: dict[str, Any]) -> tuple[str, str | None]:
    if not issubclass(type(key), str):
        return "", f"the key {show_value(key)} is not a string"
    text, flaw = _convert_scalar(key, type(key))
    if flaw is None and text in used_keys:
        flaw = f"the key {show_value(text)} stands twice in one object"
    return text, None if flaw is None else f"the key {show_value(text)}: {flaw}"


def _printable_path(path: list[Any]) -> list[str | int]:
    return [key if type(key) in (str, int) else show_value(key) for key in path[1:]]


_ENCODE_UNESCAPED = json.encoder.encode_basestring


def show_value(value: Any, *, max_chars: int = 60) -> str:
    """Show *value* as a short piece of JSON for a message. Only a dictionary that is its own key makes it raise."""
    kind = type(value)
    if value is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[value]
    if issubclass(kind, str):
        start = str.__str__(value)[: max_chars + 1]
        text = _ENCODE_UNESCAPED(start) if is_valid_text(start) else json.dumps(start)
        return text if len(start) <= max_chars else f"{text[:max_chars]}..."
    if issubclass(kind, dict):
        count = dict.__len__(value)
        keys = ", ".join(show_value(key, max_chars=20) for key in itertools.islice(dict.__iter__(value), 3))
        return f"an object with keys {keys}{', ...' if count > 3 else ''}" if count else "{}"
    if issubclass(kind, list):
        count = list.__len__(value)
        return f"an array of {format_count(count, 'item')}" if count else "[]"
    if issubclass(kind, float) or (issubclass(kind, int) and _NEGATIVE_INT_LIMIT < int.__int__(value) < INT_LIMIT):
        text = (float if issubclass(kind, float) else int).__repr__(value)
        return text if len(text) <= max_chars else f"{text[:max_chars]}..."
    return "a very long number" if issubclass(kind, int) else f"a Python {class_name(value)}"


def class_name(value: Any) -> str:
    """Return the name of the class of *value*, even if a metaclass reports another name."""
    return str(type.__dict__["__name__"].__get__(type(value)))[:60]


def copy_json(value: Any) -> Any:
    """Copy a JSON value at every level."""
    if isinstance(value, dict):
        return {key: item if type(item) in _SCALARS else copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if type(item) in _SCALARS else copy_json(item) for item in value]
    return value
