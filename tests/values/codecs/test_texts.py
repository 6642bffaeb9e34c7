"""Dates, identifiers, paths, bytes, exact numbers: values that JSON writes as text."""

import datetime as dt
import decimal
import ipaddress
import os
import pathlib
import re
import typing
import uuid
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from toolkit import DefinitionError
from toolkit.values.schemas.text_forms import TEXT_FORMS

from .kit import problem, read, schema_of, three_ways, tool_for, written

TEXT = {"type": "string"}
ID = uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
EAST = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (datetime, datetime(2024, 5, 1, 12, 30), "2024-05-01T12:30:00", {"format": "date-time"}),
        (
            datetime,
            datetime(2024, 5, 1, 12, 30, 0, 5, EAST),
            "2024-05-01T12:30:00.000005+05:30",
            {"format": "date-time"},
        ),
        (date, date(2024, 5, 1), "2024-05-01", {"format": "date"}),
        (time, time(12, 30), "12:30:00", {"format": "time"}),
        (time, time(12, 30, 1, 500000, timezone.utc), "12:30:01.500000+00:00", {"format": "time"}),
        (timedelta, timedelta(days=1, hours=2, minutes=30), "P1DT2H30M", {"format": "duration"}),
        (timedelta, timedelta(0), "PT0S", {"format": "duration"}),
        (timedelta, timedelta(seconds=-90.5), "-PT1M30.5S", {"format": "duration"}),
        (timedelta, timedelta.max, "P999999999DT23H59M59.999999S", {"format": "duration"}),
        (timedelta, timedelta.min, "-P999999999D", {"format": "duration"}),
        (uuid.UUID, ID, str(ID), {"format": "uuid"}),
        (Path, Path("notes/today.txt"), "notes/today.txt", {"format": "path"}),
        (type(Path()), Path("a"), "a", {"format": "path"}),
        (os.PathLike, Path("a"), "a", {"format": "path"}),
        (os.PathLike[str], Path("a"), "a", {"format": "path"}),
        (PurePosixPath, PurePosixPath("/a/b"), "/a/b", {"format": "path"}),
        (PureWindowsPath, PureWindowsPath("c:\\a"), "c:\\a", {"format": "path"}),
        (bytes, b"hello", "aGVsbG8=", {"contentEncoding": "base64"}),
        (bytes, b"", "", {"contentEncoding": "base64"}),
        (bytearray, bytearray(b"\xff\x00"), "/wA=", {"contentEncoding": "base64"}),
        (complex, 1 + 2j, "(1+2j)", {"format": "complex"}),
        (re.Pattern, re.compile("^a+$"), "^a+$", {"format": "regex"}),
        (re.Pattern[str], re.compile("(?i)a"), "(?i)a", {"format": "regex"}),
        (typing.Pattern, re.compile("a"), "a", {"format": "regex"}),
        (ipaddress.IPv4Address, ipaddress.IPv4Address("192.0.2.1"), "192.0.2.1", {"format": "ipv4"}),
        (ipaddress.IPv6Address, ipaddress.IPv6Address("2001:db8::1"), "2001:db8::1", {"format": "ipv6"}),
        (ipaddress.IPv4Network, ipaddress.IPv4Network("192.0.2.0/24"), "192.0.2.0/24", {"format": "ipv4-network"}),
        (ipaddress.IPv6Network, ipaddress.IPv6Network("2001:db8::/32"), "2001:db8::/32", {"format": "ipv6-network"}),
        (
            ipaddress.IPv4Interface,
            ipaddress.IPv4Interface("192.0.2.1/24"),
            "192.0.2.1/24",
            {"format": "ipv4-interface"},
        ),
        (
            ipaddress.IPv6Interface,
            ipaddress.IPv6Interface("2001:db8::1/32"),
            "2001:db8::1/32",
            {"format": "ipv6-interface"},
        ),
    ],
)
def test_texts_go_three_ways(hint, value, form, schema, validation):
    """Each has one text form with a `format` or an encoding, and a pattern."""
    (name,) = schema.values()
    pattern = TEXT_FORMS[name].pattern
    three_ways(hint, value, form, TEXT | schema | ({"pattern": pattern} if pattern else {}), validation)


