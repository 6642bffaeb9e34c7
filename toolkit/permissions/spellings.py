"""
Spellings of one value: 5 and 5.00, 10:00Z and 12:00+02:00, PT60M and PT1H, `a/b` and `./a//b`.

A deny or ask holds for a value in whatever spelling a model chooses for it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

from .._lazy_names import LazyModule

if TYPE_CHECKING:
    import datetime as dt
    import decimal
    import ipaddress
    import uuid
else:  # few calls need them
    dt, decimal, ipaddress, uuid = map(LazyModule, ("datetime", "decimal", "ipaddress", "uuid"))

__all__ = ["is_same_value", "list_spellings"]

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?\s*")
# A number with a longer exponent is not written out.
_MAX_ZEROS = 1000


def list_spellings(text: str) -> set[str]:
    """Return *text* in the spellings that a pattern with wildcards may mean."""
    spellings = {text, unicodedata.normalize("NFC", text)}
    if "/" in text:
        spellings.add(os.path.normpath(text))
    if _NUMBER.fullmatch(text):
        number = decimal.Decimal(text)
        if abs(number.adjusted()) < _MAX_ZEROS:
            plain = format(number, "f")
            spellings.add(plain.rstrip("0").rstrip(".") if "." in plain else plain)
    return spellings


def is_same_value(pattern: str, text: str, *, is_float: bool = False) -> bool:
    """
    Return whether both are one number, moment, duration, identifier, network address or bytes, in whatever spelling.

    With *is_float*, numbers that are rounded to the same `float` are the same.
    """
    if _NUMBER.fullmatch(pattern) and _NUMBER.fullmatch(text):
        return decimal.Decimal(pattern) == decimal.Decimal(text) or (is_float and float(pattern) == float(text))
    return any(_read(reader, text) == value for reader, value in _readings(pattern))


@functools.lru_cache(maxsize=1024)
def _readings(pattern: str) -> list[tuple[Callable[[str], object], object]]:
    """Return the values that *pattern* spells, each with its reader."""
    from ..values.codecs.rules import create_hint_reader  # few programs have rules about values

    decoders = [create_hint_reader().codec(hint).decode for hint in (dt.time, dt.timedelta, complex, bytes)]
    readings = ((reader, _read(reader, pattern)) for reader in (*decoders, _read_moment, _read_address, uuid.UUID))
    return [(reader, value) for reader, value in readings if value is not None]


def _read(reader: Callable[[str], object], text: str) -> object:
    """Return the value that *text* spells; None if it spells none."""
    with contextlib.suppress(ValueError):
        return reader(text)
    return None


def _read_moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.upper())


def _read_address(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    address = ipaddress.ip_interface(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Interface) else None
    return address if mapped is None else ipaddress.IPv4Interface(mapped)
