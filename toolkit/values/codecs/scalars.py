"""Convert types whose JSON form is one plain value: numbers, text, booleans, null and `Any`."""

from __future__ import annotations

from typing import Any

from ..strictjson.checks import INT_LIMIT, copied, flaws, is_plain
from .base import FORMS, Codec, Refusal, always
from .code_writer import Writer

__all__ = ["ANY", "FLOAT", "INTEGER", "NULL", "STRING", "TRUTH", "unexpected"]


def unexpected(value: Any, what: str) -> TypeError:
    """Return the exception that encoding raises for a value of another type."""
    return TypeError(f"expected {what}, got {type(value).__name__}")


def _decode_integer(value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refusal.expected("an integer", value)
    return value


def _encode_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise unexpected(value, "int")
    if not -INT_LIMIT < value < INT_LIMIT:
        raise ValueError("the number has too many digits")
    return int(value)


def _emit_integer(writer: Writer, value: str) -> str:
    writer.unless(f"type({value}) is int and LOW < {value} < HIGH")
    return value


def _decode_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refusal.expected("a number", value)
    try:
        return float(value)
    except OverflowError:
        raise Refusal.expected("a number that fits a float", value) from None


def _encode_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise unexpected(value, "float")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError("the number is too large for a float") from None
    if number - number != 0:
        raise ValueError(f"{value} has no JSON form")
    return number


def _emit_float(writer: Writer, value: str) -> str:
    with writer.block(f"if type({value}) is float:"):
        # This excludes NaN and the infinities, because x - x is not zero for them.
        writer.line(f"if {value} - {value} != 0.0: return U")
    writer.line(f"elif type({value}) is int: {value} = float({value})")
    writer.line("else: return U")
    return value


def _decode_text(value: Any) -> str:
    if not isinstance(value, str):
        raise Refusal.expected("a string", value)
    return value


def _encode_text(value: Any) -> str:
    if not isinstance(value, str):
        raise unexpected(value, "str")
    # `str(value)` would return the name for a member of a `str` enum.
    return str.__str__(value)


def _emit_text(writer: Writer, value: str) -> str:
    writer.text(value)
    return value


def _decode_truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refusal.expected("true or false", value)
    return value


def _encode_truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise unexpected(value, "bool")
    return value


def _emit_truth(writer: Writer, value: str) -> str:
    writer.unless(f"{value} is True or {value} is False")
    return value


def _decode_null(value: Any) -> None:
    if value is not None:
        raise Refusal.expected("null", value)


def _encode_null(value: Any) -> None:
    if value is not None:
        raise unexpected(value, "None")


def _emit_null(writer: Writer, value: str) -> str:
    writer.unless(f"{value} is None")
    return "None"


def _encode_any(value: Any) -> Any:
    problems = flaws(value)
    if problems:
        raise Refusal(*problems)
    return value


def _emit_any(writer: Writer, value: str) -> str:
    writer.unless(f"{writer.constant(is_plain)}({value}, {writer.level})")
    # The value is copied, so that a change by the function does not affect the next call with the same arguments.
    return f"{writer.constant(copied)}({value})"


NULL = Codec(
    schema={"type": "null"},
    decode=_decode_null,
    encode=_encode_null,
    type=type(None),
    breadth=(0,),
    decisive=True,
    emit=_emit_null,
)
TRUTH = Codec(
    schema={"type": "boolean"},
    decode=_decode_truth,
    encode=_encode_truth,
    type=bool,
    breadth=(2,),
    decisive=True,
    choices=(True, False),
    emit=_emit_truth,
)
INTEGER = Codec(
    schema={"type": "integer"},
    decode=_decode_integer,
    encode=_encode_integer,
    type=int,
    breadth=(3,),
    emit=_emit_integer,
)
FLOAT = Codec(
    schema={"type": "number"}, decode=_decode_float, encode=_encode_float, type=float, breadth=(4,), emit=_emit_float
)
STRING = Codec(
    schema={"type": "string"},
    decode=_decode_text,
    encode=_encode_text,
    type=str,
    breadth=(8,),
    decisive=True,
    emit=_emit_text,
)
ANY = Codec(schema={}, decode=copied, encode=_encode_any, breadth=(99,), emit=_emit_any)

FORMS.update(
    {
        str: always(STRING),
        int: always(INTEGER),
        float: always(FLOAT),
        bool: always(TRUTH),
        None: always(NULL),
        type(None): always(NULL),
        Any: always(ANY),
        object: always(ANY),
    }
)
