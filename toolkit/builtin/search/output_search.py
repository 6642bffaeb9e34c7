"""
Search in a kept output. A match comes with its place in characters, which is where `read_output` can read on.

An output may be one line of a million characters. So a long line is searched in pieces that overlap, and only the
surroundings of a match are shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...calls.kept_outputs import KeptOutput
from ...context import Context
from ...values.patterns import Undecidable
from ..time_limit import TimeUp, time_limit_for
from .grep_syntax import Query

__all__ = ["search_output"]

_PIECE_CHARS = 1000
_OVERLAP_CHARS = 200
_MAX_SHOWN_CHARS = 400
_CHARS_BEFORE_MATCH = 100
_CHECK_TIME_EVERY = 16
_MAX_SECONDS = 10.0


class _OutputRow(NamedTuple):
    """A line of an output, or a piece of a long line. `next_start` is the place where the next row starts."""

    start: int
    text: str
    next_start: int
    is_piece: bool


def search_output(
    output: KeptOutput,
    query: Query,
    context: Context,
    *,
    max_matches: int,
    offset: int = 0,
    max_chars: int | None = None,
    prefix: str = "",
) -> str:
    """
    Return the lines of *output* that match *query* from *offset* on, each after *prefix* and its place.

    Notes at the end say where to go on if not all matches are shown, and what was not searched. About *max_chars*
    characters are shown; those of a page unless given.
    """
    max_chars = output.page_chars if max_chars is None else max_chars
    time_limit = time_limit_for(_MAX_SECONDS, context)
    lines: list[str] = []
    notes: list[str] = []
    shown_chars = undecided = 0
    place = offset
    try:
        for number, row in enumerate(_iterate_rows(output.text, offset)):
            place = row.start
            if not number % _CHECK_TIME_EVERY:
                time_limit.check()
            try:
                line = _render_match(row, query, prefix)
            except Undecidable:
                undecided += 1
                continue
            if line is None:
                continue
            if len(lines) >= max_matches or (lines and shown_chars + len(line) > max_chars):
                notes.append(f"more lines match; continue with {prefix and 'read_output and '}offset={row.start}")
                break
            lines.append(line)
            shown_chars += len(line) + 1
    except TimeUp:
        notes.append(f"the time was up; continue with offset={place}")
    if undecided:
        notes.append(f"{undecided:,} lines are too long for this pattern, and were not decided")
    if len(output.text) < output.total_chars:
        notes.append(f"only the first {len(output.text):,} of {output.total_chars:,} characters were kept")
    if not lines:
        notes.insert(0, "nothing matches")
    return "\n".join([*lines, *(f"({note})" for note in notes)])


def _iterate_rows(text: str, start: int) -> Iterator[_OutputRow]:
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        while end - start > _PIECE_CHARS + _OVERLAP_CHARS:
            piece = text[start : start + _PIECE_CHARS + _OVERLAP_CHARS]
            yield _OutputRow(start, piece, start + _PIECE_CHARS, is_piece=True)
            start += _PIECE_CHARS
        yield _OutputRow(start, text[start:end], end + 1, is_piece=False)
        start = end + 1


def _render_match(row: _OutputRow, query: Query, prefix: str) -> str | None:
    """Return the part of *row* around its first match, after its place; None if *row* does not match."""
    pattern, text = query.line_pattern, row.text
    if query.needle not in text:
        return None
    match = pattern.fast_search(text) if len(text) <= pattern.fast_limit else None
    if match is None and (len(text) <= pattern.fast_limit or not pattern.search(text)):
        return None
    if row.is_piece and match is not None and match.start() >= row.next_start - row.start:
        return None  # the next piece has this match too
    start = 0
    if match is not None and match.end() > _MAX_SHOWN_CHARS:
        start = max(0, match.start() - _CHARS_BEFORE_MATCH)
    shown = text[start : start + _MAX_SHOWN_CHARS]
    rest = "..." if row.is_piece or start + _MAX_SHOWN_CHARS < len(text) else ""
    return f"{prefix}{row.start + start}: {shown}{rest}"
