"""
Fills `Inject[T]` parameters.

Resources given with the call come first, then the catalog's, then the
dispatcher's. Each is a value, or something that makes one: a function, sync or
async, a generator, a context manager; it may take the `Context`. What is made
is made once an attempt, after the verdict, and closed after the attempt.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from .context import Context
from .errors import DefinitionError
from .spec import Tool

__all__ = ["PER_CALL", "missing_resources", "supplied"]


class _PerCall:
    def __repr__(self) -> str:
        return "PER_CALL"


PER_CALL: Any = _PerCall()
"""Stands for a resource that every call brings itself: `resources={User: PER_CALL}`."""


async def supplied(
    wanted: Mapping[str, Any], sources: Iterable[Mapping[Any, Any]], context: Context, stack: contextlib.AsyncExitStack
) -> dict[str, Any]:
    """What each parameter in *wanted* gets; what was entered is closed with *stack*."""
    given: dict[str, Any] = {}
    made: dict[Any, Any] = {}
    for name, kind in wanted.items():
        if isinstance(kind, type) and issubclass(kind, Context):
            given[name] = context
        else:
            if kind not in made:
                made[kind] = await _entered(_found(kind, sources, context), kind, context, stack)
            given[name] = made[kind]
    return given


def _found(kind: Any, sources: Iterable[Mapping[Any, Any]], context: Context) -> Any:
    for source in sources:
        if kind in source and source[kind] is not PER_CALL:
            return source[kind]
    name = getattr(kind, "__name__", repr(kind))
    raise DefinitionError(
        f"`{context.call.name}` wants {name}, and nobody provides one; give `resources=` with the call"
    )


async def _entered(resource: Any, kind: Any, context: Context, stack: contextlib.AsyncExitStack) -> Any:
    if _is_value(resource, kind):
        return resource
    if inspect.isgeneratorfunction(resource):
        resource = contextlib.contextmanager(resource)
    elif inspect.isasyncgenfunction(resource):
        resource = contextlib.asynccontextmanager(resource)
    made = resource(context) if _takes_context(resource) else resource()
    if inspect.isawaitable(made):
        made = await made
    if _is_value(made, kind) and not hasattr(made, "__aenter__") and not hasattr(made, "__enter__"):
        return made
    if hasattr(type(made), "__aenter__"):
        return await stack.enter_async_context(made)
    if hasattr(type(made), "__enter__"):
        return stack.enter_context(made)
    return made


def _is_value(resource: Any, kind: Any) -> bool:
    if isinstance(kind, type):
        try:
            if isinstance(resource, kind):
                return True
        except TypeError:  # a protocol that cannot be asked
            pass
    return not callable(resource)


def _takes_context(factory: Any) -> bool:
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        return False
    return any(
        each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        for each in parameters
    )


def missing_resources(tool: Tool, resources: Mapping[Any, Any]) -> list[str]:
    """The names of the types that *tool* wants and nobody will provide."""
    missing = []
    for kind in tool.signature.wanted.values():
        if isinstance(kind, type) and issubclass(kind, Context):
            continue
        if kind not in tool.resources and kind not in resources:
            missing.append(getattr(kind, "__name__", repr(kind)))
    return missing
