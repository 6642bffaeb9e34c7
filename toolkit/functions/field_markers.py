"""
Find markers in the fields of a record, where they do not count.

`Writes`, `Reads` and similar markers count only on a parameter. In a field of a dataclass they would silently have no
effect, so they are refused. A `Secret` in a field makes the whole parameter secret.
"""

from __future__ import annotations

import builtins
import dataclasses
import typing
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, get_args

import typing_extensions

from ..access import Access
from ..context import Secret
from ..values.codecs.type_checking_names import MissingName, TypeCheckingNames, module_names

__all__ = ["find_field_markers", "read_field_hints"]


def find_field_markers(hint: Any) -> list[Any]:
    """Return the markers in the fields of the records that *hint* names, at any depth."""
    return list(_find_markers_in_fields(hint, set()))


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


def _find_markers_in_fields(hint: Any, visited: set[int]) -> Iterator[Any]:
    kind = typing.get_origin(hint) or hint
    if isinstance(kind, type) and kind.__module__ != "builtins" and id(kind) not in visited:
        visited.add(id(kind))
        for inner in read_field_hints(kind).values():
            yield from _find_markers(inner)
            yield from _find_markers_in_fields(inner, visited)
    for inner in get_args(hint):
        if not isinstance(inner, str):  # the metadata of an `Annotated` may be any object
            yield from _find_markers_in_fields(inner, visited)


def _find_markers(hint: Any) -> Iterator[Any]:
    is_marker = isinstance(hint, type) and issubclass(hint, (Access, Secret))
    if is_marker or isinstance(hint, (Access, Secret)):
        yield hint
    for argument in get_args(hint):
        yield from _find_markers(argument)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (
        dataclasses.is_dataclass(kind)
        or typing_extensions.is_typeddict(kind)
        or any(hasattr(kind, name) for name in ("_fields", "__attrs_attrs__", "model_fields", "__struct_fields__"))
    )
