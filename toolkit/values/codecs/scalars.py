"""Convert types whose JSON form is one plain value: numbers, text, booleans, null and `Any`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..strictjson.checks import INT_LIMIT, copy_json, find_flaws, is_plain_json
from .base import Codec, CodecRules, Schema, constant_factory
from .code_writer import CodeWriter, InlineEncode, emit_plain_copy
from .ranks import CodecRank
from .refusals import Refusal, build_type_error

__all__ = ["ANY", "BOOLEAN", "FLOAT", "INTEGER", "NULL", "RULES", "STRING"]


def _decode_integer(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refusal.mismatch("an integer", value)
    return value


def _encode_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise build_type_error(value, "int")
    if not -INT_LIMIT < value < INT_LIMIT:
        raise ValueError("the number has too many digits")
    return int(value)


def _emit_integer(writer: CodeWriter, value: str) -> str:
    writer.require(f"type({value}) is int and LOW < {value} < HIGH")
    return value


def _decode_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refusal.mismatch("a number", value)
    try:
        return float(value)
    except OverflowError:
        raise Refusal.mismatch("a number that fits a float", value) from None


def _encode_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise build_type_error(value, "float")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("the number is too large for a float") from None
    if number - number != 0:
        raise ValueError(f"{value} has no JSON form")
    return number


def _emit_float(writer: CodeWriter, value: str) -> str:
    with writer.block(f"if type({value}) is float:"):
        # This excludes NaN and the infinities, because x - x is not zero for them.
        writer.line(f"if {value} - {value} != 0.0: return U")
    writer.line(f"elif type({value}) is int: {value} = float({value})")
    writer.line("else: return U")
    return value


def _take_bool_as_number(value: Any) -> Any:
    return int(value) if value.__class__ is bool else value


def _encode_any(value: Any) -> Any:
    problems = find_flaws(value)
    if problems:
        raise Refusal(*problems)
    return value


def _emit_any(writer: CodeWriter, value: str) -> str:
    writer.require(f"{writer.constant(is_plain_json)}({value}, {writer.depth_expression})")
    # The value is copied, so that a change by the function does not affect the next call with the same arguments.
    return f"{writer.constant(copy_json)}({value})"


def _emit_any_encoding(writer: CodeWriter, value: str) -> str:
    """Write one branch for each type of a plain value, because most values of type `Any` are plain."""
    result, kind = writer.new_name(), writer.new_name()
    writer.line(f"{kind} = type({value})")
    writer.line(f"{result} = {value}")
    with writer.block(f"if {kind} is str:"):
        writer.require_sendable(value)
    with writer.block(f"elif {kind} is int:"):
        writer.require(f"LOW < {value} < HIGH")
    with writer.block(f"elif {kind} is float:"):
        writer.require(f"{value} - {value} == 0.0")
    with writer.block(f"elif {kind} is not bool and {value} is not None:"):
        emit_plain_copy(writer, result)
    return result


def _exact_codec(
    schema: Schema,
    kind: type,
    expectation: str,
    rank: CodecRank,
    check: Callable[[CodeWriter, str], None],
    *,
    choices: tuple[Any, ...] | None = None,
) -> Codec:
    """Return the codec of a class whose objects are their own JSON form. *check* writes the check of one object."""

    def decode(value: Any) -> Any:
        if not isinstance(value, kind):
            raise Refusal.mismatch(expectation, value)
        return value

    def encode(value: Any) -> Any:
        if not isinstance(value, kind):
            raise build_type_error(value, "None" if kind is type(None) else kind.__name__)
        # `str(value)` would return the name for a member of a `str` enum.
        return str.__str__(value) if kind is str else value

    def emit(writer: CodeWriter, value: str) -> str:
        check(writer, value)
        return value

    return Codec(
        schema=schema,
        decode=decode,
        encode=InlineEncode(encode, emit),
        type=kind,
        breadth=(rank,),
        decisive=True,
        choices=choices,
        emit=emit,
    )


NULL = _exact_codec(
    {"type": "null"},
    type(None),
    "null",
    CodecRank.NULL,
    lambda writer, value: writer.require(f"{value} is None"),
)
BOOLEAN = _exact_codec(
    {"type": "boolean"},
    bool,
    "true or false",
    CodecRank.BOOLEAN,
    lambda writer, value: writer.require(f"{value} is True or {value} is False"),
    choices=(True, False),
)
STRING = _exact_codec({"type": "string"}, str, "a string", CodecRank.TEXT, CodeWriter.require_text)
INTEGER = Codec(
    schema={"type": "integer"},
    decode=_decode_integer,
    encode=_encode_integer,
    type=int,
    breadth=(CodecRank.INTEGER,),
    emit=_emit_integer,
)
FLOAT = Codec(
    schema={"type": "number"},
    decode=_decode_float,
    encode=_encode_float,
    type=float,
    breadth=(CodecRank.NUMBER,),
    emit=_emit_float,
)
# In Python a bool is a number too, so a tool that returns True where it says `int` is right. As an argument, and as a
# default that a model is shown, true is no number.
OUTPUT_INTEGER = replace(
    INTEGER, encode=InlineEncode(lambda value: _encode_integer(_take_bool_as_number(value)), _emit_integer)
)
OUTPUT_FLOAT = replace(
    FLOAT, encode=InlineEncode(lambda value: _encode_float(_take_bool_as_number(value)), _emit_float)
)
ANY = Codec(
    schema={},
    decode=copy_json,
    encode=InlineEncode(_encode_any, _emit_any_encoding),
    breadth=(CodecRank.ANY,),
    emit=_emit_any,
)

RULES = CodecRules(
    {
        str: constant_factory(STRING),
        int: lambda hint, reader: OUTPUT_INTEGER if reader.for_output else INTEGER,
        float: lambda hint, reader: OUTPUT_FLOAT if reader.for_output else FLOAT,
        bool: constant_factory(BOOLEAN),
        None: constant_factory(NULL),
        type(None): constant_factory(NULL),
        Any: constant_factory(ANY),
        object: constant_factory(ANY),
    }
)
