"""
Whatever a tool returns, as strict JSON and as text.

Nothing fails here: NaN, cycles, bytes, objects nobody knows become something
that can be sent and read. A tool whose return annotation says more is encoded
by its codec first; this is what happens to the rest.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from .codecs import Reader
from .strictjson import INT_LIMIT, is_clean

__all__ = ["as_json", "as_text"]

_MOST_DEPTH = 50
_MOST_ITEMS = 100_000
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def as_text(value: Any) -> str:
    """What a model reads: text as it is, anything else as compact JSON. *value* is strict JSON."""
    return value if type(value) is str else _ENCODER.encode(value)


def as_json(value: Any) -> Any:
    """*value* as strict JSON, as near to what was meant as can be had."""
    return _converted(value, (), [_MOST_ITEMS])


def _converted(value: Any, inside: tuple[int, ...], budget: list[int]) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return value if value.isascii() or is_clean(value) else value.encode("utf-8", "replace").decode()
    if kind is int:
        return value if -INT_LIMIT < value < INT_LIMIT else hex(value)
    if kind is float:
        return value if value - value == 0 else str(value)
    budget[0] -= 1
    if id(value) in inside:
        return "<the same object again>"
    if len(inside) >= _MOST_DEPTH or budget[0] < 0:
        return "<too deep>" if budget[0] >= 0 else "<too much>"
    inside = (*inside, id(value))
    try:
        return _structured(value, inside, budget)
    except Exception:  # noqa: BLE001 -- somebody's __iter__ or __dict__; its text still says something
        return _described(value)


def _structured(value: Any, inside: tuple[int, ...], budget: list[int]) -> Any:
    if isinstance(value, enum.Enum):
        return _converted(value.value, inside, budget)
    if isinstance(value, (str, int, float)):
        plain = next(kind for kind in (str, int, float) if isinstance(value, kind))
        return _converted(plain(value), inside, budget)
    if isinstance(value, Mapping):
        return {_key(key): _converted(each, inside, budget) for key, each in value.items()}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        names: list[str] = list(value._fields)
        return {name: _converted(getattr(value, name), inside, budget) for name in names}
    if isinstance(value, (list, tuple, AbstractSet)) or type(value).__name__ == "deque":
        return [_converted(each, inside, budget) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _converted(getattr(value, name), inside, budget) for name in names}
    try:
        return Reader().codec(type(value)).encode(value)
    except Exception:  # noqa: BLE001 -- no codec, or not one for this value
        return _described(value)


def _key(key: Any) -> str:
    if isinstance(key, enum.Enum):
        key = key.value
    form = key if isinstance(key, str) else _ENCODER.encode(key) if isinstance(key, (int, float)) else _described(key)
    return form if is_clean(form) else form.encode("utf-8", "replace").decode()


def _described(value: Any) -> str:
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 -- a broken __str__ is no reason to lose the call
        text = f"<{type(value).__name__}>"
    return text.encode("utf-8", "replace").decode()
