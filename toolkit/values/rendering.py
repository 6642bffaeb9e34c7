"""
Convert any value that a tool returns to strict JSON and to text.

The conversion never fails. NaN, cycles, bytes and objects of unknown classes become something that can be sent and
read. If a tool's return annotation names a more specific type, the codec of that type encodes the value first. This
module handles the rest.
"""

from __future__ import annotations

import base64
import collections
import copy
import dataclasses
import enum
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any

from .codecs import Codec, create_hint_reader
from .strictjson.checks import INT_LIMIT, is_valid_text

__all__ = [
    "as_json",
    "as_text",
    "copy_arguments",
    "describe_value",
    "dict_with_unique_keys",
    "is_strict_json",
    "replace_surrogates",
]

_MAX_DEPTH = 50
_MAX_CONTAINERS = 300_000
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_PLAIN: tuple[tuple[type, Any], ...] = ((str, str.__str__), (int, int.__int__), (float, float.__float__))
_TEXTS = frozenset({str})
_SCALARS = frozenset({str, int, float, bool, type(None)})
_BYTES = (bytes, bytearray, memoryview)
_ITEMS = (Sequence, AbstractSet, ValuesView, collections.deque)
_BUILTIN_CONTAINERS = (list, tuple, dict, set, frozenset)


def as_text(value: Any) -> str:
    """
    Return the text that a model reads: a string as it is, any other value as compact JSON.

    *value* must be strict JSON.
    """
    return value if type(value) is str else _ENCODER.encode(value)


def as_json(value: Any) -> Any:
    """Convert *value* to strict JSON that stays as close as possible to its meaning."""
    return _Conversion().convert(value)


def is_strict_json(value: Any) -> bool:
    """
    Return whether encoding *value* as JSON and decoding it gives the same value.

    *value* must be encodable as JSON. A tuple, or a key that is not a string, makes the answer False.
    """
    kind = type(value)
    if kind is list or kind is dict:
        if kind is dict and not _TEXTS.issuperset(map(type, value)):
            return False
        items = value if kind is list else value.values()
        return _SCALARS.issuperset(map(type, items)) or all(map(is_strict_json, items))
    return kind in _SCALARS


def describe_value(value: Any) -> str:
    """Describe *value* in words, even if its own methods raise."""
    try:
        # The text of a builtin container would be as deep and as long as the container itself.
        text = "" if type(value) in _BUILTIN_CONTAINERS else str.__str__(str(value))
    except (Exception, SystemExit):  # noqa: BLE001 -- a broken __str__ must not lose the call
        text = ""
    name = type(value).__name__
    if issubclass(type(value), BaseException):
        text = f"{name}: {text}" if text else name
    return replace_surrogates(text or f"<{name}>")


def replace_surrogates(text: str) -> str:
    """Return *text* in a form that can be sent: lone surrogates become question marks."""
    return text if text.isascii() or is_valid_text(text) else text.encode("utf-8", "replace").decode()


def dict_with_unique_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary from *pairs* without losing a value: a repeated key gets a number, such as `a (2)`."""
    result: dict[str, Any] = {}
    times: dict[str, int] = {}
    for key, value in pairs:
        name = key
        while name in result:
            times[key] = times.get(key, 1) + 1
            name = f"{key} ({times[key]})"
        result[name] = value
    return result


class _Conversion:
    """
    The state of one conversion to JSON.

    It knows the objects that contain the current value, and how many containers may still be made.
    """

    __slots__ = ("_ancestor_ids", "_codecs", "_containers_left")

    def __init__(self) -> None:
        self._ancestor_ids: set[int] = set()
        self._containers_left = _MAX_CONTAINERS
        self._codecs: dict[type, Codec | None] = {}

    def convert(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return replace_surrogates(value)
        if kind is int:
            return value if -INT_LIMIT < value < INT_LIMIT else hex(value)
        if kind is float:
            return value if value - value == 0 else str(value)
        identity = id(value)
        if identity in self._ancestor_ids:
            return "<the same object again>"
        if len(self._ancestor_ids) >= _MAX_DEPTH:
            return "<too deep>"
        self._containers_left -= 1
        if self._containers_left < 0:
            return "<too much>"
        self._ancestor_ids.add(identity)
        try:
            return self._convert_structure(value, kind)
        except (Exception, SystemExit):  # noqa: BLE001 -- a broken __iter__ or __dict__; its text is still of use
            return describe_value(value)
        finally:
            self._ancestor_ids.discard(identity)

    def _convert_structure(self, value: Any, kind: type) -> Any:
        if kind is list or kind is tuple:
            return [self.convert(item) for item in value]
        # The type is checked, because an object may report a false `__class__`.
        if issubclass(kind, enum.Enum):
            return self.convert(value.value)
        for plain, exact in _PLAIN:
            if issubclass(kind, plain):
                return self.convert(exact(value))
        if issubclass(kind, _BYTES):
            return base64.b64encode(bytes(value)).decode()
        if kind is dict or issubclass(kind, Mapping):
            return dict_with_unique_keys(
                (self._convert_key(key), self.convert(item)) for key, item in _limit_items(value.items(), kind)
            )
        if issubclass(kind, _ITEMS) and not _field_names(kind):
            items = [self.convert(item) for item in _limit_items(value, kind)]
            return sorted(items, key=as_text) if issubclass(kind, AbstractSet) else items
        return self._convert_object(value, kind)

    def _convert_key(self, key: Any) -> str:
        return as_text(self.convert(key))

    def _convert_object(self, value: Any, kind: type) -> Any:
        codec = self._find_codec(kind)
        if codec is not None:
            try:
                encoded = codec.encode(value)
            except (Exception, SystemExit):  # noqa: BLE001 -- it breaks its own annotations; its fields are of use
                encoded = value
            if encoded is not value:
                return self.convert(encoded)
        names = _field_names(kind)
        if names:
            return {name: self.convert(getattr(value, name)) for name in names if hasattr(value, name)}
        return describe_value(value)

    def _find_codec(self, kind: type) -> Codec | None:
        if kind not in self._codecs:
            try:
                self._codecs[kind] = create_hint_reader().codec(kind)
            except Exception:  # noqa: BLE001 -- the class has no codec, or it is broken
                self._codecs[kind] = None
        return self._codecs[kind]


def _limit_items(items: Iterable[Any], kind: type) -> Iterable[Any]:
    """Return *items*, cut to a limit if *kind* is not a builtin class, because other iterators may never end."""
    return items if kind in _BUILTIN_CONTAINERS else itertools.islice(items, _MAX_CONTAINERS)


def _field_names(kind: type) -> list[str]:
    """Return the field names of a dataclass, named tuple, attrs class, msgspec struct or pydantic model."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [attribute.name for attribute in kind.__attrs_attrs__]
    for marker in ("_fields", "__struct_fields__", "model_fields"):
        if isinstance(fields := getattr(kind, marker, None), (tuple, dict)):
            return [name for name in fields if isinstance(name, str)]
    return []


def copy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copy decoded *arguments* as deeply as Python can, so that the receiver may change the copy."""
    try:
        return copy.deepcopy(dict(arguments))
    except (Exception, SystemExit):  # noqa: BLE001 -- an object that cannot be copied is shared
        return dict(arguments)
