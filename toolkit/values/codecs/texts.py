"""
Convert types that are written as text: dates and times, identifiers, paths, bytes, exact numbers.

The accepted forms are narrower than those of Python's parsers: there is one ISO form each for dates, times and
durations, so that a union can tell them apart.
"""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import os
import pathlib
import re
import uuid
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, get_args

from ..arrays import write_duration
from ..patterns import compile_pattern
from ..schemas.text_forms import TEXT_FORMS
from .base import Codec, CodecRules, HintReader, constant_factory, type_name
from .code_writer import CodeWriter
from .limits import write_pattern
from .ranks import CodecRank
from .refusals import Refusal, UnsendableType, build_type_error

__all__ = ["RULES"]


def _text_codec(
    kind: type,
    name: str,
    read: Callable[[str], Any] | None = None,
    *,
    write: Callable[[Any], str] = str,
    breadth: tuple[Any, ...] = (CodecRank.FORMATTED_TEXT,),
    checks_pattern: bool = True,
) -> Codec:
    """
    Return a codec for a class whose JSON form is a string of the form *name*.

    *read*, or the class itself, converts a text that the pattern of the form accepts, or raises `ValueError`. Nearly
    all such functions accept other texts too, so the pattern is searched first. Without *checks_pattern*, *read* has
    to refuse all other texts.
    """
    form, convert = TEXT_FORMS[name], read or kind

    def parse(text: str) -> Any:
        if checks_pattern and not form.matches(text):
            raise ValueError(text)
        # The pattern ends in `$`, which also matches before a newline at the end of the text.
        return convert(text if form.pattern is None else text.removesuffix("\n"))

    def decode(value: Any) -> Any:
        if not isinstance(value, str):
            raise Refusal.mismatch(form.expectation, value)
        try:
            return parse(value)
        except (ValueError, OverflowError):
            raise Refusal.mismatch(form.expectation, value) from None

    def encode(value: Any) -> str:
        if not isinstance(value, kind):
            raise build_type_error(value, kind.__name__)
        return write(value)

    def emit(writer: CodeWriter, value: str) -> str:
        writer.require_text(value)
        result = writer.new_name()
        writer.line(f"{result} = {writer.constant(parse)}({value})")
        return result

    return Codec(
        schema={"type": "string", **form.schema},
        decode=decode,
        encode=encode,
        type=kind,
        breadth=breadth,
        decisive=True,
        emit=emit,
    )


def _write_date(value: dt.date) -> str:
    if isinstance(value, dt.datetime):
        raise TypeError("expected date, got datetime")
    return value.isoformat()


def _write_datetime(value: dt.datetime) -> str:
    if value != value:  # noqa: PLR0124 -- only "not a time" of pandas, which is an instance of `datetime`, is unequal
        raise ValueError(f"{value} has no JSON form")
    return value.isoformat()


# The decimal context of the program may round to far fewer digits.
_EXACT = Context(prec=60)
_MICROSECONDS = {"W": 604_800_000_000, "D": 86_400_000_000, "H": 3_600_000_000, "M": 60_000_000, "S": 1_000_000}
_AMOUNTS = re.compile(r"([0-9]+)(\.[0-9]+)?([WDHMS])").findall
_MAX_DIGITS = 18


def _read_duration(text: str) -> dt.timedelta:
    total = Decimal()
    for whole, fraction, unit in _AMOUNTS(text):
        if len(whole) > _MAX_DIGITS and len(whole := whole.lstrip("0") or "0") > _MAX_DIGITS:
            raise OverflowError(text)
        # The digits that are cut off mean far less than a microsecond.
        total = _EXACT.fma(Decimal(whole + fraction[: _MAX_DIGITS + 1]), _MICROSECONDS[unit], total)
    return dt.timedelta(microseconds=round(total) * (-1 if text[0] == "-" else 1))


