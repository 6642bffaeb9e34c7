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

from ..patterns import compile_pattern
from .base import Codec, CodecRules, HintReader, NoJsonForm, Refusal, Schema, constant_factory, type_name
from .code_writer import CodeWriter
from .ranks import CodecRank
from .scalars import build_type_error

__all__ = ["RULES", "text_codec", "write_pattern"]


def text_codec(
    kind: type,
    parse: Callable[[str], Any],
    *,
    example: str,
    write: Callable[[Any], str] = str,
    schema: Schema,
    rank: CodecRank = CodecRank.FORMATTED_TEXT,
) -> Codec:
    """
    Return a codec for a class whose JSON form is a string.

    *parse* must raise `ValueError` for text that it does not know.
    """
    expected = f"{schema.get('format', kind.__name__).replace('-', ' ')} such as {example}"

    def decode(value: Any) -> Any:
        if not isinstance(value, str):
            raise Refusal.mismatch(expected, value)
        try:
            return parse(value)
        except (ValueError, OverflowError):
            raise Refusal.mismatch(expected, value) from None

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
        schema={"type": "string", **schema},
        decode=decode,
        encode=encode,
        type=kind,
        breadth=(rank,),
        decisive=True,
        emit=emit,
    )


def _parse_date(text: str) -> dt.date:
    # fromisoformat also accepts 20240501 and 2024-W18-3, and any Unicode digits.
    if len(text) != 10 or text[4] != "-" or text[7] != "-" or not text.isascii():
        raise ValueError(text)
    return dt.date.fromisoformat(text)


def _write_date(value: dt.date) -> str:
    if isinstance(value, dt.datetime):
        raise TypeError("expected date, got datetime")
    return value.isoformat()


def _parse_datetime(text: str) -> dt.datetime:
    if text[10:11] not in ("T", "t", " ") or not text.isascii():
        raise ValueError(text)
    _parse_date(text[:10])
    return dt.datetime.fromisoformat(text)


def _parse_time(text: str) -> dt.time:
    if text[2:3] != ":" or not text.isascii():
        raise ValueError(text)
    return dt.time.fromisoformat(text)


_NUMBER = r"(\d{1,18}(?:\.\d{1,18})?)"
_DURATION = re.compile(
    rf"([+-]?)P(?=[\dT])(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.ASCII,
)
# The decimal context of the program may round to far fewer digits.
_EXACT = Context(prec=60)
_MICROSECONDS = (604_800_000_000, 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000)


def _parse_duration(text: str) -> dt.timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(text)
    sign, *amounts = match.groups(default="0")
    total = Decimal()
    for amount, unit in zip(amounts, _MICROSECONDS, strict=True):
        total = _EXACT.fma(Decimal(amount), unit, total)
    return dt.timedelta(microseconds=round(total) * (-1 if sign == "-" else 1))


def _write_duration(value: dt.timedelta) -> str:
    sign, value = ("-", -value) if value < dt.timedelta() else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06d}".rstrip("0") if value.microseconds else ""
    days = f"{value.days}D" if value.days else ""
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""]
    parts.append(f"{seconds}{fraction}S" if seconds or fraction else "")
    clock = "".join(parts)
    return f"{sign}P{days}{'T' + clock if clock else '' if days else 'T0S'}"


_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _parse_uuid(text: str) -> uuid.UUID:
    if _UUID.fullmatch(text) is None:
        raise ValueError(text)
    return uuid.UUID(text)


def _parse_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _write_base64(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode("ascii")


def _parse_complex(text: str) -> complex:
    value = complex(text)
    if value - value != 0 or not text.isascii():
        raise ValueError(text)
    return value


def _write_complex(value: complex) -> str:
    if value - value != 0:
        raise ValueError(f"{value} has no JSON form")
    return str(value)


def _parse_pattern(text: str) -> re.Pattern[str]:
    compile_pattern(text)
    return re.compile(text)


def write_pattern(value: re.Pattern[Any]) -> str:
    """Return the text that compiles to *value*, with its flags at the start."""
    if not isinstance(value.pattern, str):
        raise TypeError("expected a pattern for str, got one for bytes")
    if re.compile(value.pattern).flags == value.flags:
        return value.pattern
    letters = "".join(letter for letter, flag in _FLAGS if value.flags & flag)
    return (f"(?{letters})" if letters else "") + _OWN_FLAGS.sub("", value.pattern)


_OWN_FLAGS = re.compile(r"\A\(\?[aimsux]+\)")
_FLAGS = [("a", re.ASCII), ("i", re.IGNORECASE), ("m", re.MULTILINE), ("s", re.DOTALL), ("x", re.VERBOSE)]

_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,6})?", re.ASCII)


