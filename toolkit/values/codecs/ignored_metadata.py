"""
Refuse metadata that the library which reads a class would ignore.

msgspec knows only its own `Meta`, and pydantic knows neither that nor `Timezone`. A check that stands in a field of
their classes and never runs is refused, as it would be on a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin

import typing_extensions

from .base import RefusedMetadata

__all__ = ["refuse_ignored_metadata"]

_REMEDIES = {
    "msgspec": "use `msgspec.Meta`, or check the value in `__post_init__`",
    "pydantic": "use a validator or a type of pydantic",
}


def refuse_ignored_metadata(hint: Any, library: Literal["msgspec", "pydantic"]) -> None:
    """Raise `RefusedMetadata` if a field of *hint*, or of a class in it, has a check that *library* ignores."""
    is_ignored = _is_ignored_by_msgspec if library == "msgspec" else _is_ignored_by_pydantic
    for place, name in _iter_ignored(hint, is_ignored, set()):
        raise RefusedMetadata(f"{place}: {library} ignores {name}; {_REMEDIES[library]}")


def _class_of(item: Any) -> type:
    return item if isinstance(item, type) else type(item)


def _is_ignored_by_msgspec(item: Any) -> bool:
    return _class_of(item).__module__.partition(".")[0] in ("annotated_types", "pydantic")


def _is_ignored_by_pydantic(item: Any) -> bool:
    cls = _class_of(item)
    return (cls.__module__.partition(".")[0], cls.__name__) in (("msgspec", "Meta"), ("annotated_types", "Timezone"))


def _iter_ignored(hint: Any, is_ignored: Callable[[Any], bool], visited: set[Any]) -> Iterator[tuple[str, str]]:
    """Yield the field and the class of each ignored object."""
    cls = get_origin(hint) or hint
    if isinstance(cls, type) and cls.__module__ != "builtins" and cls not in visited:
        visited.add(cls)
        for name, field_hint in _read_field_hints(cls).items():
            for item in _iter_metadata(field_hint):
                if is_ignored(item):
                    yield f"{cls.__name__}.{name}", _class_of(item).__name__
            yield from _iter_ignored(field_hint, is_ignored, visited)
    for argument in get_args(hint):
        yield from _iter_ignored(argument, is_ignored, visited)


def _iter_metadata(hint: Any) -> Iterator[Any]:
    yield from getattr(hint, "__metadata__", ())
    for argument in get_args(hint):
        yield from _iter_metadata(argument)


def _read_field_hints(cls: type) -> dict[str, Any]:
    names = ("__struct_fields__", "__pydantic_fields__", "__dataclass_fields__", "__required_keys__", "_fields")
    if not any(hasattr(cls, name) for name in names):
        return {}
    try:
        return typing_extensions.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 -- a name is not defined yet; the library that reads the class says so
        return {}
