"""
Convert classes with named fields: dataclasses, named tuples, attrs classes.

All of them are JSON objects. Each kind of class is read into a list of `Field`s. An exception that the constructor of
the class raises is a problem of the call.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import is_dataclass, replace
from typing import Any, get_origin

from .base import KINDS, Codec, Reader, Undescribable
from .class_hints import Hints, class_description, definition_name, field_texts, identity
from .objects import MISSING, Field, object_codec

__all__: list[str] = []


def _record(hint: Any, reader: Reader, fields_of: Callable[[Hints], list[Field]]) -> Codec:
    """Return a codec for a class that takes its fields as keyword arguments and keeps them as attributes."""
    cls: Any = get_origin(hint) or hint
    fields: list[Field] = []

    def encode(value: Any) -> dict[str, Any]:
        if not isinstance(value, cls):
            raise TypeError(f"expected {cls.__name__}, got {type(value).__name__}")
        return {
            field.name: field.codec.encode(getattr(value, field.attribute))
            for field in fields
            if field.attribute is not None
        }

    def make() -> Codec:
        fields.extend(fields_of(Hints(hint, reader)))
        texts = field_texts(cls)
        for field in fields:
            field.described(texts.get(field.attribute or field.name, "") or texts.get(field.name, ""))
        hashable = cls.__hash__ is not None
        if cls.__hash__ is tuple.__hash__:
            hashable = all(field.codec.hashable for field in fields)
        codec = object_codec(fields, cls, encode, kind=cls, hashable=hashable)
        if description := class_description(cls).description:
            codec.schema["description"] = description
        return codec

    return reader.named(identity(hint, reader), definition_name(hint, reader), make)


# Dataclasses.


def _dataclass(hint: Any, reader: Reader) -> Codec:
    return _record(hint, reader, _dataclass_fields)


def _dataclass_fields(hints: Hints) -> list[Field]:
    declared = hints.cls.__dataclass_fields__
    taken = [each for each in declared.values() if each.init and _field_kind(each) != "_FIELD_CLASSVAR"]
    code = getattr(hints.cls.__init__, "__code__", None)
    parameters = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
    if list(parameters) != [each.name for each in sorted(taken, key=lambda each: bool(each.kw_only))]:
        return [_parameter_field(hints, each) for each in inspect.signature(hints.cls).parameters.values()]
    fields = []
    for each in taken:
        field = Field(
            name=each.name,
            codec=hints.codec(each.name),
            required=each.default is NO_DEFAULT and each.default_factory is NO_DEFAULT,
            default=MISSING if each.default is NO_DEFAULT else each.default,
            factory=None if each.default_factory is NO_DEFAULT else each.default_factory,
            attribute=each.name if _field_kind(each) == "_FIELD" else None,
            positional=not each.kw_only,
        )
        fields.append(_with_description(field, each.metadata.get("description")))
    return fields


def _parameter_field(hints: Hints, parameter: inspect.Parameter) -> Field:
    """
    Return the field for a parameter of a constructor that its author wrote by hand.

    If the parameter has no annotation, the class's field with the same name supplies it.
    """
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise Undescribable(f"{hints.cls.__name__}: its __init__ takes `{parameter}`; take plain parameters")
    name = parameter.name
    return Field(
        name=name,
        codec=hints.codec(name, MISSING if parameter.annotation is parameter.empty else parameter.annotation),
        required=parameter.default is parameter.empty,
        default=MISSING if parameter.default is parameter.empty else parameter.default,
        attribute=name if name in hints.cls.__dataclass_fields__ else None,
    )


def _field_kind(field: Any) -> str:
    # Only this attribute tells InitVar and ClassVar pseudo-fields from real fields.
    return str(field._field_type.name)  # noqa: SLF001


def _with_description(field: Field, text: Any) -> Field:
    if isinstance(text, str) and text and not field.codec.description:
        schema = {**field.codec.schema, "description": text}
        field.codec = replace(field.codec, schema=schema, description=text, members=())
    return field


# Named tuples.


def _named_tuple(hint: Any, reader: Reader) -> Codec:
    return _record(hint, reader, _named_tuple_fields)


def _named_tuple_fields(hints: Hints) -> list[Field]:
    defaults = hints.cls._field_defaults
    return [
        Field(
            name=name,
            codec=hints.codec(name),
            required=name not in defaults,
            default=defaults.get(name, MISSING),
            attribute=name,
            positional=hints.cls.__new__.__code__.co_filename.startswith("<"),
        )
        for name in hints.cls._fields
    ]


# attrs.


def _attrs(hint: Any, reader: Reader) -> Codec:
    return _record(hint, reader, _attrs_fields)


def _attrs_fields(hints: Hints) -> list[Field]:
    attr = sys.modules["attr"]
    fields = []
    for each in hints.cls.__attrs_attrs__:
        if not each.init:
            continue
        made = isinstance(each.default, attr.Factory)
        known = each.default is not attr.NOTHING and not made
        field = Field(
            name=each.alias,
            codec=hints.codec(each.name, Any if each.type is None else each.type),
            required=each.default is attr.NOTHING,
            # A factory that takes the unfinished object must be left to the constructor.
            default=each.default if known else MISSING,
            factory=each.default.factory if made and not each.default.takes_self else None,
            attribute=each.name,
        )
        fields.append(_with_description(field, (each.metadata or {}).get("description")))
    return fields


def _is_record(question: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def recognises(hint: Any) -> bool:
        cls = get_origin(hint) or hint
        return isinstance(cls, type) and question(cls)

    return recognises


KINDS += [
    (_is_record(is_dataclass), _dataclass),
    (_is_record(lambda cls: issubclass(cls, tuple) and hasattr(cls, "_fields")), _named_tuple),
    (_is_record(lambda cls: hasattr(cls, "__attrs_attrs__")), _attrs),
]
