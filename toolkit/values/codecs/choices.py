"""
Convert one of a few constants: `Literal`, enums, flags.

Constants are compared as JSON compares them, so `1`, `true` and `"1"` are three values. An enum member is sent as its
value, not as its name.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Sequence
from typing import Any, Literal, get_args

import typing_extensions

from ..strictjson.checks import show_value
from .base import (
    Codec,
    CodecRules,
    HintReader,
    NoJsonForm,
    Refusal,
    Schema,
    Undescribable,
    join_with_or,
    type_name,
)
from .code_writer import CodeWriter
from .ranks import CodecRank

__all__ = ["RULES", "constants_codec"]

_JSON_TYPE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def constants_codec(pairs: Sequence[tuple[Any, Any]], *, kind: type | None = None) -> Codec:
    """Return a codec for a finite set of (JSON form, Python value) pairs."""
    forms = [form for form, _ in pairs]
    decoding = {_json_key(form): value for form, value in pairs}
    encoding = {_python_key(value): form for form, value in pairs}
    expected = join_with_or([show_value(form) for form in forms[:12]] + (["..."] if len(forms) > 12 else []))
    only_text = all(type(form) is str for form in forms)

    def decode(value: Any) -> Any:
        if isinstance(value, (str, int, float)) or value is None:
            key = _json_key(value)
            if key in decoding:
                return decoding[key]
        raise Refusal.mismatch(expected, value)

    def encode(value: Any) -> Any:
        try:
            return encoding[_python_key(value)]
        except KeyError:
            raise ValueError(f"{value!r} is not one of the choices") from None

    def emit(writer: CodeWriter, value: str) -> str:
        table = writer.constant(dict(pairs) if only_text else decoding)
        writer.require(f"type({value}) is str" if only_text else f"type({value}) in {writer.constant(_EXACT)}")
        result = writer.new_name()
        key = value if only_text else f"({value}.__class__ is bool, {value})"
        writer.line(f"{result} = {table}.get({key}, U)")
        writer.line(f"if {result} is U: return U")
        return result

    return Codec(
        schema=_constants_schema(forms),
        decode=decode,
        encode=encode,
        type=kind,
        breadth=(CodecRank.CONSTANTS,),
        decisive=only_text,
        choices=tuple(forms),
        emit=emit,
    )


_EXACT = frozenset({str, int, float, bool, type(None)})


def _json_key(form: Any) -> tuple[bool, Any]:
    # In Python, 1, 1.0 and True are the same key. In JSON, only the first two are equal.
    return type(form) is bool, form


def _python_key(value: Any) -> tuple[type, Any]:
    # The name is used, because an enum with its own `__eq__` may have members that cannot be hashed.
    return type(value), value.name if isinstance(value, enum.Enum) else value


def _constants_schema(forms: Sequence[Any]) -> Schema:
    kinds = {_JSON_TYPE[type(form)] for form in forms}
    if len(kinds) > 1:
        return {"enum": list(forms)}
    if len(forms) == 1:
        return {"type": kinds.pop(), "const": forms[0]} if forms[0] is not None else {"type": "null"}
    return {"type": kinds.pop(), "enum": list(forms)}


def _read_literal(hint: Any, reader: HintReader) -> Codec:
    pairs: list[tuple[Any, Any]] = []
    if not get_args(hint):
        raise Undescribable("Literal alone has no choices; write them in brackets")
    for value in get_args(hint):
        if isinstance(value, enum.Enum):
            form = _enum_form(type(value), value, reader)
        elif type(value) not in _JSON_TYPE:
            raise NoJsonForm(
                f"{type_name(hint)} holds {type_name(type(value))}, which has no JSON form of its own; "
                f"use strings, numbers, booleans, None or members of an enum"
            )
        else:
            form = value
        if all(_json_key(form) != _json_key(other) for other, _ in pairs):
            pairs.append((form, value))
    return constants_codec(pairs)


def _read_enum(hint: Any, reader: HintReader) -> Codec:
    pairs: list[tuple[Any, Any]] = []
    for member in hint:
        form = _enum_form(hint, member, reader)
        twin = next((other for other_form, other in pairs if _json_key(other_form) == _json_key(form)), None)
        if twin is not None:
            raise NoJsonForm(f"{twin} and {member} look the same in JSON, {show_value(form)}; give one another value")
        pairs.append((form, member))
    if not pairs:
        raise Undescribable(f"the enum {type_name(hint)} has no members; give it some")
    return constants_codec(pairs, kind=hint)


def _enum_form(kind: type[enum.Enum], member: enum.Enum, reader: HintReader) -> Any:
    value = member.value
    if type(value) in _JSON_TYPE:
        if isinstance(value, float) and value - value != 0:
            raise NoJsonForm(f"{kind.__qualname__}.{member.name} is {value}, which has no JSON form")
        return value
    try:
        form = reader.codec(type(value)).encode(value)
    except Exception:  # noqa: BLE001 -- a registered codec is the user's code; the remedy is the same
        form = value
    if type(form) not in _JSON_TYPE:
        raise NoJsonForm(
            f"{kind.__qualname__}.{member.name} has the value {value!r}; a model can send strings, numbers, "
            f"booleans and null, so give the member one of these as its value"
        )
    return form


def _read_flag(hint: Any, reader: HintReader) -> Codec:
    # Aliases are left out, unless no bit has its own name.
    members = list(hint) or list(hint.__members__.values())
    if not members:
        raise Undescribable(f"the enum {type_name(hint)} has no members; give it some")
    mask = functools.reduce(operator.or_, (member.value for member in hint.__members__.values()))
    names = ", ".join(f"{member.value} {member.name}" for member in members)

    def decode(value: Any) -> Any:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value & ~mask:
            raise Refusal.mismatch(f"a sum of {names}", value)
        return hint(value)

    def encode(value: Any) -> int:
        if not isinstance(value, hint) or value.value & ~mask:
            raise ValueError(f"{value!r} is not a combination of {type_name(hint)}")
        return int(value.value)

    def emit(writer: CodeWriter, value: str) -> str:
        writer.require(f"type({value}) is int and not {value} & {~mask}")
        result = writer.new_name()
        writer.line(f"{result} = {writer.constant(hint)}({value})")
        return result

    schema = {"type": "integer", "minimum": 0, "maximum": mask, "description": f"A sum of: {names}."}
    return Codec(schema=schema, decode=decode, encode=encode, type=hint, breadth=(CodecRank.FLAGS,), emit=emit)


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, enum.Enum)


def _is_flag(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, enum.Flag)


RULES = CodecRules(
    {Literal: _read_literal, typing_extensions.Literal: _read_literal},
    [(_is_flag, _read_flag), (_is_enum, _read_enum)],
)
