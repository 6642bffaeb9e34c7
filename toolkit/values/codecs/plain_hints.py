"""
Recognise hints that consist of builtin types, such as `list[str] | None`.

Most hints of tools are of this kind. They mean the same everywhere, so their codecs are made once for all tools.
"""

from __future__ import annotations

from types import GenericAlias, NoneType, UnionType
from typing import Any

from .registered import REGISTERED_BASES, REGISTERED_FACTORIES

__all__ = ["MAX_PLAIN_CODECS", "has_registered_plain_class", "plain_key"]

_PLAIN_CLASSES = frozenset({str, int, float, bool, NoneType, list, dict})

MAX_PLAIN_CODECS = 1000
"""The most codecs of plain hints that are kept."""


def plain_key(hint: Any) -> Any:
    """
    Return a key for *hint* if it consists of builtin types, such as `list[str] | None`; None for any other hint.

    Such a hint means the same everywhere, and has no markers and no metadata. Hints with the same key have the same
    codec. The hints themselves cannot be the keys, because `int | str` is equal to `str | int`.
    """
    kind = type(hint)
    if kind is type:
        return hint if hint in _PLAIN_CLASSES else None
    if kind is UnionType:
        parts: list[Any] = [UnionType]
    elif kind is GenericAlias and hint.__origin__ in _PLAIN_CLASSES and not hint.__unpacked__:
        parts = [hint.__origin__]
    else:
        return None
    for argument in hint.__args__:
        part = plain_key(argument)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


def has_registered_plain_class() -> bool:
    """Return whether a program has registered a codec of its own that may stand for a builtin type."""
    return bool(REGISTERED_BASES) or not REGISTERED_FACTORIES.keys().isdisjoint(_PLAIN_CLASSES)
