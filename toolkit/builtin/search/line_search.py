"""
Search in files, line by line, in limited time.

Files are opened only through the workspace. Each file is read whole, once. Most files are skipped without being
decoded, because they do not hold the text that every match holds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ...errors import ToolError
from ...values.patterns import Undecidable
from ...workspace import Entry, Workspace
from ..time_limit import TimeLimit
from .grep_syntax import Query

__all__ = ["MAX_FILE_BYTES", "NO_MATCHES", "FileMatches", "search_file"]

MAX_FILE_BYTES = 20_000_000
"""Larger files are not searched."""

_SAMPLE_BYTES = 8192
_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_CHECK_TIME_EVERY = 16


class FileMatches(NamedTuple):
    """
    The result of the search in one file.

    Attributes:
        lines: All lines of the file, if any of them matches.
        hits: The numbers of the lines that match, counted from 0.
        is_binary: Whether the file matches but is not text. Then none of its lines is returned.
        undecided: The number of the first line that cannot be decided in limited time, counted from 0; None if there is
            none.
        refused: The reason if the file was not read: it is protected, or it may not or cannot be read.
    """

    lines: Sequence[str] = ()
    hits: Sequence[int] = ()
    is_binary: bool = False
    undecided: int | None = None
    refused: ToolError | None = None


NO_MATCHES = FileMatches()


def search_file(
    workspace: Workspace, entry: Entry, query: Query, time_limit: TimeLimit, *, first_only: bool = False
) -> FileMatches:
    """Return the lines of the file *entry* that match, or with *first_only* perhaps only the first one."""
    try:
        data = workspace.read(os.path.join(workspace.root, entry.path), max_bytes=MAX_FILE_BYTES)
    except ToolError as error:
        return FileMatches(refused=error)
    encoding = _BOMS.get(data[:2])
    if encoding is None and query.needle and query.needle.encode() not in data:
        return NO_MATCHES
    is_binary = encoding is None and b"\0" in data[:_SAMPLE_BYTES]
    text = data.decode(encoding or "utf-8", "replace").removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    if len(text) <= query.text_pattern.fast_limit and query.text_pattern.fast_search(text) is None:
        return NO_MATCHES
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    hits, undecided = _find_hits(lines, query, time_limit, first_only=first_only or is_binary)
    if not hits:
        return NO_MATCHES if undecided is None else FileMatches(undecided=undecided)
    return FileMatches(is_binary=True) if is_binary else FileMatches(lines, hits, undecided=undecided)


def _find_hits(
    lines: list[str], query: Query, time_limit: TimeLimit, *, first_only: bool
) -> tuple[list[int], int | None]:
    pattern, needle = query.line_pattern, query.needle
    limit, fast_search = pattern.fast_limit, pattern.fast_search
    hits: list[int] = []
    undecided: int | None = None
    for number, line in enumerate(lines):
        is_long = len(line) > limit
        if is_long or not number % _CHECK_TIME_EVERY:
            time_limit.check()
        if needle not in line:
            continue
        try:
            is_hit = pattern.search(line) if is_long else fast_search(line) is not None
        except Undecidable:
            undecided = number if undecided is None else undecided
            continue
        if is_hit:
            hits.append(number)
            if first_only:
                break
    return hits, undecided
