"""
Strategies for texts of the forms that `format` and `contentEncoding` name.

The forms are all those that toolkit's own codecs decode, and those that schemas of other libraries name most. `format`
is only an annotation, so for a form that is missing here any text will do.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import ipaddress
import re
import uuid
from collections.abc import Callable
from typing import Any, Literal

from .base import Strategy, st, with_edges

__all__ = ["FORMAT_STRATEGIES", "texts_of_format"]


def texts_of_format(name: object) -> Strategy | None:
    """Return a strategy for texts of the form *name*; None if the form is unknown."""
    return FORMAT_STRATEGIES[name]() if isinstance(name, str) and name in FORMAT_STRATEGIES else None


# Two neighbours each, because hypothesis makes a constant of a single value, and a constant does not shrink.
_DAY, _TICK = dt.timedelta(days=1), dt.timedelta(microseconds=1)
_EDGE_DATES = (
    (dt.date.max - _DAY, dt.date.max),
    (dt.date.min, dt.date.min + _DAY),
    (dt.date(2000, 2, 29), dt.date(2000, 3, 1)),
    (dt.date(1969, 12, 31), dt.date(1970, 1, 1)),
)
_EDGE_DATE_TIMES = (
    (dt.datetime.max - _TICK, dt.datetime.max),
    (dt.datetime.min, dt.datetime.min + _TICK),
    (dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(1970, 1, 1)),
)
_EDGE_TIMES = ((dt.time(23, 59, 59, 999_998), dt.time.max), (dt.time.min, dt.time(microsecond=1)))
_EDGE_PATHS = ("", ".", "..", "/", "../" * 20, "a" * 300)
_MAX_DAYS = dt.timedelta.max.days
# Decimal arithmetic rounds to 28 digits unless the program says otherwise.
_MAX_WHOLE = 10**29 - 1


def _zones() -> Strategy:
    offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
    return st.just(dt.UTC) | offsets


def _date_times() -> Strategy:
    # A time zone is optional. In some zones the first and the last hour have no time in UTC, so converting overflows.
    zones = st.none() | _zones()
    edges = [st.datetimes(first, last, timezones=zones) for first, last in _EDGE_DATE_TIMES]
    return with_edges(st.datetimes(timezones=zones), edges).map(dt.datetime.isoformat)


def _dates() -> Strategy:
    return with_edges(st.dates(), [st.dates(first, last) for first, last in _EDGE_DATES]).map(dt.date.isoformat)


def _times() -> Strategy:
    zones = st.none() | _zones()
    edges = [st.times(first, last, timezones=zones) for first, last in _EDGE_TIMES]
    return with_edges(st.times(timezones=zones), edges).map(dt.time.isoformat)


def _durations() -> Strategy:

    def format_duration(parts: tuple[str, int, int, int]) -> str:
        sign, days, seconds, microseconds = parts
        fraction = f".{microseconds:06d}" if microseconds else ""
        return f"{sign}P{days}DT{seconds}{fraction}S"

    # Few tools expect a negative duration, so one in three is enough. Otherwise five bits of every example would go
    # into the sign.
    signs = st.sampled_from(["", "", "-"])
    # The shortest `timedelta` is a round number of days: with a second more it would be too short.
    days, seconds, microseconds = st.integers(0, _MAX_DAYS - 1), st.integers(0, 86_399), st.integers(0, 999_999)
    longest = st.tuples(st.just(""), st.integers(_MAX_DAYS, _MAX_DAYS), seconds, microseconds)
    shortest = st.tuples(st.just("-"), st.integers(_MAX_DAYS, _MAX_DAYS), st.just(0), st.just(0))
    amounts = st.tuples(signs, days, seconds, microseconds)
    return with_edges(amounts, [longest, shortest]).map(format_duration)


def _uuids(version: int | None = None) -> Strategy:
    # The UUIDs of `st.uuids` are random beyond the control of hypothesis, and do not shrink.
    numbers = st.integers(0, 2**128 - 1)
    if version is None:
        return numbers.map(lambda number: str(uuid.UUID(int=number)))
    # The bits are set here, because older Pythons do not know the versions 6 to 8.
    marks, digits = version << 76 | 0b10 << 62, 0xF << 76 | 0b11 << 62
    return numbers.map(lambda number: str(uuid.UUID(int=number & ~digits | marks)))


def _addresses(version: Literal[4, 6], suffix: str = "") -> Strategy:
    last = ipaddress.ip_address("255.255.255.255" if version == 4 else ":".join(["ffff"] * 8))
    return with_edges(st.ip_addresses(v=version), [st.just(last)]).map(lambda address: f"{address}{suffix}")


def _networks(version: Literal[4, 6]) -> Strategy:
    prefixes = st.tuples(st.ip_addresses(v=version), st.integers(0, 32 if version == 4 else 128))

    def format_network(pair: tuple[Any, int]) -> str:
        return str(ipaddress.ip_network(f"{pair[0]}/{pair[1]}", strict=False))

    return prefixes.map(format_network)


def _texts_like(pattern: str) -> Callable[[], Strategy]:
    return lambda: st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True)


def _paths() -> Strategy:
    odd = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
    usual = st.from_regex(re.compile(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}(\.txt)?", re.ASCII), fullmatch=True)
    return with_edges(usual | odd, [st.sampled_from(_EDGE_PATHS)])


def _decimals() -> Strategy:
    signs, fractions = st.sampled_from(["", "-"]), _texts_like(r"(\.[0-9]{1,6})?")()
    numbers = st.tuples(signs, st.integers(0, _MAX_WHOLE), fractions)
    edges = [st.tuples(signs, st.integers(_MAX_WHOLE, _MAX_WHOLE), fractions)]
    return with_edges(numbers, edges).map(lambda parts: "".join(map(str, parts)))


def _patterns() -> Strategy:
    usual = st.sampled_from(["", "a", "^a+$", "[0-9]{2,4}", "x|y", r"\w+\s*", "(?i)abc"])
    return usual | st.text(max_size=8).map(re.escape)


def _base64(altchars: bytes | None = None) -> Strategy:
    return st.binary(max_size=24).map(lambda data: base64.b64encode(data, altchars).decode())


_LABEL = r"[a-z]([a-z0-9]{0,6}[a-z0-9])?"
_HOST = rf"{_LABEL}\.(com|org|net)"
_DECIMAL = r"-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,6})?"

FORMAT_STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "date-time": _date_times,
    "date": _dates,
    "time": _times,
    "duration": _durations,
    "uuid": _uuids,
    **{f"uuid{version}": functools.partial(_uuids, version) for version in (1, 3, 4, 5, 6, 7, 8)},
    "decimal": _decimals,
    "complex": _texts_like(rf"{_DECIMAL}|{_DECIMAL}j|{_DECIMAL}[+-][0-9]{{1,4}}j"),
    "path": _paths,
    "regex": _patterns,
    "ipv4": functools.partial(_addresses, 4),
    "ipv6": functools.partial(_addresses, 6),
    "ipvanyaddress": functools.partial(_addresses, 4),
    "ipv4-interface": functools.partial(_addresses, 4, "/24"),
    "ipv6-interface": functools.partial(_addresses, 6, "/32"),
    "ipvanyinterface": functools.partial(_addresses, 4, "/24"),
    "ipv4-network": functools.partial(_networks, 4),
    "ipv6-network": functools.partial(_networks, 6),
    "ipvanynetwork": functools.partial(_networks, 4),
    "email": _texts_like(rf"{_LABEL}@{_HOST}"),
    "idn-email": _texts_like(rf"{_LABEL}@{_HOST}"),
    "hostname": _texts_like(_HOST),
    "idn-hostname": _texts_like(_HOST),
    "uri": _texts_like(rf"https?://{_HOST}(/{_LABEL}){{0,2}}/?"),
    "iri": _texts_like(rf"https?://{_HOST}(/{_LABEL}){{0,2}}/?"),
    "uri-reference": _texts_like(rf"/?{_LABEL}(/{_LABEL}){{0,2}}"),
    "iri-reference": _texts_like(rf"/?{_LABEL}(/{_LABEL}){{0,2}}"),
    "uri-template": _texts_like(rf"https://{_HOST}/\{{{_LABEL}\}}"),
    "json-pointer": _texts_like(rf"(/{_LABEL}){{0,3}}"),
    "relative-json-pointer": _texts_like(rf"[0-9](/{_LABEL}){{0,2}}"),
    "json-string": _texts_like(r'null|true|0|"[a-z]{0,4}"|\[\]|\{\}'),
    "color": _texts_like(r"#[0-9a-f]{6}"),
    "base64": _base64,
    "base64url": functools.partial(_base64, b"-_"),
}
"""The function that makes the strategy, by the name of the form."""
