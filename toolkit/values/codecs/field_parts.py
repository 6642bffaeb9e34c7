"""
Find what stands in the fields of a record: their types, and the metadata beside them, at any depth.

A marker or a check in a field may have no effect there. The code that reads the record then refuses it.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, get_args, get_origin

import typing_extensions

from .type_checking_names import MissingName, TypeCheckingNames, module_names

__all__ = ["iter_field_parts", "read_field_hints"]


def iter_field_parts(hint: Any, visited: set[type] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the types and the metadata in the fields of the records that *hint* names, each with its field."""
    visited = set() if visited is None else visited
    cls = get_origin(hint) or hint
    if isinstance(cls, type) and cls.__module__ != "builtins" and cls not in visited:
        visited.add(cls)
        for name, field_hint in read_field_hints(cls).items():
            yield from ((f"{cls.__name__}.{name}", part) for part in _iter_parts(field_hint))
            yield from iter_field_parts(field_hint, visited)
    for argument in get_args(hint):
        if not isinstance(argument, str):  # the metadata of an `Annotated` may be any object
            yield from iter_field_parts(argument, visited)


def _iter_parts(hint: Any) -> Iterator[Any]:
    yield hint
    for argument in get_args(hint):
        yield from _iter_parts(argument)


def read_field_hints(record: Any) -> dict[str, Any]:
    """
    Return the hints of a record's fields by name.

    The result is empty if *record* is not a record. A name that cannot be resolved yet is replaced, so that the markers
    beside it are still found.
    """
    if not _is_record(record):
        return {}
    try:
        return typing_extensions.get_type_hints(record, include_extras=True)
    except Exception:  # noqa: BLE001 -- a name is not defined yet, or the class is broken
        names: Any = _ReplacedNames(record)
    try:
        return typing_extensions.get_type_hints(record, localns=names, include_extras=True)
    except Exception:  # noqa: BLE001 -- the class is broken
        return {}


class _ReplacedNames(dict[str, Any]):
    """The names that the modules of a record and of its bases do not have: those for type checkers, and any other."""

    def __init__(self, record: type) -> None:
        super().__init__()
        self._modules = [module_names(base.__module__) for base in record.__mro__]

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name) or any(name in module for module in self._modules):
            raise KeyError(name)
        for module in self._modules:
            with suppress(KeyError):
                return TypeCheckingNames(module)[name]
        return MissingName.create(name, "it is not defined")


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (
        dataclasses.is_dataclass(kind)
        or typing_extensions.is_typeddict(kind)
        or any(hasattr(kind, name) for name in ("_fields", "__attrs_attrs__", "model_fields", "__struct_fields__"))
    )
