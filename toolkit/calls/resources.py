"""
Values for `Inject[T]` parameters.

Resources given with the call come first, then those of the catalog, then those of the dispatcher. A resource is a
value, or an object that makes one: a sync or async function, a generator function, or a context manager. It may take
the `Context`. A value is made once for each attempt, after the verdict, and closed after the attempt. If the tool runs
in a thread, the value is made and closed in that thread, unless it is async.

A `T`, and any object that cannot be called, is a value and is given as it is. If a function returns a context manager,
it is entered. A context manager made by `contextlib` is entered too.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from inspect import Parameter
from types import TracebackType
from typing import Any, TypeAlias, get_args, get_origin

from ..context import Context
from ..errors import DefinitionError, ToolError
from ..spec import Tool

__all__ = ["PER_CALL", "build_resources", "build_resources_in_thread", "check_resource_keys", "missing_resources"]

_log = logging.getLogger("toolkit")

_Exception: TypeAlias = BaseException | None


class _PerCall:
    def __repr__(self) -> str:
        return "PER_CALL"


PER_CALL: Any = _PerCall()
"""Stands for a resource that every call brings itself: `resources={User: PER_CALL}`."""

_MISSING = object()


def check_resource_keys(resources: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return *resources*; raise `TypeError` if a key is a name or a number, which no `Inject[T]` asks for."""
    if type(resources) is not dict:  # the methods of another mapping may raise; what it lacks is a result of the call
        return resources
    for key in resources:
        if isinstance(key, (str, bytes, int, float)):
            noun = type(key).__name__
            article = "an" if noun[0] in "aeiou" else "a"
            raise TypeError(
                f"resources are given by type, and {key!r:.60} is {article} {noun}; a tool asks for "
                f"one with `db: Inject[Database]`, so write resources={{Database: ...}}"
            )
    return resources


async def build_resources(
    parameters: Mapping[str, Any],
    sources: Iterable[Mapping[Any, Any]],
    context: Context,
    stack: contextlib.AsyncExitStack,
) -> dict[str, Any]:
    """
    Return the value for each parameter in *parameters*. Context managers that are entered are closed with *stack*.
    """
    values: dict[Any, Any] = {}
    resources = _find_resources(parameters, sources, context)
    for kind, resource in resources.values():
        if kind not in values:
            value, is_ready = _make_value(resource, kind, context)
            values[kind] = value if is_ready else await _await_and_enter(value, kind, stack)
    return _assign_values(resources, values, context)


def build_resources_in_thread(
    parameters: Mapping[str, Any],
    sources: Iterable[Mapping[Any, Any]],
    context: Context,
    stack: contextlib.ExitStack,
    run_on_loop: Callable[[Callable[[contextlib.AsyncExitStack], Coroutine[Any, Any, Any]]], Any],
) -> dict[str, Any]:
    """
    Return the same as `build_resources`, with the values made in the thread that the tool runs in.

    A database connection, for example, must not leave the thread in which it was made. *run_on_loop* enters an
    async resource on the event loop, with the stack that closes it there.
    """
    values: dict[Any, Any] = {}
    resources = _find_resources(parameters, sources, context)
    for kind, resource in resources.values():
        if kind in values:
            continue
        value, is_ready = _make_value(resource, kind, context)
        if is_ready:
            values[kind] = value
        elif _is_async(value):
            values[kind] = run_on_loop(functools.partial(_await_and_enter, value, kind))
        else:
            values[kind] = _enter_sync(_as_context_manager(value, kind), stack)
    return _assign_values(resources, values, context)


def _assign_values(
    resources: Mapping[str, tuple[Any, Any]], values: dict[Any, Any], context: Context
) -> dict[str, Any]:
    context.resources = {**context.resources, **{kind: value for kind, value in values.items() if value is not context}}
    return {name: values[kind] for name, (kind, _) in resources.items()}


def _find_resources(
    parameters: Mapping[str, Any], sources: Iterable[Mapping[Any, Any]], context: Context
) -> dict[str, tuple[Any, Any]]:
    """
    Return, for each parameter that gets a value, the type that it requests and the resource for that type.

    Raises:
        DefinitionError: A parameter without a default requests a type that no source provides.
    """
    resources: dict[str, tuple[Any, Any]] = {}
    for name, kind in parameters.items():
        resource = context if _is_filled_by(kind, context) else _find_resource(kind, sources)
        if resource is not _MISSING:
            resources[name] = kind, resource
        elif name not in _names_with_defaults(context.call.tool):
            need = f"`{context.call.name}` wants {_type_name(kind)}"
            raise DefinitionError(f"{need}, and none is provided; give `resources=` with the call")
    return resources


def missing_resources(tool: Tool, resources: Mapping[Any, Any]) -> list[str]:
    """Return the names of the types that *tool* needs and that no source will provide."""
    defaults = _names_with_defaults(tool)
    return [
        _type_name(kind)
        for name, kind in tool.signature.injected.items()
        if kind is not Context and name not in defaults and kind not in tool.resources and kind not in resources
    ]


def _is_filled_by(kind: Any, context: Context) -> bool:
    plain = get_origin(kind) or kind
    return isinstance(plain, type) and issubclass(plain, Context) and isinstance(context, plain)


