"""The report of a search for a model: a limited number of matches, and how many more there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ..._plumbing.wording import format_count
from ...errors import Safety
from ...values.patterns import Pattern
from ...values.text_limits import count_bytes
from ...workspace import Entry
from .line_search import FileMatches

__all__ = ["ReportMode", "SearchReport", "format_names", "format_path"]

ReportMode = Literal["lines", "files", "count"]

_MAX_TEXT_BYTES = 30_000
_MAX_LINES_COUNTED = 100_000
_MAX_FILES_COUNTED = 10_000
_MAX_LINE_CHARACTERS = 400
_CHARACTERS_BEFORE_MATCH = 100
_MAX_NAMES = 5
# What a note says of one such file, and of several.
_UNSHOWN_FILES = {
    "binary": ("binary file matches and is not shown", "binary files match and are not shown"),
    "protected": ("protected file was not searched", "protected files were not searched"),
    "unread": ("file may not or cannot be read", "files may not or cannot be read"),
    "undecided": (
        "file has a line too long for this pattern, which was not decided",
        "files have a line too long for this pattern, which was not decided",
    ),
}


class SearchReport:
    """
    Collects the results of one file after the other, in the order in which they are shown.

    In the modes "files" and "count", each file has one row. *pattern* finds where in a long line the match is.
    """

    def __init__(self, mode: ReportMode, *, limit: int, context_lines: int, pattern: Pattern) -> None:
        self.mode = mode
        self._limit = limit
        self._context_lines = context_lines
        self._pattern = pattern
        self._rows: list[str] = []
        self._shown_bytes = 0
        self._shown_count = 0
        self._more_lines = 0
        self._more_files = 0
        self._unshown: dict[str, list[str]] = {kind: [] for kind in _UNSHOWN_FILES}

    @property
    def is_empty(self) -> bool:
        """Whether no line was found."""
        return not self._rows and not self._more_files

    @property
    def is_full(self) -> bool:
        """Whether so much was found that the exact number of further matches is not needed."""
        return self._more_lines >= _MAX_LINES_COUNTED or self._more_files >= _MAX_FILES_COUNTED

    def add(self, entry: Entry, result: FileMatches) -> None:
        """Add what was found in the file *entry*."""
        path = format_path(entry.path)
        if result.refused is not None:
            self._unshown["protected" if isinstance(result.refused, Safety) else "unread"].append(path)
        if result.is_binary:
            self._unshown["binary"].append(path)
        if result.undecided is not None:
            self._unshown["undecided"].append(f"{path}:{result.undecided + 1}")
        if result.hits:
            self._add_matches(path, result)

    def _add_matches(self, path: str, result: FileMatches) -> None:
        room = self._limit - self._shown_count if self._shown_bytes < _MAX_TEXT_BYTES else 0
        if room <= 0:
            self._more_files += 1
            self._more_lines += len(result.hits)
            return
        if self.mode != "lines":
            self._rows.append(path if self.mode == "files" else f"{path}: {len(result.hits)}")
            self._shown_count += 1
            return
        if self._context_lines and self._rows:
            self._rows.append("--")
        last = result.hits[:room][-1] + self._context_lines
        rows = list(self._render_lines(path, result, result.hits[:room]))
        # Matches among the lines around the last match are shown too.
        shown_count = sum(hit <= last for hit in result.hits)
        self._rows += rows
        self._shown_bytes += sum(map(count_bytes, rows))
        self._shown_count += shown_count
        self._more_lines += len(result.hits) - shown_count

    def _render_lines(self, path: str, result: FileMatches, shown_hits: Sequence[int]) -> Iterator[str]:
        hits = set(result.hits)
        last = -1
        for hit in shown_hits:
            first = max(last + 1, hit - self._context_lines)
            if self._context_lines and last >= 0 and first > last + 1:
                yield "--"
            end = min(len(result.lines) - 1, hit + self._context_lines)
            for number in range(first, end + 1):
                mark = ":" if number in hits else "-"
                yield f"{path}{mark}{number + 1}{mark} {self._cut_line(result.lines[number])}"
            last = max(last, end)

    def _cut_line(self, line: str) -> str:
        line = line.replace("\r", "\\r")
        if len(line) <= _MAX_LINE_CHARACTERS:
            return line
        match = self._pattern.fast_search(line) if len(line) <= self._pattern.fast_limit else None
        start = max(0, match.start() - _CHARACTERS_BEFORE_MATCH) if match and match.end() > _MAX_LINE_CHARACTERS else 0
        piece = line[start : start + _MAX_LINE_CHARACTERS]
        return f"{'... ' if start else ''}{piece}... [cut: the line has {format_count(len(line), 'character')}]"

    def text(self, *, notes: list[str]) -> str:
        """Return the whole report, with *notes* at its end."""
        return "\n".join([*self._rows, *(f"({note})" for note in (*self._notes(), *notes))])

    def _notes(self) -> Iterator[str]:
        if self.is_empty:
            yield "nothing matches"
        if self._more_files or self._more_lines:
            atleast = "at least " if self.is_full else ""
            counts = [format_count(self._more_lines, "more matching line")] * (self.mode == "lines")
            counts += [format_count(self._more_files, "more file")] * bool(self._more_files)
            yield f"{atleast}{' in '.join(counts)}; narrow the pattern or the path, or raise the limit"
        for kind, names in self._unshown.items():
            if names:
                yield f"{len(names):,} {_UNSHOWN_FILES[kind][len(names) > 1]}: {format_names(names)}"


def format_names(names: list[str]) -> str:
    """Return the first few of *names* as one text."""
    return ", ".join(names[:_MAX_NAMES]) + (", ..." if len(names) > _MAX_NAMES else "")


def describe_unused_rules(paths: list[str]) -> list[str]:
    """Return the note on the files *paths* whose rules do not all count; none if there are none."""
    names = format_names([format_path(path) for path in paths])
    return [f"too large or with too many rules, so not all of it counts: {names}"] if paths else []


def format_path(path: str) -> str:
    """Return *path* on one line, as a model can pass it back: odd characters escaped, and `./` before a `~`."""
    if path.startswith("~"):
        path = f"./{path}"
    if path.isprintable():
        return path
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in path)
