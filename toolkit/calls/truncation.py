"""
Cuts results to size without splitting a character as people see it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._lazy_names import LazyModule
from ..content import JsonPart, Part, TextPart
from ..results import ToolResult
from ..values.rendering import as_text
from .render_result import render_part

if TYPE_CHECKING:
    import unicodedata
else:
    unicodedata = LazyModule("unicodedata")

__all__ = ["truncate_result", "write_text"]


def write_text(result: ToolResult, value: Any, max_chars: int) -> None:
    """Set the text of *result* to the JSON of *value*, cut to *max_chars* characters."""
    text = as_text(value)
    if len(text) > max_chars:
        text = _truncate_text(text, max_chars)
        result.truncated = True
    result.text = text


def truncate_result(result: ToolResult, max_chars: int) -> None:
    """
    Cut the text of *result* to *max_chars* characters.

    A `value` that is the same text is cut too; any other value stays whole. Texts and JSON values in the parts are
    limited to *max_chars* characters together.
    """
    cut = _truncate_text(result.text, max_chars)
    if isinstance(result.value, str) and result.value == result.text:
        result.returned = result.returned  # a result of the fast path would take it from the value, which is cut here
        result.value = cut
    if result.parts:
        result.parts = _truncate_parts(result.parts, max_chars)
    result.text = cut
    result.truncated = True


def _truncate_parts(parts: Iterable[Part], max_chars: int) -> list[Part]:
    """Return *parts* with at most *max_chars* characters in their texts and values. Other parts do not count."""
    new_parts: list[Part] = []
    left = max_chars
    for part in parts:
        if not isinstance(part, (TextPart, JsonPart)):
            new_parts.append(part)
            continue
        text = render_part(part)
        if len(text) <= left:
            new_parts.append(part)
        elif left > 0:
            new_parts.append(TextPart(_truncate_text(text, left)))
        left -= len(text)
    return new_parts


def _truncate_text(text: str, max_chars: int) -> str:
    suffix = f"... [truncated, {len(text)} chars total]"
    length = max(0, max_chars - len(suffix))
    # Search back a limited way for the end of a character. A longer sequence is not a real character.
    for position in range(length, max(0, length - 40), -1):
        if not _is_one_character(text[position - 1], text[position]):
            return text[:position] + suffix
    return text[:length] + suffix


def _is_one_character(before: str, after: str) -> bool:
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
