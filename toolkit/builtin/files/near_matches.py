"""
Explanations of why a text was not found, and which text was probably meant.

The usual slips are recognised and named: line numbers that were copied too, one backslash too many, and different blank
space, quotes or capitals. Otherwise the nearest lines are shown. The amount of work is limited.
"""

from __future__ import annotations

import difflib
import heapq
import re
import unicodedata
from collections.abc import Callable

__all__ = ["near_help"]

_MOST_CHARACTERS_COMPARED = 500_000
_MOST_LINES_COMPARED = 200
_LONGEST_COMPARED = 200
_MOST_LINES_SHOWN = 12
_MOST_CHARACTERS_SHOWN = 300


def near_help(text: str, old: str) -> str:
    """
    Return what to add to "`old` does not appear": the slip, or the nearest lines.

    Lines end in `\\n` in both texts.
    """
    if len(text) + len(old) > _MOST_CHARACTERS_COMPARED:
        return "; the file is too large to look for what is near, so read the place again"
    lines = text.split("\n")
    count = old.strip("\n").count("\n") + 1
    for rewrite, words in _SLIPS:
        meant = rewrite(old)
        if meant not in ("", old) and meant in text:
            return f"; {words}. {_shown(lines, text.count(chr(10), 0, text.find(meant)), count)}"
    for fold, words in _FOLDS:
        start = _folded_place(lines, old.strip("\n").split("\n"), fold)
        if start is not None:
            return f"; {words}. {_shown(lines, start, count)}"
    start = _nearest(lines, old.strip("\n").split("\n"))
    if start is None:
        return ", nor anything near it; read the file again"
    return f"; this is the nearest. {_shown(lines, start, count)}"


def _shown(lines: list[str], start: int, count: int) -> str:
    shown = [
        f"{number}\t{line[:_MOST_CHARACTERS_SHOWN]}{'...' * (len(line) > _MOST_CHARACTERS_SHOWN)}"
        for number, line in enumerate(lines[start : start + min(count, _MOST_LINES_SHOWN)], start + 1)
    ]
    return "\n".join(["The file has:", *shown])


# Slips: rewritten forms of `old` that would be found.

_NUMBERS = re.compile(r"^ *\d+\t", re.MULTILINE)
_ESCAPES = re.compile(r"""\\([nrt"'\\])""")
_MEANT = {"n": "\n", "r": "\r", "t": "\t"}


def _unescaped(old: str) -> str:
    return _ESCAPES.sub(lambda match: _MEANT.get(match[1], match[1]), old)


_SLIPS: tuple[tuple[Callable[[str], str], str], ...] = (
    (lambda old: _NUMBERS.sub("", old), "it would without the line numbers of `read`, which are not in the file"),
    (_unescaped, "it would with one backslash less: it is escaped once too often"),
    (str.strip, "it would without the blank space around it"),
)


# Folds: differences without which `old` would be found.

_SIGNS = str.maketrans(
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2010\u2011\u2012\u2013\u2014\u2212", "''''\"\"\"------"
)


def _plain_signs(line: str) -> str:
    text = unicodedata.normalize("NFKC", line.translate(_SIGNS)) if not line.isascii() else line
    return "".join(each for each in text if text.isascii() or unicodedata.category(each) != "Cf")


_FOLDS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.rstrip, "only the blank space at the ends of lines differs"),
    (str.strip, "only the indentation differs"),
    (lambda line: "".join(line.split()), "only the blank space differs"),
    (lambda line: "".join(_plain_signs(line).split()), "only quotes, dashes, accents or invisible characters differ"),
    (lambda line: "".join(_plain_signs(line).casefold().split()), "only capitals differ"),
)


def _folded_place(lines: list[str], wanted: list[str], fold: Callable[[str], str]) -> int | None:
    """Return the line at which *wanted* begins if *fold* is applied to both texts, or None."""
    meant = "\n".join(map(fold, wanted)).strip("\n")
    seen = "\n".join(map(fold, lines))
    at = seen.find(meant) if meant else -1
    return None if at == -1 else seen.count("\n", 0, at)


# The nearest lines.


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """
    Return the line at which the text most like *wanted* begins, or None.

    The longest line of *wanted* is compared.
    """
    index = max(range(len(wanted)), key=lambda each: len(wanted[each].strip()))
    sample = wanted[index].strip()[:_LONGEST_COMPARED]
    words = set(re.findall(r"\w+", sample))
    places: dict[str, int] = {}
    for number, line in enumerate(lines):
        places.setdefault(line.strip()[:_LONGEST_COMPARED], number)
    candidates = heapq.nlargest(
        _MOST_LINES_COMPARED, places, key=lambda line: len(words.intersection(re.findall(r"\w+", line)))
    )
    near = difflib.get_close_matches(sample, candidates, n=1, cutoff=0.5) if sample else []
    return max(0, places[near[0]] - index) if near else None
