"""
Rank codecs by how much JSON they accept.

In a union, the member with the lowest rank that accepts a value wins. The `breadth` of a codec is a tuple that begins
with its rank. The rest of the tuple compares codecs of the same rank, usually by the breadths of their items.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

__all__ = ["CodecRank", "narrow_breadth"]


class CodecRank(IntEnum):
    """
    The ranks, the narrowest first. The gaps leave room for limits, each of which makes a codec a little narrower.

    Attributes:
        NULL: Null alone.
        CONSTANTS: A few constants: a `Literal` or an enum.
        BOOLEAN: True and false.
        FLAGS: The sums of a few numbers. This is the same rank as BOOLEAN.
        INTEGER: Every integer.
        NUMBER: Every number.
        FORMATTED_TEXT: Text of one form, such as a date or a UUID.
        DECIMAL: Every number, and text that looks like a number.
        COMPLEX: Text that looks like a number, or like a complex number.
        TEXT: Any text, as text.
        CONVERTED_TEXT: Text that becomes a path, a pattern or bytes. Too many texts fit, so `str` comes first.
        TUPLE: An array with a fixed number of items.
        SET: An array without equal items.
        LIST: An array of any length.
        RECORD: An object with known properties only.
        FOREIGN_RECORD: An object whose schema names its properties, and was written by another library or a user.
        OPEN_RECORD: An object with known properties and others.
        MAPPING: An object with any properties.
        UNKNOWN: A codec that does not say.
        ANY: Every JSON value.
    """

    NULL = 0
    CONSTANTS = 1
    BOOLEAN = 2
    FLAGS = 2
    INTEGER = 3
    NUMBER = 4
    FORMATTED_TEXT = 5
    DECIMAL = 6
    COMPLEX = 7
    TEXT = 8
    CONVERTED_TEXT = 9
    TUPLE = 10
    SET = 11
    LIST = 12
    RECORD = 20
    FOREIGN_RECORD = 22
    OPEN_RECORD = 25
    MAPPING = 30
    UNKNOWN = 50
    ANY = 99


def narrow_breadth(breadth: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the breadth of a codec that has *breadth* and is limited further. It comes just before *breadth*."""
    return (breadth[0] - 0.5, *breadth[1:])
