"""
One character of a pattern: which characters it accepts.

Whether a character belongs is always asked of `re` itself, with an expression
of one character, so that case folding and Unicode categories agree to the last
letter. The `mask` is for telling that two sets have nothing in common: a bit
for each ASCII character and one for all others, never too few.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["ALL", "END", "NEWLINE", "Chars", "read_chars"]

ASCII = (1 << 128) - 1
OTHERS = 1 << 128
END = 1 << 129  # not a character: the end of the text, for sets of what may come next
ALL = ASCII | OTHERS | END
NEWLINE = 1 << ord("\n")

_LOWER = sum(1 << code for code in range(ord("a"), ord("z") + 1))
_UPPER = _LOWER >> 32

_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def _ascii_mask(source: str) -> int:
    return sum(1 << code for code in range(128) if re.match(source, chr(code)))


_CATEGORY_MASKS = {name: _ascii_mask(source) | OTHERS for name, source in _CATEGORIES.items()}


@dataclass(frozen=True, slots=True)
class Chars:
    """
    A set of characters.

    Attributes:
        source: An expression of one character that accepts the set.
        flags: The flags under which it does.
        mask: The bits of a superset.
        price: How many comparisons `re` may need for one character.
        wide: Whether `re` is slow to compile it.
    """

    source: str
    flags: int
    mask: int
    price: int
    wide: bool


def read_chars(name: str, value: Any, flags: int) -> Chars | None:
    """The set that the parser wrote as *name* and *value*, or None if that is nothing known."""
    flags &= re.IGNORECASE | re.DOTALL | re.ASCII
    if name == "ANY":
        mask = (ASCII | OTHERS) & ~(0 if flags & re.DOTALL else NEWLINE)
        return Chars(".", flags, mask, 1, wide=False)
    if name == "LITERAL" and not flags & re.IGNORECASE:
        return Chars(_literal(value), flags, _span(value, value), 1, wide=False)
    members = [(operation.name, each) for operation, each in value] if name == "IN" else [("LITERAL", value)]
    negated = name == "NOT_LITERAL" or members[0][0] == "NEGATE"
    if members[0][0] == "NEGATE":
        del members[0]
    source, mask, price, wide = "", 0, 1, False
    for kind, each in members:
        if kind == "LITERAL":
            low = high = each
            source += _literal(each)
        elif kind == "RANGE":
            low, high = each
            source += f"{_literal(low)}-{_literal(high)}"
        elif kind == "CATEGORY" and each.name in _CATEGORIES:
            source += _CATEGORIES[each.name]
            mask |= _CATEGORY_MASKS[each.name]
            price += 1
            continue
        else:
            return None
        mask |= _span(low, high)
        wide = wide or high > 0xFF
        # Up to here `re` has a bitmap; beyond it goes through a list.
        price += high > 0xFFFF
    mask = _superset(mask, flags, negated=negated)
    return Chars(f"[{'^' * negated}{source}]", flags, mask, price, wide=wide and name == "IN")


def _literal(code: int) -> str:
    return f"\\U{code:08x}"


def _span(low: int, high: int) -> int:
    return ((2 << min(high, 127)) - (1 << min(low, 128))) & ASCII | (OTHERS if high > 127 else 0)


def _superset(mask: int, flags: int, *, negated: bool) -> int:
    if negated:
        # Folding only adds to what is excluded, so what is left is a superset without it. A category
        # excludes its ASCII part alone under the ASCII flag and more otherwise: the others may always come.
        return ~mask & ASCII | OTHERS
    if not flags & re.IGNORECASE:
        return mask
    # The other case; and a Kelvin sign is a `k`, a long s an `s`, in either direction.
    letters = _LOWER | _UPPER if mask & OTHERS else (mask & _LOWER) >> 32 | (mask & _UPPER) << 32
    return mask | letters | OTHERS
