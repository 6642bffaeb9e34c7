"""
The words that braces stand for: `a{b,c}` is `ab` and `ac`.

This follows the steps of bash 5 one by one, because its rules are odd: a `}` before the first comma does not close
(`{a},b}` is `a}` and `b`), braces without a partner are text, and inner braces are found before outer ones only if the
outer ones do not close.
"""

from __future__ import annotations

import re
from itertools import product

__all__ = ["expand_braces", "has_active_braces"]

_MAX_NAMES = 100
_MAX_BRACES = 50
# A longer list of numbers stays as it is written. No number is dangerous by itself.
_MAX_NUMBERS = 20
# Bash steps over variables and substitutions with all that is in them.
_EXPANSION = re.compile(r"\$\{[^{}]*\}|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.([+-]?\d{1,9}))?", re.ASCII)
_NUMBERS = re.compile(r"([+-]?\d{1,9})\.\.([+-]?\d{1,9})(?:\.\.([+-]?\d{1,9}))?", re.ASCII)


class _TooManyNames(Exception):  # noqa: N818 -- it never leaves this module
    """The braces stand for more names than can be checked."""


def has_active_braces(bare: str) -> bool:
    """Return whether the shell may change *bare*, in which each quoted part is replaced by a letter."""
    if "}" not in bare or ("," not in bare and ".." not in bare):
        return False
    starts = [match.start() for match in re.finditer(r"\{", bare)]
    return len(starts) > _MAX_BRACES or any(_find_end(bare, start + 1) is not None for start in starts)


def expand_braces(text: str) -> list[str] | None:
    """
    Return every name that braces stand for, in the order of bash, or None if there are too many to check.

    No part of *text* counts as quoted, except that variables and substitutions are left alone.
    """
    if "{" not in text or "}" not in text:
        return [text]
    if text.count("{") > _MAX_BRACES:
        return None
    mask = _EXPANSION.sub(lambda match: "x" * len(match[0]), text)
    try:
        return _expand(text, mask)
    except _TooManyNames:
        return None


def _expand(text: str, mask: str) -> list[str]:
    parts: list[list[str]] = []
    count = 1
    while text:
        start = _find_start(mask)
        end = None if start is None else _find_end(mask, start + 1)
        if start is None or end is None:
            parts.append([text])
            break
        parts.append([text[:start]])
        names = _expand_inside(text[start + 1 : end], mask[start + 1 : end])
        parts.append([text[start : end + 1]] if names is None else names)
        count *= len(parts[-1])
        if count > _MAX_NAMES:
            raise _TooManyNames
        text, mask = text[end + 1 :], mask[end + 1 :]
    return ["".join(pieces) for pieces in product(*parts)]


def _expand_inside(text: str, mask: str) -> list[str] | None:
    """Return the names for what stands between two braces, or None if the braces are text after all."""
    if "," not in mask:
        return _list_range(text)
    names: list[str] = []
    begins = 0
    for at in [*_find_commas(mask), len(mask)]:
        names += _expand(text[begins:at], mask[begins:at]) or [""]
        begins = at + 1
        if len(names) > _MAX_NAMES:
            raise _TooManyNames
    return names


def _find_start(mask: str) -> int | None:
    """Return the place of the first brace that opens and is closed again. `{}` at the beginning is text."""
    for match in re.finditer(r"\{", mask):
        start = match.start()
        if (start or not mask.startswith("{}")) and _find_end(mask, start + 1) is not None:
            return start
    return None


def _find_end(mask: str, at: int) -> int | None:
    """Return the place of the `}` that closes the brace before *at*: the first with a comma or two dots before it."""
    level = separators = 0
    while at < len(mask):
        sign = mask[at]
        if sign == "}" and not level and separators:
            return at
        if sign == "{":
            level += 1
        elif sign == "}" and level:
            level -= 1
        elif not level and (sign == "," or (mask.startswith("..", at) and mask[at + 2 : at + 3] != "}")):
            separators += 1
        at += 1
    return None


def _find_commas(mask: str) -> list[int]:
    """Return the places of the commas that are in no inner braces."""
    level, commas = 0, []
    for at, sign in enumerate(mask):
        if sign == "," and not level:
            commas.append(at)
        elif sign == "{":
            level += 1
        elif sign == "}" and level:
            level -= 1
    return commas


def _list_range(text: str) -> list[str] | None:
    """Return what `a..c` or `1..3` stands for, or None if *text* is no range, or one of many numbers."""
    if match := _LETTERS.fullmatch(text):
        return [chr(code) for code in _count(ord(match[1]), ord(match[2]), match[3])]
    if match := _NUMBERS.fullmatch(text):
        numbers = _count(int(match[1]), int(match[2]), match[3])
        if len(numbers) <= _MAX_NUMBERS:
            is_padded = any(re.match(r"[+-]?0\d", end) for end in (match[1], match[2]))
            width = max(len(match[1]), len(match[2])) if is_padded else 0
            return [f"{number:0{width}d}" for number in numbers]
    return None


def _count(first: int, last: int, step: str | None) -> range:
    size = abs(int(step or 1)) or 1
    return range(first, last + 1, size) if first <= last else range(first, last - 1, -size)
