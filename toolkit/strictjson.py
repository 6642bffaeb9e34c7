"""
What counts as JSON here: less than Python's parser takes, and never a surprise.

Not a number, infinities, duplicate keys, lone surrogates, and anything too
deep or too long for a tool's arguments are refused with the place named.
Nothing here recurses, so no input can exhaust the stack.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .errors import Problem

__all__ = ["INT_LIMIT", "MAX_DEPTH", "MAX_STRING", "MAX_TEXT", "flaws", "is_clean", "is_plain", "loads", "show"]

MAX_DEPTH = 64
"""How deep arguments may nest: jsonschema recurses, and its stack must suffice."""

MAX_STRING = 4 * 1024 * 1024
"""How many characters one string may have."""

MAX_TEXT = 8 * 1024 * 1024
"""How many characters of JSON text are parsed."""

INT_LIMIT = 10**1000
"""Integers beyond this are refused: Python could not print the largest of them, nor any reader read them."""

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
        raise ValueError(f"nested too deeply; at most {MAX_DEPTH} levels are read") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {show(twice)} stands twice in one object")
    return made


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON; use a finite number or null")


def _integer(digits: str) -> int:
    if len(digits) > 1000:
        raise ValueError(f"a number of {len(digits):,} digits is too long")
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)


def is_clean(text: str) -> bool:
    """Whether *text* can be sent on: not too long, and without lone surrogates."""
    if len(text) > MAX_STRING:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_plain(value: Any) -> bool:
    """Whether *value* is strict JSON made of exactly the types that Python's parser makes."""
    if type(value) is str:
        return (value.isascii() and len(value) <= MAX_STRING) or is_clean(value)
    return next(_walk(value, exact=True), None) is None


def flaws(value: Any) -> list[Problem]:
    """What keeps *value* from being strict JSON; empty if nothing does."""
    found = []
    for problem in _walk(value, exact=False):
        found.append(problem)
        if len(found) >= _MAX_FLAWS:
            break
    return found


_CONTAINERS = frozenset({dict, list})
_ALWAYS_FINE = frozenset({dict, list, bool, type(None)})


def _walk(root: Any, *, exact: bool) -> Iterator[Problem]:
    # One iterator a level instead of recursion. The first level holds the root alone, so its key is no part of a path.
    path: list[Any] = []
    levels: list[Iterator[tuple[Any, Any]]] = [iter([(None, root)])]
    while levels:
        for key, value in levels[-1]:
            kind = type(value)
            if kind not in _ALWAYS_FINE and (kind is not str or not value.isascii() or len(value) > MAX_STRING):
                flaw = _scalar_flaw(value, exact)
                if flaw is not None:
                    yield Problem(flaw, [*path, key][1:])
            if value and (kind in _CONTAINERS or isinstance(value, (dict, list))):
                if len(levels) > MAX_DEPTH:
                    yield Problem(f"nested too deeply; at most {MAX_DEPTH} levels are read", path[1:5])
                    return
                path.append(key)
                if isinstance(value, list):
                    levels.append(iter(enumerate(value)))
                else:
                    for name in value:
                        if type(name) is not str or not name.isascii() or len(name) > MAX_STRING:
                            flaw = _key_flaw(name, exact)
                            if flaw is not None:
                                yield Problem(flaw, path[1:])
                    levels.append(iter(value.items()))
                break
        else:
            levels.pop()
            if path:
                path.pop()


def _scalar_flaw(value: Any, exact: bool) -> str | None:
    if isinstance(value, str):
        if len(value) > MAX_STRING:
            return f"a string of {len(value):,} characters is too long; at most {MAX_STRING:,} are read"
        if not is_clean(value):
            return "the text holds half of a surrogate pair, which is not valid Unicode"
    elif isinstance(value, float):
        if value - value != 0:
            return f"{value} is not JSON; use a finite number or null"
    elif isinstance(value, int):
        if not -INT_LIMIT < value < INT_LIMIT:
            return f"a number of more than {len(str(INT_LIMIT)) - 1:,} digits is too long"
    elif not isinstance(value, (dict, list)):
        return f"a Python {type(value).__name__} is not JSON"
    if exact and type(value) not in (str, int, float):
        return f"a Python {type(value).__name__} is not plain JSON"
    return None


def _key_flaw(key: Any, exact: bool) -> str | None:
    if not isinstance(key, str):
        return f"the key {show(key)} is not a string"
    return _scalar_flaw(key, exact)


def show(value: Any, *, most: int = 60) -> str:
    """*value* as a short piece of JSON for a message: never a dump, never a failure."""
    if isinstance(value, str):
        text = json.dumps(value[: most + 1], ensure_ascii=not is_clean(value[: most + 1]))
        return text if len(value) <= most else f"{text[:most]}..."
    if isinstance(value, dict):
        keys = ", ".join(show(key, most=20) for key in list(value)[:3])
        return f"an object with keys {keys}{', ...' if len(value) > 3 else ''}" if value else "{}"
    if isinstance(value, list):
        return f"an array of {len(value)} item{'s' if len(value) > 1 else ''}" if value else "[]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and not -INT_LIMIT < value < INT_LIMIT:
        return "a very long number"
    if isinstance(value, (int, float)):
        text = repr(value)
        return text if len(text) <= most else f"{text[:most]}..."
    return f"a Python {type(value).__name__}"
