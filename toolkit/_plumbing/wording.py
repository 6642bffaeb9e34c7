"""
Word numbers, durations and quoted texts the same way in every message.

    format_count(1, "turn")          1 turn
    format_count(1200, "entry")      1,200 entries
    format_dollars(0.0025)           $0.0025
    format_seconds(0.0499833)        0.05 s
    in_backticks("echo `date`")      `` echo `date` ``
"""

from __future__ import annotations

import re

__all__ = ["MASK", "build_fence", "format_count", "format_dollars", "format_seconds", "in_backticks"]

MASK = "[redacted]"
"""What stands in place of a secret."""


def format_count(count: int, noun: str) -> str:
    """Return *count* with *noun*, which is in the singular: "1 turn", "1,200 turns", "2 entries"."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{count:,} {noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}s"


def format_dollars(amount: float) -> str:
    """Return an amount of money, with at least two digits after the point: "$0.05", "$3.00", "$0.0025"."""
    cents, exact = f"{amount:,.2f}", f"{amount:,.12f}".rstrip("0")
    return f"${exact if len(exact) > len(cents) else cents}"


def format_seconds(seconds: float) -> str:
    """Return a duration with at most three digits that count, and no exponent: "0.05 s", "2.5 s", "1,200 s"."""
    if abs(seconds) >= 100:
        return f"{seconds:,.0f} s"
    if abs(seconds) >= 0.001 or seconds == 0:
        return f"{seconds:.3g} s"
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + " s" if abs(seconds) >= 1e-6 else f"{seconds:g} s"


def in_backticks(text: str) -> str:
    """Return *text* in backticks, or as Markdown has it, in more of them than *text* itself has in a row."""
    if "`" not in text:
        return f"`{text}`"
    fence = build_fence(text, 2)
    return f"{fence} {text} {fence}"


def build_fence(text: str, min_length: int = 3) -> str:
    """Return more backticks than *text* has in a row, and at least *min_length*."""
    return "`" * max(min_length, 1 + max(map(len, re.findall("`+", text)), default=0))
