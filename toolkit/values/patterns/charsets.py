"""
Describe one character of a pattern: the set of characters that it accepts.

`re` itself always decides whether a character belongs to a set, with an expression of one character. So case folding
and Unicode categories agree in every case. The `mask` shows that two sets have no character in common. It has a bit for
each ASCII character and a few bits for all others. It may have too many bits, but never too few.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

__all__ = ["ALL", "END", "NEWLINE", "Chars", "read_chars"]

ASCII = (1 << 128) - 1
# Bits for characters beyond ASCII: spaces, digits, other word characters, and the rest.
_SPACES, _DIGITS, _LETTERS, _REST = 1 << 128, 1 << 129, 1 << 130, 1 << 131
OTHERS = _SPACES | _DIGITS | _LETTERS | _REST
END = 1 << 132  # the end of the text, which is not a character; for sets of symbols that may come next
ALL = ASCII | OTHERS | END
NEWLINE = 1 << ord("\n")

_LOWER = ((1 << 26) - 1) << ord("a")
_UPPER = ((1 << 26) - 1) << ord("A")
_DIGIT = ((1 << 10) - 1) << ord("0") | _DIGITS
_WORD = _LOWER | _UPPER | 1 << ord("_") | _DIGIT | _LETTERS
# Four control characters count as spaces, but not with the ASCII flag.
_SEPARATORS = 0b1111 << 0x1C
_SPACE = 0b11111 << ord("\t") | 1 << ord(" ") | _SEPARATORS | _SPACES

_CATEGORIES = {
    "CATEGORY_DIGIT": (r"\d", _DIGIT),
    "CATEGORY_NOT_DIGIT": (r"\D", (ASCII | OTHERS) & ~_DIGIT),
    "CATEGORY_SPACE": (r"\s", _SPACE),
    "CATEGORY_NOT_SPACE": (r"\S", (ASCII | OTHERS) & ~_SPACE),
    "CATEGORY_WORD": (r"\w", _WORD),
    "CATEGORY_NOT_WORD": (r"\W", (ASCII | OTHERS) & ~_WORD),
}


# This is a named tuple, because a frozen dataclass takes ten times as long to define and this is imported early.
class Chars(NamedTuple):
    """
    A set of characters.

    Attributes:
        source: An expression for one character that accepts exactly this set.
        flags: The flags with which *source* must be compiled.
        mask: The bits of a superset of this set.
        price: How many comparisons `re` may need for one character.
        wide: Whether `re` compiles this set slowly.
    """

    source: str
    flags: int
    mask: int
    price: int
    wide: bool


def read_chars(name: str, value: Any, flags: int) -> Chars | None:
    """Return the set that the parser wrote as *name* and *value*, or None if it is not a known form."""
    flags &= re.IGNORECASE | re.DOTALL | re.ASCII
    if name == "ANY":
        mask = (ASCII | OTHERS) & ~(0 if flags & re.DOTALL else NEWLINE)
        return Chars(".", flags, mask, 1, wide=False)
    if name == "LITERAL" and not flags & re.IGNORECASE:
        return Chars(_literal(value), flags, _span(value, value), 1, wide=False)
    members = [(operation.name, argument) for operation, argument in value] if name == "IN" else [("LITERAL", value)]
    negated = name == "NOT_LITERAL" or members[0][0] == "NEGATE"
    if members[0][0] == "NEGATE":
        del members[0]
    # The mask has all bits of the set and perhaps more. The core has only bits that are in the set.
    source, mask, core, price, wide = "", 0, 0, 1, False
    for kind, argument in members:
        if kind == "CATEGORY" and argument.name in _CATEGORIES:
            text, bits = _CATEGORIES[argument.name]
            source += text
            doubtful = OTHERS | _SEPARATORS if flags & (re.ASCII | re.IGNORECASE) else 0
            mask |= bits | doubtful
            core |= bits & ~doubtful
            price += 1
            continue
        if kind not in {"LITERAL", "RANGE"}:
            return None
        low, high = argument if kind == "RANGE" else (argument, argument)
        source += f"{_literal(low)}-{_literal(high)}"
        mask |= _span(low, high)
        core |= _span(low, high) & ASCII
        wide = wide or high > 0xFF
        # `re` has a bitmap up to this character. Beyond it, `re` goes through a list.
        price += high > 0xFFFF
    if negated:
        # Case folding only adds characters to those that are excluded.
        mask = (ASCII | OTHERS) & ~core
    elif flags & re.IGNORECASE:
        mask = _fold_case(mask)
    return Chars(f"[{'^' * negated}{source}]", flags, mask, price, wide=wide and name == "IN")


def _literal(code: int) -> str:
    return f"\\U{code:08x}"


def _span(low: int, high: int) -> int:
    return ((2 << min(high, 127)) - (1 << min(low, 128))) & ASCII | (OTHERS if high > 127 else 0)


def _fold_case(mask: int) -> int:
    # The Kelvin sign folds to `k` and the long s folds to `s`, and the other way round.
    if mask & OTHERS:
        return mask | _LOWER | _UPPER | OTHERS
    if letters := mask & (_LOWER | _UPPER):
        return mask | letters >> 32 & _UPPER | letters << 32 & _LOWER | OTHERS
    return mask
