"""
What a tool may ask for besides its arguments.

A parameter annotated `Context` or `Inject[T]` is filled by whoever runs the
call. It is not part of the schema, and no argument of its name gets through.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

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


def wanted_resource(hint: Any) -> Any:
    """The type that *hint* asks to be given (`Context` itself, or the `T` of `Inject[T]`); None if it is data."""
    if isinstance(hint, type) and issubclass(hint, Context):
        return hint
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *metadata = get_args(hint)
        if any(isinstance(item, Injected) or item is Injected for item in metadata):
            return inner
        return wanted_resource(inner)
    if origin in (Union, UnionType):
        wanted = [wanted_resource(member) for member in get_args(hint) if member is not type(None)]
        return wanted[0] if len(wanted) == 1 else None
    return None
