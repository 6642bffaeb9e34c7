"""The types that parameters of a tool request to be injected: `Context`, or the `T` of `Inject[T]`."""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin

from ..context import Context, Injected

__all__ = ["find_injected_type"]


def find_injected_type(hint: Any, resolve: Callable[[str | ForwardRef], Any]) -> Any:
    """
    Return the type that *hint* requests to be injected, or None if the parameter is data.

    The type is `Context` itself (or a subclass), or the `T` of `Inject[T]`. *resolve* returns what a name inside
    *hint* stands for.
    """
    if isinstance(hint, (str, ForwardRef)):
        return find_injected_type(_resolve_hint(hint, resolve), resolve)
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metadata = get_args(hint)
        if any(isinstance(item, Injected) or item is Injected for item in metadata):
            return _unwrap_optional(inner, resolve)
        return find_injected_type(inner, resolve)
    if origin in (Union, UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        resources = [find_injected_type(member, resolve) for member in members]
        if len(members) > 1 and any(resource is not None for resource in resources):
            raise TypeError("a resource cannot be one of several types; take it as a parameter of its own")
        return resources[0] if len(members) == 1 else None
    kind = hint if origin is None else origin
    return hint if isinstance(kind, type) and issubclass(kind, Context) else None


def _unwrap_optional(hint: Any, resolve: Callable[[str | ForwardRef], Any]) -> Any:
    """Return *hint* with its names looked up, and without the None of an optional type."""
    hint = _resolve_hint(hint, resolve)
    if get_origin(hint) in (Union, UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        return _resolve_hint(members[0], resolve) if len(members) == 1 else hint
    return hint


def _resolve_hint(hint: Any, resolve: Callable[[str | ForwardRef], Any]) -> Any:
    return resolve(hint) if isinstance(hint, (str, ForwardRef)) else hint