@pytest.mark.parametrize(
    ("value", "form"), [(Decimal("12.50"), "12.50"), (Decimal("-1E+5"), "-1E+5"), (Decimal("0.1"), "0.1")]
)
def test_decimals_go_three_ways(value, form, validation):
    """An exact number is a string, so that no digit is lost."""
    three_ways(Decimal, value, form, {"type": ["string", "number"], **TEXT_FORMS["decimal"].schema}, validation)


@pytest.mark.parametrize(("form", "value"), [(3, Decimal(3)), (0.1, Decimal("0.1")), (-1e300, Decimal("-1e300"))])
def test_a_number_is_accepted_for_a_decimal(form, value, validation):
    """A model that sends a number means the digits it wrote."""
    received = read(Decimal, form, validation)
    assert (received, type(received)) == (value, Decimal)


@pytest.mark.parametrize(
    ("hint", "form", "value"),
    [
        (datetime, "2024-05-01T12:30:00Z", datetime(2024, 5, 1, 12, 30, tzinfo=timezone.utc)),
        (datetime, "2024-05-01 12:30", datetime(2024, 5, 1, 12, 30)),
        (time, "12:30", time(12, 30)),
        (timedelta, "P2W", timedelta(weeks=2)),
        (timedelta, "PT0.5H", timedelta(minutes=30)),
        (timedelta, "+PT36H", timedelta(hours=36)),
        (uuid.UUID, str(ID).upper(), ID),
        (complex, "2j", 2j),
        (Decimal, ".5", Decimal("0.5")),
        (Path, "", Path()),
        (timedelta, "PT30M1H", timedelta(minutes=90)),
        (timedelta, f"PT{'0' * 30}1.{'0' * 30}1S", timedelta(seconds=1)),
        (complex, "(1-j)", 1 - 1j),
        (ipaddress.IPv6Address, "::ffff:192.0.2.1", ipaddress.IPv6Address("::ffff:192.0.2.1")),
        (ipaddress.IPv6Address, "fe80::1%eth0", ipaddress.IPv6Address("fe80::1%eth0")),
        (ipaddress.IPv4Network, "192.0.2.1", ipaddress.IPv4Network("192.0.2.1/32")),
        (date, "2024-05-01\n", date(2024, 5, 1)),
        (time, "12:30:00\n", time(12, 30)),
        (bytes, "aGVsbG8=\n", b"hello"),
        (Decimal, "1.5\n", Decimal("1.5")),
        (Path, "a\n", Path("a\n")),
    ],
)
def test_other_spellings_are_understood(hint, form, value, validation):
    """ISO forms that Python would not write itself are read all the same."""
    assert read(hint, form, validation) == value


@pytest.mark.parametrize(
    ("hint", "form"),
    [
        (datetime, "tomorrow"),
        (datetime, "2024-05-01"),
        (datetime, "2024-13-01T00:00:00"),
        (datetime, "20240501T120000"),
        (datetime, "2024-05-01T1230"),
        (datetime, "2024-05-01T12:30+05:3015"),
        (time, "24:00:00"),
        (time, "12:30:0٣"),
        (time, "12:30:00\n\n"),
        (timedelta, f"P{'9' * 30}D"),
        (complex, "(1+2j"),
        (complex, "1_0"),
        (complex, " 1"),
        (bytes, "aGVsbG8=aGVsbG8="),
        (bytes, "aGVs===="),
        (ipaddress.IPv4Network, "192.0.2.0/255.255.255.0"),
        (ipaddress.IPv6Address, "fe80::1%"),
        (ipaddress.IPv6Address, "fe80::1%a b"),
        (datetime, "2024-05-01T12:30:0٣"),
        (datetime, 1714566600),
        (date, "2024-02-30"),
        (date, "20240501"),
        (date, "2024-W18-3"),
        (date, "2024-05-01T00:00:00"),
        (date, "२०२४-०५-०१"),
        (date, 20240501),
        (time, "25:00"),
        (time, "12"),
        (time, "noon"),
        (timedelta, "1 day"),
        (timedelta, "P"),
        (timedelta, "PT"),
        (timedelta, "P1DT"),
        (timedelta, "P1Y"),
        (timedelta, "P99999999999D"),
        (timedelta, 90),
        (uuid.UUID, "not-a-uuid"),
        (uuid.UUID, "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}"),
        (uuid.UUID, "f81d4fae7dec11d0a76500a0c91e6bf6"),
        (Decimal, "twelve"),
        (Decimal, "NaN"),
        (Decimal, "Infinity"),
        (Decimal, "1_000"),
        (Decimal, "١٢"),
        (Decimal, True),
        (Decimal, "1e999999999999"),
        (bytes, "not base64!"),
        (bytes, "aGVsbG8"),
        (bytes, "ünï="),
        (complex, "one"),
        (complex, "nan"),
        (complex, "1e999"),
        (complex, 1),
        (re.Pattern, "("),
        (re.Pattern, "(" * 10_000),
        (re.Pattern, "*"),
        (ipaddress.IPv4Address, "192.0.2.256"),
        (ipaddress.IPv4Address, "2001:db8::1"),
        (ipaddress.IPv6Address, "192.0.2.1"),
        (ipaddress.IPv4Network, "192.0.2.1/24"),
        (Path, 3),
    ],
)
def test_a_text_that_cannot_be_converted_is_refused(hint, form, validation):
    """The pattern or the conversion refuses it, and the message says what would be right."""
    message = problem(hint, form, validation)
    assert message.startswith("value: ")
    assert "expected" in message


