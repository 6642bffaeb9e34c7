"""Read hints that stand for another hint: forward references, aliases, type variables, qualifiers."""

from __future__ import annotations

import dataclasses
import typing
from collections import abc
from typing import Any, Final, ForwardRef, LiteralString, Never, NewType, NoReturn, Self, TypeVar, get_args, get_origin

import typing_extensions

from .base import (
    Codec,
    CodecRules,
    HintReader,
    NoJsonForm,
    Schema,
    Undescribable,
    Unresolved,
    constant_factory,
    type_name,
)
from .scalars import STRING
from .type_checking_names import MissingName, module_names
from .unions import read_members, union_codec

__all__ = ["QUALIFIERS", "RULES", "substitute_variables"]

_ALIAS_TYPES = tuple(
    {typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType)}
)

QUALIFIERS = frozenset(
    {
        Final,
        typing.ClassVar,
        typing.Required,
        typing.NotRequired,
        typing_extensions.Required,
        typing_extensions.NotRequired,
        typing_extensions.ReadOnly,
    }
)
"""The forms that may surround the type of a field without changing its values."""


def substitute_variables(hint: Any, variables: abc.Mapping[Any, Any]) -> Any:
    """Return *hint* with each type variable replaced by the type that it stands for."""
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if not variables or not parameters or (isinstance(hint, type) and not get_args(hint)):
        return hint
    return hint[tuple(variables.get(parameter, parameter) for parameter in parameters)]


def _read_forward_reference(hint: Any, reader: HintReader) -> Codec:
    return reader.codec(reader.resolve(hint))


def _read_missing_name(hint: Any, reader: HintReader) -> Codec:
    raise NoJsonForm(f"{type_name(hint)} is not known ({hint.reason})", is_unknown=True)


def _read_qualified(hint: Any, reader: HintReader) -> Codec:
    arguments = get_args(hint)
    return reader.codec(arguments[0] if arguments else Any)


def _read_init_var(hint: Any, reader: HintReader) -> Codec:
    return reader.codec(hint.type)


def _read_new_type(hint: Any, reader: HintReader) -> Codec:
    return reader.codec(hint.__supertype__)


def _read_type_variable(hint: Any, reader: HintReader) -> Codec:
    if hint in reader.variables:
        return reader.codec(reader.variables[hint])
    default = getattr(hint, "__default__", typing_extensions.NoDefault)
    if default is not typing_extensions.NoDefault:
        return reader.codec(default)
    if hint.__constraints__:
        return union_codec(read_members(hint, hint.__constraints__, reader), reader)
    return reader.codec(Any if hint.__bound__ is None else hint.__bound__)


def _read_alias(hint: Any, reader: HintReader) -> Codec:
    alias = get_origin(hint) or hint
    arguments = tuple(substitute_variables(argument, reader.variables) for argument in get_args(hint))
    variables = dict(zip(alias.__type_params__, arguments, strict=False))

    def make() -> Codec:
        try:
            value = alias.__value__
        except NameError as error:
            raise Unresolved(error.name or str(alias)) from error
        with reader.in_scope(module_names(alias.__module__), variables=variables):
            return reader.codec(value)

    codec = reader.define_codec((alias, arguments), alias.__name__, make, inline=True)
    reference = codec.schema.get("$ref")
    if reference is not None and _refers_at_top(reference, reader.schema_of(codec)):
        raise Undescribable(f"{alias.__name__} stands for itself; say what it may hold")
    return codec


def _refers_at_top(reference: str, schema: Schema) -> bool:
    """Return whether *schema* refers to *reference* without going deeper into the value."""
    return schema.get("$ref") == reference or any(
        _refers_at_top(reference, member) for member in schema.get("anyOf", ())
    )


def _read_self(hint: Any, reader: HintReader) -> Codec:
    if hint not in reader.variables:
        raise Undescribable("Self means nothing outside a class; name the class")
    return reader.codec(reader.variables[hint])


def _refuse_hint(reason: str, remedy: str) -> typing.Callable[[Any, HintReader], Codec]:
    def factory(hint: Any, reader: HintReader) -> Codec:
        raise NoJsonForm(f"{type_name(hint)} has no JSON form: {reason}", remedy)

    return factory


_FUNCTION = _refuse_hint("a model cannot send a function", "take a Literal of names, or `Inject[...]` it")
_STREAM = _refuse_hint("a model sends a whole value", "use a list, or Iterable, which is given a list")
_NOTHING = _refuse_hint("no value has this type", "leave the parameter out")


def _read_hashable(hint: Any, reader: HintReader) -> Codec:
    return reader.codec(str | int | float | bool | None)


_CLASS = _refuse_hint("a model cannot send a class", "take a Literal of names")

RULES = CodecRules(
    {
        **dict.fromkeys(QUALIFIERS, _read_qualified),
        dataclasses.InitVar: _read_qualified,
        Self: _read_self,
        LiteralString: constant_factory(STRING),
        typing_extensions.LiteralString: constant_factory(STRING),
        abc.Callable: _FUNCTION,
        abc.Iterator: _STREAM,
        abc.Generator: _STREAM,
        abc.AsyncIterator: _STREAM,
        abc.AsyncIterable: _STREAM,
        abc.AsyncGenerator: _STREAM,
        abc.Awaitable: _STREAM,
        abc.Coroutine: _STREAM,
        Never: _NOTHING,
        NoReturn: _NOTHING,
        type: _CLASS,
        abc.Hashable: _read_hashable,
    },
    [
        (lambda hint: isinstance(hint, (str, ForwardRef)), _read_forward_reference),
        (lambda hint: isinstance(hint, MissingName), _read_missing_name),
        (lambda hint: isinstance(hint, TypeVar), _read_type_variable),
        (lambda hint: isinstance(hint, NewType), _read_new_type),
        (lambda hint: isinstance(hint, dataclasses.InitVar), _read_init_var),
        (lambda hint: isinstance(get_origin(hint) or hint, _ALIAS_TYPES), _read_alias),
    ],
)
