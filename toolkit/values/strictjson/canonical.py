"""
Write a JSON value as canonical text.

Two values have the same text if, and only if, they are equal as JSON. Keys are sorted by code point. A float that is a
whole number is written as that integer, exactly, at any size. Any other float is written in the shortest form that can
be read back. Strings are not changed: there is no Unicode normalisation. The only escapes are those that JSON requires,
and those without which half of a surrogate pair could not be encoded.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from ...errors import Problem
from .checks import INT_LIMIT, MAX_DEPTH, MAX_TEXT, class_name, show_value

__all__ = ["digest_parts", "encode_canonical"]

# Arguments are a few levels below the top of the record that contains them.
_MAX_LEVELS = MAX_DEPTH + 16
_MAX_CHARACTERS = 4 * MAX_TEXT
_ENCODE_STRING = json.JSONEncoder(ensure_ascii=False).encode
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CONSTANTS = {None: "null", True: "true", False: "false"}

_Path = tuple[str | int, ...]


def encode_canonical(value: Any) -> str:
    """
    Return the canonical JSON text of *value*.

    `json.loads` returns the value again, and the canonical text of that value is the same text.

    Raises:
        ValueError: *value* is not JSON, contains itself, is too deep or is too long. The message names the place.
    """
    pieces: list[str] = []
    size = 0
    try:
        for piece in _iter_pieces(value, ()):
            size += len(piece)
            # A value that shares its parts can be small in memory and still have text without end.
            if size > _MAX_CHARACTERS:
                raise ValueError(f"too long to be written as JSON; at most {_MAX_CHARACTERS:,} characters are")
            pieces.append(piece)
    except RecursionError:
        raise ValueError("nested too deeply for what is left of the stack") from None
    return "".join(pieces)


def digest_parts(*parts: str | None) -> str:
    """Return the SHA-256 of *parts*. The borders between parts count, and None differs from empty text."""
    hasher = hashlib.sha256()
    for part in parts:
        data = b"" if part is None else part.encode(errors="surrogatepass")
        hasher.update(b"-" if part is None else b"%d:" % len(data))
        hasher.update(data)
    return hasher.hexdigest()


def _iter_pieces(value: Any, path: _Path) -> Iterator[str]:
    # Methods are called on the plain types themselves, because a subclass could have replaced its methods.
    kind = type(value)
    if value is None or kind is bool:
        yield _CONSTANTS[value]
    elif issubclass(kind, str):
        yield _encode_text(value, path)
    elif issubclass(kind, int):
        yield _encode_integer(int.__int__(value), path)
    elif issubclass(kind, float):
        yield _encode_float(float.__float__(value), path)
    elif not issubclass(kind, (dict, list)):
        raise _build_error(f"a Python {class_name(value)} is not JSON", path)
    elif len(path) >= _MAX_LEVELS:
        raise _build_error(f"nested deeper than {_MAX_LEVELS} levels, or it holds itself", path)
    elif issubclass(kind, list):
        separator = "["
        for index, item in enumerate(list.__iter__(value)):
            yield separator
            yield from _iter_pieces(item, (*path, index))
            separator = ","
        yield "[]" if separator == "[" else "]"
    else:
        separator = "{"
        for key, item in _sort_members(value, path):
            yield f"{separator}{_encode_text(key, path)}:"
            yield from _iter_pieces(item, (*path, key))
            separator = ","
        yield "{}" if separator == "{" else "}"


def _sort_members(value: dict[Any, Any], path: _Path) -> list[tuple[str, Any]]:
    members: dict[str, Any] = {}
    for key, member in dict.items(value):
        if not issubclass(type(key), str):
            raise _build_error(f"the key {show_value(key)} is not a string", path)
        plain = str.__str__(key)
        if plain in members:
            raise _build_error(f"the key {show_value(plain)} stands twice in one object", path)
        members[plain] = member
    return sorted(members.items(), key=lambda item: item[0])


def _encode_text(value: str, path: _Path) -> str:
    quoted = _ENCODE_STRING(str.__str__(value))
    if quoted.isascii():
        return quoted
    if _SURROGATE_PAIR.search(quoted):
        # If both halves were written as escapes, a parser would read them back as one character, which is a different
        # text.
        raise _build_error("the text holds a surrogate pair as two characters, which is not valid Unicode", path)
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", quoted)


def _encode_integer(value: int, path: _Path) -> str:
    if not -INT_LIMIT < value < INT_LIMIT:
        raise _build_error(f"a number of more than {len(str(INT_LIMIT)) - 1:,} digits is too long", path)
    return int.__repr__(value)


def _encode_float(value: float, path: _Path) -> str:
    if value - value != 0.0:
        raise _build_error(f"{value!r} is not JSON; use a finite number or null", path)
    return int.__repr__(int(value)) if value.is_integer() else float.__repr__(value)


def _build_error(message: str, path: _Path) -> ValueError:
    return ValueError(str(Problem(message, path)))