def test_a_refusal_shows_an_example():
    """A model learns the form from the message."""
    assert problem(date, "May 1st") == 'value: expected date such as "2024-05-01", got "May 1st"'
    assert "P1DT2H30M" in problem(timedelta, "long")
    assert problem(bytes | None, "?") == 'value: expected bytes such as "aGVsbG8=" in base64, got "?"'
    assert problem(date | None, 5) == 'value: expected date such as "2024-05-01" or null, got 5'
    assert problem(Decimal, "?") == 'value: expected a decimal number such as "12.50", got "?"'


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (date, datetime(2024, 5, 1)),
        (date, "2024-05-01"),
        (datetime, date(2024, 5, 1)),
        (Decimal, 1.5),
        (Decimal, Decimal("NaN")),
        (Decimal, Decimal("Infinity")),
        (Decimal, Decimal("1e1000000")),
        (Decimal, Decimal("1e-1000000")),
        (complex, complex("nan")),
        (complex, "1"),
        (bytes, "text"),
        (Path, "text"),
        (uuid.UUID, str(ID)),
        (re.Pattern, re.compile(b"a")),
    ],
)
def test_values_of_another_type_do_not_encode(hint, value):
    """A `datetime` is not sent for a `date`, nor text for what is written as text."""
    with pytest.raises((TypeError, ValueError)):
        written(hint, value)


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        (re.compile("a", re.I), "(?i)a"),
        (re.compile("a.b", re.M | re.S), "(?ms)a.b"),
        (re.compile("(?i)a", re.M), "(?im)a"),
        (re.compile("a", re.A | re.X), "(?ax)a"),
    ],
)
def test_flags_of_a_pattern_are_encoded(pattern, form, validation):
    """They stand before the pattern, and come back."""
    assert written(re.Pattern, pattern) == form
    received = read(re.Pattern, form, validation)
    assert received.flags == pattern.flags
    assert written(re.Pattern, received) == form


def test_a_pattern_for_bytes_is_refused():
    """A model sends text, so there is nothing a bytes pattern could be read from."""
    with pytest.raises(DefinitionError, match=r"re\.Pattern\[str\]"):
        tool_for(re.Pattern[bytes])


def test_durations_do_not_depend_on_the_decimal_context(validation):
    """A program that rounds its decimals early still gets exact durations."""
    with decimal.localcontext() as context:
        context.prec = 3
        received = read(timedelta, "P1234DT5.123456S", validation)
    assert received == timedelta(days=1234, seconds=5, microseconds=123456)


def test_old_and_new_spellings_share_a_schema():
    """`dt.date` is `date`, wherever it was imported from."""
    assert schema_of(dt.date) == schema_of(date)
    assert schema_of(pathlib.Path) == schema_of(Path)