def _write_duration(value: dt.timedelta) -> str:
    return write_duration(value // dt.timedelta(microseconds=1), 1_000_000)


def _base64_codec(kind: type[bytes | bytearray]) -> Codec:
    def read(text: str) -> bytes | bytearray:
        # The pattern would take longer than the decoding, and the text may be long.
        if len(text) % 4 or text.endswith("==="):
            raise ValueError(text)
        return kind(base64.b64decode(text, validate=True))

    def write(value: bytes | bytearray) -> str:
        return base64.b64encode(value).decode("ascii")

    return _text_codec(kind, "base64", read, write=write, breadth=_CONVERTED, checks_pattern=False)


def _read_complex(text: str) -> complex:
    value = complex(text)
    if value - value != 0:
        raise OverflowError(text)
    return value


def _write_complex(value: complex) -> str:
    if value - value != 0:
        raise ValueError(f"{value} has no JSON form")
    return str(value)


def _parse_pattern(text: str) -> re.Pattern[str]:
    compile_pattern(text)
    return re.compile(text)


_MAX_EXPONENT = 999_999


def _parse_decimal(value: Any) -> Decimal:
    if isinstance(value, str) and TEXT_FORMS["decimal"].matches(value):
        return Decimal(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # The conversion goes through repr, because the model means 0.1, not 0.1000000000000000055.
        return Decimal(repr(value))
    raise Refusal.mismatch(TEXT_FORMS["decimal"].expectation, value)


def _encode_decimal(value: Any) -> str:
    if not isinstance(value, Decimal):
        raise build_type_error(value, "Decimal")
    if not value.is_finite():
        raise ValueError(f"{value} has no JSON form")
    if not -_MAX_EXPONENT <= value.adjusted() <= _MAX_EXPONENT:
        raise ValueError(f"the exponent of {value:.3g} is too long")
    return str(value)


def _emit_decimal(writer: CodeWriter, value: str) -> str:
    result = writer.new_name()
    with writer.block(f"if type({value}) is str:"):
        writer.require_text(value)
    with writer.block(f"elif type({value}) is float:"):
        writer.require(f"{value} - {value} == 0.0")
    with writer.block("else:"):
        writer.require(f"type({value}) is int and LOW < {value} < HIGH")
    writer.line(f"{result} = {writer.constant(_parse_decimal)}({value})")
    return result


DECIMAL = Codec(
    schema={"type": ["string", "number"], **TEXT_FORMS["decimal"].schema},
    decode=_parse_decimal,
    encode=_encode_decimal,
    type=Decimal,
    breadth=(CodecRank.DECIMAL,),
    emit=_emit_decimal,
)


_PATHS = (
    pathlib.Path,
    type(pathlib.Path()),  # the class that path objects really have, because an author may name it
    pathlib.PurePath,
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
)
_CONVERTED = (CodecRank.CONVERTED_TEXT,)
_AFTER_ADDRESSES = (CodecRank.FORMATTED_TEXT, 1)  # a network or an interface accepts the texts of addresses too
_AFTER_NETWORKS = (CodecRank.FORMATTED_TEXT, 2)

# A new form needs a strategy too: `testing/strategies/format_texts.py`.
_CODECS: dict[Any, Codec] = {
    dt.datetime: _text_codec(dt.datetime, "date-time", dt.datetime.fromisoformat, write=_write_datetime),
    dt.date: _text_codec(dt.date, "date", dt.date.fromisoformat, write=_write_date),
    dt.time: _text_codec(dt.time, "time", dt.time.fromisoformat, write=dt.time.isoformat),
    dt.timedelta: _text_codec(dt.timedelta, "duration", _read_duration, write=_write_duration),
    uuid.UUID: _text_codec(uuid.UUID, "uuid"),
    Decimal: DECIMAL,
    bytes: _base64_codec(bytes),
    bytearray: _base64_codec(bytearray),
    complex: _text_codec(complex, "complex", _read_complex, write=_write_complex, breadth=(CodecRank.COMPLEX,)),
    re.Pattern: _text_codec(re.Pattern, "regex", _parse_pattern, write=write_pattern, breadth=_CONVERTED),
    os.PathLike: _text_codec(pathlib.Path, "path", breadth=_CONVERTED),
    **{kind: _text_codec(kind, "path", breadth=_CONVERTED) for kind in _PATHS},
    ipaddress.IPv4Address: _text_codec(ipaddress.IPv4Address, "ipv4"),
    ipaddress.IPv6Address: _text_codec(ipaddress.IPv6Address, "ipv6"),
    ipaddress.IPv4Network: _text_codec(ipaddress.IPv4Network, "ipv4-network", breadth=_AFTER_ADDRESSES),
    ipaddress.IPv6Network: _text_codec(ipaddress.IPv6Network, "ipv6-network", breadth=_AFTER_ADDRESSES),
    ipaddress.IPv4Interface: _text_codec(ipaddress.IPv4Interface, "ipv4-interface", breadth=_AFTER_NETWORKS),
    ipaddress.IPv6Interface: _text_codec(ipaddress.IPv6Interface, "ipv6-interface", breadth=_AFTER_NETWORKS),
}


def _read_pattern(hint: Any, reader: HintReader) -> Codec:
    if get_args(hint) == (bytes,):
        raise UnsendableType(f"{type_name(hint)}: a model sends text, not bytes; use re.Pattern[str]")
    return _CODECS[re.Pattern]


RULES = CodecRules({**{kind: constant_factory(codec) for kind, codec in _CODECS.items()}, re.Pattern: _read_pattern})
