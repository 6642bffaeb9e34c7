"""
Reads a callable's signature into the codec of its arguments.

Everything a person can write between the parentheses is handled here, and in
`parameters`: positional-only and keyword-only parameters, `*args`, `**kwargs`,
partials, bound methods, wrappers, forward references. What a model may send is
one JSON object; `bind` turns its decoded form into a call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass
from inspect import Parameter
from types import FunctionType, MethodDescriptorType
from typing import Any, Literal, TypeAlias, get_args, get_origin

from ..access import Access
from ..docstrings.parsing import Docstring
from ..errors import DefinitionError
from ..values.codecs import Codec, Reader, Schema, Unresolved, assembled, object_codec
from .callables import run_by
from .namespaces import Scope
from .parameters import Parameters

__all__ = ["Signature", "read_signature", "style_of"]

Style: TypeAlias = Literal["sync", "async", "generator", "async_generator"]
Binder: TypeAlias = Callable[[dict[str, Any]], tuple[list[Any], dict[str, Any]]]

_STREAMS = (Generator, Iterator, Iterable, AsyncGenerator, AsyncIterator, AsyncIterable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """
    What a callable takes and gives.

    Attributes:
        codec: A JSON object of arguments, and the dictionary of decoded ones with defaults filled in.
        schema: The schema of that object, complete in itself.
        output: What the callable returns; None if its annotation says nothing usable.
        output_schema: The schema of that, complete in itself.
        waits: Whether the return annotation names something that is not defined yet.
        wanted: Parameters that are given, not sent: what each asks for.
        bind: From decoded arguments (and what is given) to positional and keyword arguments.
        style: How it runs.
        by_keyword: Whether every argument is passed by keyword.
        secrets: Parameters whose values are never shown.
        accesses: Parameters that say what a call is about to touch.
    """

    codec: Codec
    schema: Schema
    output: Codec | None
    output_schema: Schema | None
    waits: bool = False
    wanted: Mapping[str, Any]
    bind: Binder
    style: Style
    by_keyword: bool = False
    secrets: frozenset[str] = frozenset()
    accesses: Mapping[str, type[Access]]


def read_signature(
    function: Callable[..., Any],
    docstring: Docstring,
    scope: Scope,
    *,
    subject: str,
    unbound: bool = False,
    sent: Collection[str] | None = None,
) -> Signature:
    """
    Read *function*; *subject* names it in errors, *unbound* leaves out its first parameter (`self`).

    *sent* are the only names that can be sent, where a schema says so: what else has a default needs no JSON form.

    Raises `DefinitionError` for what has no JSON form, `Unresolved` while a name is not defined yet.
    """
    parameters, returns, bound = _inspected(function, subject)
    if unbound:
        del parameters[0]
    reading = Parameters(docstring, Reader(scope.module, scope.local()), subject, bound)
    for parameter in parameters:
        if sent is None or parameter.name in sent or parameter.default is Parameter.empty:
            reading.take(parameter)
        else:
            reading.take_unsent(parameter)
    codec = object_codec(
        reading.fields,
        dict,
        reading.encode,
        extras=reading.extras,
        forbidden=frozenset((reading.wanted.keys() | bound) - {field.name for field in reading.fields}),
        as_dict=True,
    )
    style = style_of(function)
    bind = _binder(parameters, first_by_position=_is_dispatched(function))
    output, output_schema, waits = _read_output(returns, scope, style)
    return Signature(
        codec=codec,
        schema=assembled(codec.schema, reading.reader.definitions),
        output=output,
        output_schema=output_schema,
        waits=waits,
        wanted=reading.wanted,
        bind=bind,
        style=style,
        by_keyword=bind is _by_keyword,
        secrets=frozenset(reading.secrets),
        accesses=reading.accesses,
    )


def _inspected(function: Any, subject: str) -> tuple[list[Parameter], Any, set[str]]:
    """The parameters that are left to send, the return annotation, and the names that partials have bound."""
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    inner = function
    while isinstance(inner, functools.partial):
        args, keywords = inner.args + args, {**inner.keywords, **keywords}
        inner = inner.func
    try:
        whole = inspect.signature(inner)
        # Made anew: a partial dressed up by `update_wrapper` would show the signature of what it wraps.
        signature = whole if inner is function else inspect.signature(functools.partial(inner, *args, **keywords))
    except (ValueError, TypeError) as error:
        raise DefinitionError(
            f"{subject}: its signature cannot be read ({error}); wrap it in a function with annotated parameters"
        ) from None
    left = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.name not in keywords or parameter.kind is Parameter.POSITIONAL_ONLY
    ]
    if left and left[0].name == "self" and isinstance(inner, MethodDescriptorType):
        # `str.upper` says nothing of its `self`, but is a method of `str`.
        left[0] = left[0].replace(annotation=inner.__objclass__)
    return left, signature.return_annotation, keywords.keys() | (whole.parameters.keys() - signature.parameters.keys())


def _by_keyword(values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return [], values


def _is_dispatched(function: Any) -> bool:
    """Whether `functools.singledispatch` chooses by the first argument, which it then wants by position."""
    return isinstance(function, FunctionType) and hasattr(function, "registry") and hasattr(function, "dispatch")


def _binder(parameters: list[Parameter], *, first_by_position: bool) -> Binder:
    """How decoded arguments are passed on: by keyword, except where Python wants positions."""
    variadic = next((each.name for each in parameters if each.kind is Parameter.VAR_POSITIONAL), None)
    positional = {
        each.name: each.default
        for index, each in enumerate(parameters)
        if each.kind is Parameter.POSITIONAL_ONLY
        or (each.kind is Parameter.POSITIONAL_OR_KEYWORD and (variadic or (first_by_position and index == 0)))
    }
    if not positional and variadic is None:
        return _by_keyword

    def bind(values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        rest = dict(values)
        args = [
            # Only what is given, not sent, can be missing; Python fills in its default for a keyword alone.
            rest.pop(name) if default is Parameter.empty else rest.pop(name, default)
            for name, default in positional.items()
        ]
        if variadic is not None:
            args += rest.pop(variadic)
        return args, rest

    return bind


def style_of(function: Callable[..., Any]) -> Style:
    """Whether *function* is sync or async, and whether it streams."""
    running = run_by(function)
    if inspect.isasyncgenfunction(running):
        return "async_generator"
    if inspect.iscoroutinefunction(running):
        return "async"
    return "generator" if inspect.isgeneratorfunction(running) else "sync"


def _read_output(annotation: Any, scope: Scope, style: Style) -> tuple[Codec | None, Schema | None, bool]:
    """The codec of what comes back. A return annotation is a courtesy: what cannot be read is left out."""
    if annotation is inspect.Signature.empty:
        return None, None, False
    reader = Reader(scope.module, scope.local())
    try:
        hint = reader.resolve(annotation) if isinstance(annotation, str) else annotation
        arguments = get_args(hint)
        if get_origin(hint) is Coroutine and len(arguments) == 3:
            hint = arguments[2]
        elif get_origin(hint) is Awaitable and arguments:
            hint = arguments[0]
        elif style.endswith("generator") and get_origin(hint) in _STREAMS and arguments:
            hint = list[arguments[0]]  # type: ignore[valid-type]  # what was yielded, collected
        codec = reader.codec(hint)
    except Unresolved:
        return None, None, True
    except (DefinitionError, TypeError, ValueError, RecursionError):
        return None, None, False
    return codec, assembled(codec.schema, reader.definitions) if codec.schema else None, False
