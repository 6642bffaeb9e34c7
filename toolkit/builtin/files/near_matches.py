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

__all__ = ["describe_near_match"]

_MAX_CHARACTERS_COMPARED = 500_000
_MAX_LINES_COMPARED = 200
_MAX_LINE_CHARACTERS = 200
_MAX_LINES_SHOWN = 12
_MAX_CHARACTERS_SHOWN = 300


def describe_near_match(text: str, old: str) -> str:
    """Return what to add to "`old` does not appear": the slip, or the nearest lines. Lines of both end in `\\n`."""
    if len(text) + len(old) > _MAX_CHARACTERS_COMPARED:
        return "; the file is too large to look for what is near, so read the place again"
    lines = text.split("\n")
    count = old.strip("\n").count("\n") + 1
    for rewrite, words in _SLIPS:
        rewritten = rewrite(old)
        if rewritten not in ("", old) and rewritten in text:
            return f"; {words}. {_render_lines(lines, text.count(chr(10), 0, text.find(rewritten)), count)}"
    for fold, words in _FOLDS:
        start = _find_folded(lines, old.strip("\n").split("\n"), fold)
        if start is not None:
            return f"; {words}. {_render_lines(lines, start, count)}"
    start = _find_nearest(lines, old.strip("\n").split("\n"))
    if start is None:
        return ", nor anything near it; read the file again"
    return f"; this is the nearest. {_render_lines(lines, start, count)}"


def _render_lines(lines: list[str], start: int, count: int) -> str:
    rows = [
        f"{number}\t{line[:_MAX_CHARACTERS_SHOWN]}{'...' * (len(line) > _MAX_CHARACTERS_SHOWN)}"
        for number, line in enumerate(lines[start : start + min(count, _MAX_LINES_SHOWN)], start + 1)
    ]
    return "\n".join(["The file has:", *rows])


# Slips: rewritten forms of `old` that would be found.

_NUMBERS = re.compile(r"^ *\d+\t", re.MULTILINE)
_ESCAPES = re.compile(r"""\\([nrt"'\\])""")
_UNESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


def _unescape(old: str) -> str:
    return _ESCAPES.sub(lambda match: _UNESCAPED.get(match[1], match[1]), old)


_SLIPS: tuple[tuple[Callable[[str], str], str], ...] = (
    (lambda old: _NUMBERS.sub("", old), "it would without the line numbers of `read`, which are not in the file"),
    (_unescape, "it would with one backslash less: it is escaped once too often"),
    (str.strip, "it would without the blank space around it"),
)


# Folds: differences without which `old` would be found.

_SIGNS = str.maketrans(
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2010\u2011\u2012\u2013\u2014\u2212", "''''\"\"\"------"
)


def _normalize_signs(line: str) -> str:
    text = unicodedata.normalize("NFKC", line.translate(_SIGNS)) if not line.isascii() else line
    return "".join(char for char in text if text.isascii() or unicodedata.category(char) != "Cf")


_FOLDS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.rstrip, "only the blank space at the ends of lines differs"),
    (str.strip, "only the indentation differs"),
    (lambda line: "".join(line.split()), "only the blank space differs"),
    (
        lambda line: "".join(_normalize_signs(line).split()),
        "only quotes, dashes, accents or invisible characters differ",
    ),
    (lambda line: "".join(_normalize_signs(line).casefold().split()), "only capitals differ"),
)


def _find_folded(lines: list[str], old_lines: list[str], fold: Callable[[str], str]) -> int | None:
    """Return the line at which *old_lines* begin if *fold* is applied to both texts, or None."""
    folded_old = "\n".join(map(fold, old_lines)).strip("\n")
    folded_text = "\n".join(map(fold, lines))
    at = folded_text.find(folded_old) if folded_old else -1
    return None if at == -1 else folded_text.count("\n", 0, at)


# The nearest lines.


def _find_nearest(lines: list[str], old_lines: list[str]) -> int | None:
    """Return the line at which the text most like *old_lines*, by the longest of them, begins, or None."""
    index = max(range(len(old_lines)), key=lambda position: len(old_lines[position].strip()))
    sample = old_lines[index].strip()[:_MAX_LINE_CHARACTERS]
    words = set(re.findall(r"\w+", sample))
    places: dict[str, int] = {}
    for number, line in enumerate(lines):
        places.setdefault(line.strip()[:_MAX_LINE_CHARACTERS], number)
    candidates = heapq.nlargest(
        _MAX_LINES_COMPARED, places, key=lambda line: len(words.intersection(re.findall(r"\w+", line)))
    )
    near = difflib.get_close_matches(sample, candidates, n=1, cutoff=0.5) if sample else []
    return max(0, places[near[0]] - index) if near else None
