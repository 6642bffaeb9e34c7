"""
Cuts results to size without splitting a character as people see it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from ..content import JsonPart, Part, TextPart
from ..results import ToolResult
from .render_result import shown

__all__ = ["truncated"]


def truncated(result: ToolResult, most: int) -> None:
    """
    Cut the text of *result* to *most* characters.

    A `value` that is the same text is cut too; any other value stays whole. Texts and JSON values in the parts are
    limited to *most* characters together.
    """
    cut = _cut(result.text, most)
    if isinstance(result.value, str) and result.value == result.text:
        result.value = cut
    if result.parts:
        result.parts = _within(result.parts, most)
    result.text = cut
    result.truncated = True


def _within(parts: Iterable[Part], most: int) -> list[Part]:
    """Return *parts* with at most *most* characters in their texts and values. Other parts do not count."""
    kept: list[Part] = []
    left = most
    for part in parts:
        if not isinstance(part, (TextPart, JsonPart)):
            kept.append(part)
            continue
        text = shown(part)
        if len(text) <= left:
            kept.append(part)
        elif left > 0:
            kept.append(TextPart(_cut(text, left)))
        left -= len(text)
    return kept


def _cut(text: str, most: int) -> str:
    end = f"... [truncated, {len(text)} chars total]"
    cut = max(0, most - len(end))
    # Search back a limited way for the end of a character. A longer sequence is not a real character.
    for place in range(cut, max(0, cut - 40), -1):
        if not _joins(text[place - 1], text[place]):
            return text[:place] + end
    return text[:cut] + end


def _joins(before: str, after: str) -> bool:
    """
    Return whether a person sees two code points as one character.

    Such pairs are accents, variations, joined or coloured emoji, flags, and the line break `\\r\\n`.
    """
    return (
        unicodedata.combining(after) != 0
        or after in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or before == "\u200d"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
        or before + after == "\r\n"
    )