def _parse_decimal(value: Any) -> Decimal:
    if isinstance(value, str) and _DECIMAL.fullmatch(value) is not None:
        return Decimal(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # The conversion goes through repr, because the model means 0.1, not 0.1000000000000000055.
        return Decimal(repr(value))
    raise Refusal.mismatch('a decimal number such as "12.50"', value)


def _encode_decimal(value: Any) -> str:
    if not isinstance(value, Decimal):
        raise build_type_error(value, "Decimal")
    if not value.is_finite():
        raise ValueError(f"{value} has no JSON form")
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
    schema={"type": ["string", "number"], "format": "decimal"},
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


def _path_codec(kind: type[pathlib.PurePath]) -> Codec:
    return text_codec(kind, kind, schema={"format": "path"}, example='"notes/today.txt"', rank=CodecRank.TEXT)


def _address_codec(kind: type, form: str, example: str) -> Codec:
    return text_codec(kind, kind, schema={"format": form}, example=f'"{example}"')


# A new form needs a strategy too: `testing/strategies/format_texts.py`.
_CODECS: dict[Any, Codec] = {
    dt.datetime: text_codec(
        dt.datetime,
        _parse_datetime,
        schema={"format": "date-time"},
        example='"2024-05-01T12:30:00Z"',
        write=dt.datetime.isoformat,
    ),
    dt.date: text_codec(dt.date, _parse_date, schema={"format": "date"}, example='"2024-05-01"', write=_write_date),
    dt.time: text_codec(dt.time, _parse_time, schema={"format": "time"}, example='"12:30:00"', write=dt.time.isoformat),
    dt.timedelta: text_codec(
        dt.timedelta, _parse_duration, schema={"format": "duration"}, example='"P1DT2H30M"', write=_write_duration
    ),
    uuid.UUID: text_codec(
        uuid.UUID, _parse_uuid, schema={"format": "uuid"}, example='"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'
    ),
    Decimal: DECIMAL,
    bytes: text_codec(
        bytes,
        _parse_base64,
        schema={"contentEncoding": "base64"},
        example='"aGVsbG8=" in base64',
        write=_write_base64,
        rank=CodecRank.TEXT,
    ),
    bytearray: text_codec(
        bytearray,
        lambda text: bytearray(_parse_base64(text)),
        schema={"contentEncoding": "base64"},
        example='"aGVsbG8=" in base64',
        write=_write_base64,
        rank=CodecRank.TEXT,
    ),
    complex: text_codec(complex, _parse_complex, schema={"format": "complex"}, example='"1+2j"', write=_write_complex),
    re.Pattern: text_codec(
        re.Pattern,
        _parse_pattern,
        schema={"format": "regex"},
        example='"^a+$"',
        write=write_pattern,
        rank=CodecRank.TEXT,
    ),
    os.PathLike: _path_codec(pathlib.Path),
    **{kind: _path_codec(kind) for kind in _PATHS},
    ipaddress.IPv4Address: _address_codec(ipaddress.IPv4Address, "ipv4", "192.0.2.1"),
    ipaddress.IPv6Address: _address_codec(ipaddress.IPv6Address, "ipv6", "2001:db8::1"),
    ipaddress.IPv4Interface: _address_codec(ipaddress.IPv4Interface, "ipv4-interface", "192.0.2.1/24"),
    ipaddress.IPv6Interface: _address_codec(ipaddress.IPv6Interface, "ipv6-interface", "2001:db8::1/32"),
    ipaddress.IPv4Network: _address_codec(ipaddress.IPv4Network, "ipv4-network", "192.0.2.0/24"),
    ipaddress.IPv6Network: _address_codec(ipaddress.IPv6Network, "ipv6-network", "2001:db8::/32"),
}


def _read_pattern(hint: Any, reader: HintReader) -> Codec:
    if get_args(hint) == (bytes,):
        raise NoJsonForm(f"{type_name(hint)}: a model sends text, not bytes; use re.Pattern[str]")
    return _CODECS[re.Pattern]


RULES = CodecRules(
    {**{kind: constant_factory(codec) for kind, codec in _CODECS.items()}, re.Pattern: _read_pattern},
)