def _names_with_defaults(tool: Tool | None) -> set[str]:
    """Return the names of the parameters that have a default."""
    if tool is None:
        return set()
    parameters = inspect.signature(tool.function).parameters.values()
    return {parameter.name for parameter in parameters if parameter.default is not Parameter.empty}


def _type_name(kind: Any) -> str:
    return str(getattr(kind, "__name__", None) or repr(kind))


def _find_resource(kind: Any, sources: Iterable[Mapping[Any, Any]]) -> Any:
    for source in sources:
        if kind in source and source[kind] is not PER_CALL:
            return source[kind]
    return _MISSING


def _make_value(resource: Any, kind: Any, context: Context) -> tuple[Any, bool]:
    """
    Return *resource* or the object that it makes, and whether that is ready.

    An object that is not ready has to be entered first, and perhaps awaited.
    """
    if _is_instance(resource, kind):
        return resource, True
    if type(resource).__module__ == "contextlib":
        # An object made by `@contextmanager` can be entered only once. It can recreate itself, as it does when it is
        # used as a decorator.
        recreate = getattr(resource, "_recreate_cm", None)
        return resource if recreate is None else recreate(), False
    return (_call_factory(resource, kind, context), False) if callable(resource) else (resource, True)


async def _await_and_enter(resource: Any, kind: Any, stack: contextlib.AsyncExitStack) -> Any:
    if inspect.isawaitable(resource) and not _is_instance(resource, kind):
        resource = await resource
    resource = _as_context_manager(resource, kind)
    return await _enter(resource, stack) if hasattr(type(resource), "__aenter__") else _enter_sync(resource, stack)


def _as_context_manager(resource: Any, kind: Any) -> Any:
    """Return a context manager if *resource* comes from a generator function, and otherwise *resource* itself."""
    if inspect.isgenerator(resource) and not _is_instance(resource, kind):
        return contextlib.contextmanager(lambda: resource)()
    if inspect.isasyncgen(resource) and not _is_instance(resource, kind):
        return contextlib.asynccontextmanager(lambda: resource)()
    return resource


def _is_async(resource: Any) -> bool:
    return inspect.isawaitable(resource) or inspect.isasyncgen(resource) or hasattr(type(resource), "__aenter__")


def _is_instance(resource: Any, kind: Any) -> bool:
    plain = get_origin(kind) or kind
    try:
        return isinstance(plain, type) and isinstance(resource, plain)
    except TypeError:  # a protocol that does not support isinstance
        return False


def _call_factory(factory: Callable[..., Any], kind: Any, context: Context) -> Any:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # a builtin that has no readable signature
        return factory()
    for parameter in parameters:
        if _is_context(parameter.annotation):
            return (
                factory(context)
                if parameter.kind is Parameter.POSITIONAL_ONLY
                else factory(**{parameter.name: context})
            )
    required = [
        parameter
        for parameter in parameters
        if parameter.default is Parameter.empty
        and parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    ]
    if len(required) > 1 or any(parameter.annotation is not Parameter.empty for parameter in required):
        names = ", ".join(f"`{parameter.name}`" for parameter in required)
        raise DefinitionError(
            f"{_type_name(kind)} cannot be made: its factory wants {names}; give one that takes nothing, or the Context"
        )
    if not required:
        return factory()
    return factory(**{required[0].name: context}) if required[0].kind is Parameter.KEYWORD_ONLY else factory(context)


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return any(part.strip().rpartition(".")[2] == Context.__name__ for part in annotation.split("|"))
    if isinstance(annotation, type):
        return issubclass(annotation, Context)
    return any(map(_is_context, get_args(annotation)))


# Entering and leaving. A resource learns how the attempt ended, but cannot change it.


async def _enter(manager: Any, stack: contextlib.AsyncExitStack) -> Any:
    value = await manager.__aenter__()

    async def leave(kind: type[BaseException] | None, error: _Exception, traceback: TracebackType | None) -> bool:
        with _keep_error(error, manager):
            await manager.__aexit__(kind, error, traceback)
        return False

    stack.push_async_exit(leave)
    return value


def _enter_sync(manager: Any, stack: contextlib.ExitStack | contextlib.AsyncExitStack) -> Any:
    if not hasattr(type(manager), "__enter__"):
        return manager
    value = manager.__enter__()

    def leave(kind: type[BaseException] | None, error: _Exception, traceback: TracebackType | None) -> bool:
        with _keep_error(error, manager):
            manager.__exit__(kind, error, traceback)
        return False

    stack.push(leave)
    return value


@contextlib.contextmanager
def _keep_error(error: _Exception, manager: Any) -> Iterator[None]:
    """
    Raise what closing the resource *manager* in the block raises only if that does not hide *error*, of the tool.

    A `ToolError` explains to the model why the tool failed. Any other error after a failure is only logged.
    """
    try:
        yield
    except Exception as close_error:
        if error is None or isinstance(close_error, ToolError):
            raise
        if close_error is not error:
            _log.warning("closing %s failed after the tool had", type(manager).__name__, exc_info=close_error)
