"""
Reads a callable's parameters into the codec of its arguments.

Everything a person can write between the parentheses is handled here:
positional-only and keyword-only parameters, `*args`, `**kwargs`, partials,
bound methods, wrappers, forward references. What a model may send is one JSON
object; `bind` turns its decoded form into a call.
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
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass
from inspect import Parameter
from typing import Annotated, Any, Literal, get_args, get_origin

from typing_extensions import Unpack, is_typeddict

from .codecs import (
    MISSING,
    Codec,
    Field,
    Reader,
    Schema,
    Undescribable,
    Unresolved,
    annotated_codec,
    assembled,
    field_notes,
    object_codec,
    typed_dict_fields,
)
from .context import is_secret, wanted_resource
from .docstrings import Docstring
from .errors import DefinitionError
from .scope import Scope, underlying

__all__ = ["Signature", "read_signature", "style_of"]

Style = Literal["sync", "async", "generator", "async_generator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """
    What a callable takes and gives.

    Attributes:
        codec: A JSON object of arguments, and the dictionary of decoded ones with defaults filled in.
        schema: The schema of that object, complete in itself.
        output: What the callable returns; None if its annotation says nothing usable.
        output_schema: The schema of that, complete in itself.
        wanted: Parameters that are given, not sent: what each asks for.
        bind: From decoded arguments (and what is given) to positional and keyword arguments.
        style: How it runs.
        by_keyword: Whether every argument is passed by keyword.
        secrets: Parameters whose values are never shown.
    """

    codec: Codec
    schema: Schema
    output: Codec | None
    output_schema: Schema | None
    wanted: Mapping[str, Any]
    bind: Callable[[dict[str, Any]], tuple[list[Any], dict[str, Any]]]
    style: Style
    by_keyword: bool = False
    secrets: frozenset[str] = frozenset()


def read_signature(
    function: Callable[..., Any], docstring: Docstring, scope: Scope, *, subject: str, unbound: bool = False
) -> Signature:
    """
    Read *function*; *subject* names it in errors, *unbound* leaves out its first parameter (`self`).

    Raises `DefinitionError` for what has no JSON form, `Unresolved` while a name is not defined yet.
    """
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise DefinitionError(
            f"{subject}: its signature cannot be read ({error}); wrap it in a function with annotated parameters"
        ) from None
    bound = _bound_keywords(function)
    parameters = [each for each in signature.parameters.values() if each.name not in bound]
    reading = _Reading(docstring, Reader(scope.module, scope.local()), subject)
    for parameter in parameters[1:] if unbound else parameters:
        reading.take(parameter)
    forbidden = reading.wanted.keys() | bound | _bound_positions(function, signature)
    codec = object_codec(
        reading.fields,
        dict,
        reading.encode,
        extras=reading.extras,
        forbidden=frozenset(forbidden - {field.name for field in reading.fields}),
        as_dict=True,
    )
    style = style_of(function)
    bind = _binder(parameters[1:] if unbound else parameters)
    output, output_schema = _read_output(signature.return_annotation, scope, style)
    return Signature(
        codec=codec,
        schema=assembled(codec.schema, reading.reader.definitions),
        output=output,
        output_schema=output_schema,
        wanted=reading.wanted,
        bind=bind,
        style=style,
        by_keyword=bind is _by_keyword,
        secrets=frozenset(reading.secrets),
    )


def _bound_keywords(function: Any) -> set[str]:
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= function.keywords.keys()
        function = function.func
    return names


def _bound_positions(function: Any, signature: inspect.Signature) -> set[str]:
    """The parameters that partials have bound by position."""
    if not isinstance(function, functools.partial):
        return set()
    while isinstance(function, functools.partial):
        function = function.func
    return set(inspect.signature(function).parameters) - set(signature.parameters)


class _Reading:
    """The fields gathered so far."""

    def __init__(self, docstring: Docstring, reader: Reader, subject: str) -> None:
        self.fields: list[Field] = []
        self.extras: Codec | None = None
        self.wanted: dict[str, Any] = {}
        self.secrets: set[str] = set()
        self.reader = reader
        self._texts = docstring.parameters
        self._subject = subject

    def take(self, parameter: Parameter) -> None:
        try:
            hint = parameter.annotation
            if isinstance(hint, str):
                hint = self.reader.resolve(hint)
            wanted = wanted_resource(hint)
            if wanted is not None:
                self.wanted[parameter.name] = wanted
            elif parameter.kind is Parameter.VAR_KEYWORD:
                self._take_keywords(hint)
            else:
                self.fields.append(self._field(parameter, Any if hint is Parameter.empty else hint))
        except Undescribable as error:
            raise DefinitionError(f"{self._subject}: parameter `{parameter.name}`: {error}") from error
        names = [field.name for field in self.fields]
        for name in {name for name in names if names.count(name) > 1}:
            raise DefinitionError(f"{self._subject}: two parameters are called `{name}`; rename one")

    def encode(self, values: Any) -> dict[str, Any]:
        """Decoded arguments back in their JSON form."""
        codecs = {field.name: field.codec for field in self.fields}
        made = {}
        for name, value in values.items():
            codec = codecs.get(name, self.extras)
            if codec is None:
                raise ValueError(f"`{name}` is not a parameter")
            made[name] = codec.encode(value)
        return made

    def _take_keywords(self, hint: Any) -> None:
        inner = get_args(hint)[0] if get_origin(hint) is Unpack else None
        if isinstance(inner, str):
            inner = self.reader.resolve(inner)
        if inner is not None and is_typeddict(get_origin(inner) or inner):
            fields, self.extras = typed_dict_fields(inner, self.reader)
            for field in fields:
                if text := self._texts.get(field.name):
                    field.described(text)
            self.fields += fields
        elif inner is not None:
            raise Undescribable(f"Unpack wants a TypedDict here, got {inner!r}")
        else:
            self.extras = self.reader.codec(Any if hint is Parameter.empty else hint)

    def _field(self, parameter: Parameter, hint: Any) -> Field:
        if is_secret(hint):
            self.secrets.add(parameter.name)
        codec = self.reader.codec(hint)
        default = MISSING if parameter.default is Parameter.empty else parameter.default
        factory = None
        if parameter.kind is Parameter.VAR_POSITIONAL:
            codec, default = self.reader.codec(list[hint]), MISSING
        notes = field_notes(default)
        if notes is not None:
            codec = annotated_codec(codec, [default])
        elif default is MISSING:
            notes = next(filter(None, map(field_notes, _metadata(hint))), None)
        if notes is not None:
            factory = notes.factory
            default = notes.default if notes.has_default and factory is None else MISSING
        optional = default is not MISSING or factory is not None or parameter.kind is Parameter.VAR_POSITIONAL
        if parameter.kind is Parameter.VAR_POSITIONAL:
            factory = list
        field = Field(name=parameter.name, codec=codec, required=not optional, default=default, factory=factory)
        return field.described(self._texts.get(parameter.name, ""))


def _metadata(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _by_keyword(values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    return [], values


def _binder(parameters: list[Parameter]) -> Callable[[dict[str, Any]], tuple[list[Any], dict[str, Any]]]:
    """How decoded arguments are passed on: by keyword, except where Python wants positions."""
    variadic = next((each.name for each in parameters if each.kind is Parameter.VAR_POSITIONAL), None)
    positional = [
        each.name
        for each in parameters
        if each.kind is Parameter.POSITIONAL_ONLY or (variadic and each.kind is Parameter.POSITIONAL_OR_KEYWORD)
    ]
    if not positional and variadic is None:
        return _by_keyword

    def bind(values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        rest = dict(values)
        args = [rest.pop(name) for name in positional]
        if variadic is not None:
            args += rest.pop(variadic)
        return args, rest

    return bind


def style_of(function: Callable[..., Any]) -> Style:
    """Whether *function* is sync or async, and whether it streams."""
    plain = underlying(function)
    if inspect.isasyncgenfunction(plain):
        return "async_generator"
    if inspect.iscoroutinefunction(plain):
        return "async"
    return "generator" if inspect.isgeneratorfunction(plain) else "sync"


_STREAMS = (Generator, Iterator, Iterable, AsyncGenerator, AsyncIterator, AsyncIterable)


def _read_output(annotation: Any, scope: Scope, style: Style) -> tuple[Codec | None, Schema | None]:
    """The codec of what comes back. A return annotation is a courtesy: what cannot be read is left out."""
    if annotation is inspect.Signature.empty:
        return None, None
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
    except (Undescribable, Unresolved):
        return None, None
    return codec, assembled(codec.schema, reader.definitions) if codec.schema else None
