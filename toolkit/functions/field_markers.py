"""
Find markers in the fields of a record, where they do not count.

`Writes`, `Reads` and similar markers count only on a parameter. In a field of a dataclass they would silently have no
effect, so they are refused. A `Secret` in a field makes the whole parameter secret.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any, get_args

import typing_extensions

from ..access import Access
from ..context import Secret

__all__ = ["markers_in_fields", "own_markers"]


def markers_in_fields(hint: Any) -> list[Any]:
    """Return the markers in the fields of the records that *hint* names, at any depth."""
    return list(_below(hint, set()))


def own_markers(record: Any) -> dict[str, Any]:
    """
    Return the hints of a record's fields by name.

    The result is empty if the hints cannot be resolved yet, or if *record* is not a record.
    """
    if not _is_record(record):
        return {}
    try:
        return typing_extensions.get_type_hints(record, include_extras=True)
    except Exception:  # noqa: BLE001 -- a name is not defined yet, or the class is broken
        return {}


def _below(hint: Any, visited: set[int]) -> Iterator[Any]:
    kind = typing.get_origin(hint) or hint
    if isinstance(kind, type) and kind.__module__ != "builtins" and id(kind) not in visited:
        visited.add(id(kind))
        for inner in own_markers(kind).values():
            yield from _marked(inner)
            yield from _below(inner, visited)
    for inner in get_args(hint):
        if not isinstance(inner, str):  # the metadata of an `Annotated` may be any object
            yield from _below(inner, visited)


def _marked(hint: Any) -> Iterator[Any]:
    is_marker = isinstance(hint, type) and issubclass(hint, (Access, Secret))
    if is_marker or isinstance(hint, (Access, Secret)):
        yield hint
    for argument in get_args(hint):
        yield from _marked(argument)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (
        dataclasses.is_dataclass(kind)
        or typing_extensions.is_typeddict(kind)
        or any(hasattr(kind, name) for name in ("_fields", "__attrs_attrs__", "model_fields", "__struct_fields__"))
    )
