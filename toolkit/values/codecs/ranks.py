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
    """The ranks, the narrowest first. The gaps leave room for limits, each of which makes a codec a little narrower."""

    NULL = 0
    CONSTANTS = 1  # a few of them: a `Literal` or an enum
    BOOLEAN = 2
    FLAGS = 2  # the sums of a few numbers
    INTEGER = 3
    NUMBER = 4
    FORMATTED_TEXT = 5  # text of one form, such as a date or a UUID
    DECIMAL = 6  # every number, and text that looks like a number
    COMPLEX = 7  # text that looks like a number, or like a complex number
    TEXT = 8  # any text, as text
    CONVERTED_TEXT = 9  # text that becomes a path, a pattern or bytes; too many texts fit, so `str` comes first
    TUPLE = 10  # an array with a fixed number of items
    SET = 11  # an array without equal items
    LIST = 12
    RECORD = 20  # an object with known properties only
    FOREIGN_RECORD = 22  # an object whose schema names its properties, and was written by another library or a user
    OPEN_RECORD = 25  # an object with known properties and others
    MAPPING = 30
    UNKNOWN = 50  # a codec that does not say
    ANY = 99


def narrow_breadth(breadth: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the breadth of a codec that has *breadth* and is limited further. It comes just before *breadth*."""
    return (breadth[0] - 0.5, *breadth[1:])
