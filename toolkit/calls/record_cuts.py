"""
Finds the place where a long text is cut: between two records of its data, with the number of records on either side.

JSON, JSON lines, logs, tables and Markdown are recognised by their beginning. Any other text is cut after a line, and a
line that is too long for that between two characters.

A text is read a fixed number of times, by functions that are written in C, so the time grows with its length alone.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

__all__ = ["CHARACTERS", "TextCut", "find_cut"]

CHARACTERS = "characters"
"""The noun of a cut that is not between two records."""

_MAX_EMPTY_CHARS, _MAX_EMPTY_SHARE = 1_000, 0.75  # of the room; if more stays empty, a long record is cut instead
_BYTE_ORDER_MARK = "\ufeff"
_MAX_DEPTH = 4
_SAMPLE_CHARS = 4_000
_SAMPLE_LINES = 20
_MAX_CHARACTER_LENGTH = 40

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN_PATH = re.compile(r"[\w.\[\]-]{1,60}", re.ASCII)
_LOG_LINE = (
    r"[\[(<]?(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:"
    r"|(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b)"
)
_LOG_START = re.compile(_LOG_LINE)
_LOG_ENTRY = re.compile(rf"\n(?={_LOG_LINE})")
_RULER = re.compile(r"(?=.*[-=]{2})(?=.*[|+ ])[ |+:=-]+")  # the line between the head of a table and its rows
_HEADING = re.compile(r"\s*#{1,6} \S.*\n\s*\n")
_FENCE_OR_BLANK_LINE = re.compile(r"\n(?=( {0,3}(?:```|~~~))|([ \t]*\n)(?![ \t]*\n))")
# The escapes of JSON and of most languages, in which two can be one character, and the escapes of terminals.
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\."
    r"|\x1b\[[0-?]*[ -/]*[@-~]",
    re.DOTALL,
)
_decode = json.JSONDecoder().raw_decode


class TextCut(NamedTuple):
    """
    A place in a text, and what is before it.

    Attributes:
        end: The number of characters before the place.
        shown: How many records are before it.
        total: How many records there are.
        noun: What the records are: "items", "keys", "records", "rows", "entries", "paragraphs", "lines"; "characters"
            if the place is not between two records.
        place: Where the records are in the data, as words that follow the noun.
    """

    end: int
    shown: int
    total: int
    noun: str
    place: str = ""


def find_cut(text: str, max_end: int, value: Any = None) -> TextCut:
    """
    Return the last place among the first *max_end* characters of *text* at which *text* can be cut.

    *value* is the list or dictionary whose JSON *text* is, if the caller knows that. Then *text* need not be parsed.
    """
    if max_end >= len(text):
        return TextCut(len(text), len(text), len(text), CHARACTERS)
    if text[:1] == _BYTE_ORDER_MARK != text[1:2] and max_end > 1:
        behind_mark = find_cut(text[1:], max_end - 1)
        return behind_mark._replace(end=behind_mark.end + 1)
    find_in_json = partial(_cut_json, value=value)
    finders = (find_in_json, _cut_json_lines, _cut_log, _cut_table, _cut_markdown, _cut_plain_lines)
    for find in finders if max_end > 0 else ():
        cut = find(text, max_end)
        if cut is not None and max_end - cut.end <= max(_MAX_EMPTY_CHARS, _MAX_EMPTY_SHARE * max_end):
            return cut
    end = _find_character_end(text, max(0, max_end))
    return TextCut(end, end, len(text), CHARACTERS)


# JSON.


def _cut_json(text: str, max_end: int, value: Any) -> TextCut | None:
    start = _skip_space(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        return None
    try:
        container = value if isinstance(value, (list, dict)) else json.loads(text)
        return _cut_container(text[: max_end + 1], start, container, max_end)
    except (ValueError, LookupError, RecursionError):  # it is no JSON, or has a key twice, or is nested too deeply
        return None


def _cut_container(
    text: str, start: int, value: Any, max_end: int, *, path: str = "", depth: int = 0
) -> TextCut | None:
    """
    Return the cut between two items of a list, or two keys of an object, which begins at *start* of *text*.

    If no item is whole, or if most of an object is the list or object under one key, that is cut between its own items.
    """
    if not value or depth > _MAX_DEPTH:
        return None
    # The keys are foreign text, and the words about the cut are ours, so an odd key is not named there.
    place = f" in `{path}`" if _PLAIN_PATH.fullmatch(path) else ""
    max_end -= len(place)
    is_object = isinstance(value, dict)
    shown, end, key, begin = 0, start, "", len(text)
    position = start + 1
    with contextlib.suppress(ValueError):  # raised where the text ends inside an item
        while True:
            position = _skip_space(text, position)
            begin = len(text)
            if is_object:
                key, position = _decode(text, position)
                position = _skip_space(text, _skip_space(text, position) + 1)  # behind the colon
            begin = position
            _, position = _decode(text, begin)
            position = _skip_space(text, position)
            if position >= max_end or text[position] != ",":
                break
            position += 1
            shown, end = shown + 1, position
    if text[begin : begin + 1] in ("[", "{") and (not shown or (is_object and 2 * begin < max_end)):
        item = value[key if is_object else shown]
        inner_path = f"{path}.{key}".lstrip(".") if is_object else f"{path}[{shown}]"
        inner = _cut_container(text, begin, item, max_end, path=inner_path, depth=depth + 1)
        if inner is not None:
            return inner
    if not shown:
        return None
    return TextCut(end, min(shown, len(value)), len(value), "keys" if is_object else "items", place)


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()


def _cut_json_lines(text: str, max_end: int) -> TextCut | None:
    line_end = text.find("\n")
    if line_end < 0 or text[0] not in "[{" or text[line_end + 1 : line_end + 2] not in ("[", "{"):
        return None
    try:
        json.loads(text[:line_end])
    except (ValueError, RecursionError):
        return None
    return _cut_lines(text, max_end, "records")


# Texts of lines.


def _cut_lines(text: str, max_end: int, noun: str, start: int = 0) -> TextCut | None:
    """Return the cut after a line behind *start*."""
    end = text.rfind("\n", start, max_end) + 1
    if end <= start:
        return None
    total = text.count("\n", start) + (not text.endswith("\n"))
    return TextCut(end, text.count("\n", start, end), total, noun)


def _cut_plain_lines(text: str, max_end: int) -> TextCut | None:
    """Return the cut after a line, unless the next line alone would fill half of the room."""
    cut = _cut_lines(text, max_end, "lines")
    return cut if cut is not None and 2 * cut.end >= max_end else None


def _cut_before(text: str, pattern: re.Pattern[str], max_end: int, noun: str) -> TextCut | None:
    """Return the cut before one of the records that begin where *pattern* ends; the first record begins earlier."""
    matches = pattern.finditer(text, 0, max_end + _SAMPLE_CHARS)  # the pattern looks ahead
    starts = list(itertools.takewhile(lambda start: start <= max_end, (match.end() for match in matches)))
    return TextCut(starts[-1], len(starts), len(pattern.findall(text)) + 1, noun) if starts else None


def _cut_log(text: str, max_end: int) -> TextCut | None:
    """Return the cut between two entries of a log. Lines without a time or a level belong to the entry before."""
    return None if _LOG_START.match(text) is None else _cut_before(text, _LOG_ENTRY, max_end, "entries")


def _cut_table(text: str, max_end: int) -> TextCut | None:
    """Return the cut between two rows. The head of the table is no row, and a line break in quotes ends none."""
    lines = text[:_SAMPLE_CHARS].split("\n")[:-1][:_SAMPLE_LINES]
    rulers = [number for number, line in enumerate(lines[:3], 1) if _RULER.fullmatch(line.rstrip())]
    if rulers:
        return _cut_lines(text, max_end, "rows", sum(len(line) + 1 for line in lines[: rulers[-1]]))
    if not _has_columns(lines):
        return None
    head_count = 0 if any(map(str.isdigit, lines[0])) else 1
    if text.count('"') % 2 == 0:
        return _cut_quoted_rows(text, max_end, head_count)
    return _cut_lines(text, max_end, "rows", head_count * (len(lines[0]) + 1))


def _cut_quoted_rows(text: str, max_end: int, head_count: int) -> TextCut | None:
    pieces = text.split('"')  # every second one is in quotes
    total = "".join(pieces[::2]).count("\n") + (not text.endswith("\n")) - head_count
    shown, end, position = -head_count, 0, 0
    for number, piece in enumerate(pieces):
        if position >= max_end:
            break
        line_end = -1 if number % 2 else piece.rfind("\n", 0, max_end - position)
        if line_end >= 0:
            shown += piece.count("\n", 0, line_end + 1)
            end = position + line_end + 1
        position += len(piece) + 1
    return TextCut(end, shown, total, "rows") if shown > 0 else None


def _has_columns(lines: Sequence[str]) -> bool:
    """Return whether *lines* have the same number of columns, with the same sign between them."""
    for delimiter in "\t,;|":
        try:
            rows = list(csv.reader(lines, delimiter=delimiter))[:-1]  # the last one may not be whole
        except csv.Error:
            continue
        if len(rows) > 1 and len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows):
            return True
    return False


def _cut_markdown(text: str, max_end: int) -> TextCut | None:
    """Return the cut between two paragraphs, lists or tables. A block of code is not cut at its blank lines."""
    sample = text[:_SAMPLE_CHARS]
    if _HEADING.match(sample) is None and "\n## " not in sample and "\n```" not in sample:
        return None
    starts: list[int] = []
    is_code = text.startswith(("```", "~~~"))
    for match in _FENCE_OR_BLANK_LINE.finditer(text):
        if match[1] is not None:
            is_code = not is_code
        elif not is_code:
            starts.append(match.end(2))
    shown = bisect_right(starts, max_end)
    total = len(starts) + (starts[-1:] != [len(text)])
    return TextCut(starts[shown - 1], shown, total, "paragraphs") if shown else None


# Characters.


def _find_character_end(text: str, length: int) -> int:
    """Return the end of the last whole character or escape sequence among the first *length* code points of *text*."""
    end = length
    # Search back a limited way. A longer sequence is not a real character.
    for position in range(length, max(0, length - _MAX_CHARACTER_LENGTH), -1):
        if not _is_one_character(text[position - 1], text[position]):
            end = position
            break
    window = max(0, end - _MAX_CHARACTER_LENGTH), end + _MAX_CHARACTER_LENGTH
    starts = [match.start() for match in _ESCAPE.finditer(text, *window) if match.start() < end < match.end()]
    return starts[0] if starts else end


def _is_one_character(before: str, after: str) -> bool:
    """
    Return whether a person sees two code points as one character.

    Such pairs are accents, variations, joined or coloured emoji, flags, surrogates, and the line break `\\r\\n`.
    """
    return (
        unicodedata.combining(after) != 0
        or after in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or before == "\u200d"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
        or before + after == "\r\n"
    )
