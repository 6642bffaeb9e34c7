"""
What a tool may ask for besides its arguments.

A parameter annotated `Context` or `Inject[T]` is filled by whoever runs the
call. It is not part of the schema, and no argument of its name gets through.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, ForwardRef, TypeVar, Union, get_args, get_origin

from .facts import Facts

__all__ = ["Context", "Inject", "Injected", "wanted_resource"]

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Context:
    """
    The call as the tool sees it.

    Attributes:
        facts: What the tool's author stated about it.
        resources: What was provided for this call, by type.
        logger: Where the tool may write; its name is the tool's.
    """

    facts: Facts
    resources: Mapping[type, Any] = field(default_factory=dict)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("toolkit"))


class Injected:
    """Marks a parameter as filled from the resources given to a call; `Inject[T]` writes it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Injected()"


Inject = Annotated[T, Injected()]
"""`database: Inject[Database]`: a parameter that is filled from resources, never by a model."""


def wanted_resource(hint: Any, resolve: Callable[[str], Any]) -> Any:
    """
    The type that *hint* asks to be given (`Context` itself, or the `T` of `Inject[T]`); None if it is data.

    *resolve* answers what a name inside it means.
    """
    if isinstance(hint, (str, ForwardRef)):
        return wanted_resource(_meant(hint, resolve), resolve)
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metadata = get_args(hint)
        if any(isinstance(item, Injected) or item is Injected for item in metadata):
            return _one_type(inner, resolve)
        return wanted_resource(inner, resolve)
    if origin in (Union, UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        return wanted_resource(members[0], resolve) if len(members) == 1 else None
    kind = hint if origin is None else origin
    return hint if isinstance(kind, type) and issubclass(kind, Context) else None


def _one_type(hint: Any, resolve: Callable[[str], Any]) -> Any:
    """*hint* without names to look up, and without the None of an optional one."""
    hint = _meant(hint, resolve)
    if get_origin(hint) in (Union, UnionType):
        members = [member for member in get_args(hint) if member is not type(None)]
        return _meant(members[0], resolve) if len(members) == 1 else hint
    return hint


def _meant(hint: Any, resolve: Callable[[str], Any]) -> Any:
    if isinstance(hint, ForwardRef):
        hint = hint.__forward_arg__
    return resolve(hint) if isinstance(hint, str) else hint
