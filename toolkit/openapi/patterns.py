"""
Translates the regular expressions of ECMAScript, which OpenAPI documents have, into those of Python.

A property of Unicode, such as `\\p{L}`, has no exact counterpart in Python. It becomes a class that has at least the
same characters, so that no value is refused that the server accepts. The server still checks the value exactly.
"""

from __future__ import annotations

import re

from ..errors import DefinitionError

__all__ = ["translate_pattern"]

_LETTERS = frozenset(["L", "Lu", "Ll", "Lt", "Lm", "Lo", "L&", "LC", "Letter", "Alpha", "Upper", "Lower"])
_DIGITS = frozenset(["N", "Nd", "Nl", "No", "Number", "Digit", "XDigit", "Alnum"])
_ANY = r"\s\S"
_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)(?:Is|gc=|General_Category=)?([^{}]{1,60})\}|([A-Z]))")
_NAMED_GROUP = re.compile(r"\(\?<([A-Za-z_]\w*)>")
_NAMED_REFERENCE = re.compile(r"\\k<([A-Za-z_]\w*)>")
_CODE_POINT = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}")


def translate_pattern(pattern: str) -> str:
    """Return *pattern* in the syntax of Python, or raise `DefinitionError` if it has no meaning."""
    translated = _translate(pattern) if "\\" in pattern or "(?<" in pattern or "[^]" in pattern else pattern
    try:
        re.compile(translated)
    except (re.error, RecursionError, OverflowError) as error:
        raise DefinitionError(f"the pattern {pattern[:200]!r} has no meaning: {error}") from None
    return translated


def _translate(pattern: str) -> str:
    pieces: list[str] = []
    at, is_in_class = 0, False
    while at < len(pattern):
        piece, length = _translate_at(pattern, at, is_in_class)
        if length == 1 and piece in "[]":
            is_in_class = piece == "["
        pieces.append(piece)
        at += length
    return "".join(pieces)


def _translate_at(pattern: str, at: int, is_in_class: bool) -> tuple[str, int]:
    """Return the translation of what begins at *at*, and its length in *pattern*."""
    if pattern[at] == "\\":
        if match := _PROPERTY.match(pattern, at):
            is_negated = (match[1] == "P") != bool(match[2])
            return _find_class(match[3] or match[4], is_negated, is_in_class), len(match[0])
        if match := _NAMED_REFERENCE.match(pattern, at):
            return f"(?P={match[1]})", len(match[0])
        if match := _CODE_POINT.match(pattern, at):
            return f"\\U{int(match[1], 16):08x}", len(match[0])
        following = pattern[at + 1 : at + 2]
        if following == "h":
            return r" \t" if is_in_class else r"[ \t]", 2
        return {"z": r"\Z", "/": "/"}.get(following, pattern[at : at + 2]), 2
    if not is_in_class:
        if match := _NAMED_GROUP.match(pattern, at):
            return f"(?P<{match[1]}>", len(match[0])
        if pattern.startswith("[^]", at):
            return f"[{_ANY}]", 3
    elif pattern[at] == "[":
        return r"\[", 1  # in a class it stands for itself
    return pattern[at], 1


def _find_class(name: str, is_negated: bool, is_in_class: bool) -> str:
    """Return a class that has at least the characters of the property *name*: letters, letters and digits, or all."""
    is_letter = name in _LETTERS or name.endswith("_Letter")
    if is_negated or not (is_letter or name in _DIGITS or name == "Decimal_Number"):
        return _ANY if is_in_class else f"[{_ANY}]"
    return r"\w" if is_in_class or not is_letter else r"[^\W\d_]"
