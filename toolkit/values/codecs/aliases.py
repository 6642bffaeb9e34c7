"""Read hints that stand for another hint: forward references, aliases, type variables, qualifiers."""

from __future__ import annotations

import dataclasses
import typing
from collections import abc
from typing import Any, Final, ForwardRef, LiteralString, Never, NewType, NoReturn, Self, TypeVar, get_args, get_origin

import typing_extensions

from .base import Codec, CodecRules, HintReader, Schema, constant_factory, type_name
from .refusals import Undescribable, Unresolved, UnsendableType
from .scalars import STRING
from .type_checking_names import MissingName, module_names

__all__ = ["QUALIFIERS", "RULES", "close_hint", "substitute_variables", "widest_type"]

_ALIAS_TYPES = tuple(
    {typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType)}
)

QUALIFIERS = frozenset({Final, typing.ClassVar, typing.Required, typing.NotRequired, typing_extensions.ReadOnly})
"""The forms that may surround the type of a field without changing its values."""


def substitute_variables(hint: Any, variables: abc.Mapping[Any, Any]) -> Any:
    """Return *hint* with each type variable replaced by the type that it stands for."""
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if not variables or not parameters or (isinstance(hint, type) and not get_args(hint)):
        return hint
    return hint[tuple(variables.get(parameter, parameter) for parameter in parameters)]


def close_hint(hint: Any, variables: abc.Mapping[Any, Any]) -> Any:
    """Return *hint* without type variables. One that is not in *variables* is replaced by what it may be at most."""
    free = [hint] if isinstance(hint, TypeVar) else getattr(hint, "__parameters__", ())
    defaults = {variable: widest_type(variable) for variable in free if isinstance(variable, TypeVar)}
    return substitute_variables(hint, {**defaults, **variables})


def widest_type(variable: TypeVar) -> Any:
    """
    Return the type that *variable* stands for if nothing else is known: its default, its bound, or anything.

    A bound with a forward reference has a meaning only where it was written, so then the variable itself is returned.
    """
    default = getattr(variable, "__default__", typing_extensions.NoDefault)
    if default is not typing_extensions.NoDefault:
        return default
    if variable.__constraints__:
        return typing.Union[variable.__constraints__]  # noqa: UP007 -- `|` takes no tuple
    bound = variable.__bound__
    return variable if isinstance(bound, (str, ForwardRef)) else Any if bound is None else bound


def _read_missing_name(hint: Any, reader: HintReader) -> Codec:
    raise UnsendableType(f"{type_name(hint)} is not known ({hint.reason})", is_unknown=True)


def _read_qualified(hint: Any, reader: HintReader) -> Codec:
    return reader.codec(next(iter(get_args(hint)), Any))


def _read_type_variable(hint: Any, reader: HintReader) -> Codec:
    meaning = reader.variables.get(hint, hint)
    if meaning is hint:
        meaning = widest_type(hint)
    return reader.codec(hint.__bound__ if meaning is hint else meaning)


def _read_alias(hint: Any, reader: HintReader) -> Codec:
    alias = get_origin(hint) or hint
    arguments = tuple(close_hint(argument, reader.variables) for argument in get_args(hint))
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
        raise UnsendableType(f"{type_name(hint)} has no JSON form: {reason}", remedy, hint=hint)

    return factory


_FUNCTION = _refuse_hint("a model cannot send a function", "take a Literal of names, or `Inject[...]` it")
_STREAM = _refuse_hint("a model sends a whole value", "use a list, or Iterable, which is given a list")
_NOTHING = _refuse_hint("no value has this type", "leave the parameter out")
_CLASS = _refuse_hint("a model cannot send a class", "take a Literal of names")
_UNPACKED = _refuse_hint("it is for `*args` and `**kwargs`", "write the tuple or the TypedDict itself")


RULES = CodecRules(
    {
        **dict.fromkeys(QUALIFIERS, _read_qualified),
        dataclasses.InitVar: _read_qualified,
        Self: _read_self,
        LiteralString: constant_factory(STRING),
        abc.Callable: _FUNCTION,
        **dict.fromkeys((abc.Iterator, abc.Generator, abc.Awaitable, abc.Coroutine), _STREAM),
        **dict.fromkeys((abc.AsyncIterator, abc.AsyncIterable, abc.AsyncGenerator), _STREAM),
        Never: _NOTHING,
        NoReturn: _NOTHING,
        type: _CLASS,
        typing.Unpack: _UNPACKED,
        typing_extensions.Unpack: _UNPACKED,
        abc.Hashable: lambda hint, reader: reader.codec(str | int | float | bool | None),
    },
    [
        (lambda hint: isinstance(hint, (str, ForwardRef)), lambda hint, reader: reader.codec(reader.resolve(hint))),
        (lambda hint: isinstance(hint, MissingName), _read_missing_name),
        (lambda hint: isinstance(hint, TypeVar), _read_type_variable),
        (lambda hint: isinstance(hint, NewType), lambda hint, reader: reader.codec(hint.__supertype__)),
        (lambda hint: isinstance(hint, dataclasses.InitVar), lambda hint, reader: reader.codec(hint.type)),
        (lambda hint: isinstance(get_origin(hint) or hint, _ALIAS_TYPES), _read_alias),
    ],
)
