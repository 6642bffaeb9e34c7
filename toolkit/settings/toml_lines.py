"""
Parse a TOML document of limited size, and find the line on which each of its keys stands, for messages.

The parser of the standard library does not tell the lines. It also takes very long for a text that is made to stall it,
so the text is measured first.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, TypeAlias

__all__ = ["KeyPath", "find_lines", "parse_toml"]

KeyPath: TypeAlias = tuple["str | int", ...]
"""The keys from the top of the document, with the numbers of the entries in lists: `("hooks", 0, "command")`."""

_MAX_PARTS = 10_000
_MAX_DEPTH = 20
_MAX_WORD_CHARS = 200

_TOKEN = re.compile(
    r"""
    (?P<text>\"{3}(?:\\.|[^\\])*?\"{3,5} | '{3}.*?'{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*')
    | (?P<comment>\#[^\n]*)
    | (?P<newline>\n)
    | (?P<mark>[\[\]{}=,.])
    | (?P<word>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)


def parse_toml(text: str) -> dict[str, Any]:
    """
    Return the settings in the TOML document *text*.

    Raises:
        ValueError: It is not TOML, or it has far more lines, keys, entries or levels than settings have.
    """
    part_count = depth = dots = 0
    for token in _TOKEN.finditer(text):
        part_count += token[0] in ("=", "[", "{", ",", "\n")
        depth = max(0, depth + (token[0] in ("[", "{")) - (token[0] in ("]", "}")))
        dots = dots + (token[0] == ".") if token[0] == "." or token.lastgroup in ("word", "text") else 0
        if part_count > _MAX_PARTS:
            raise ValueError(f"it has more than {_MAX_PARTS:,} lines, keys and entries; settings need far fewer")
        if max(depth, dots) > _MAX_DEPTH:
            raise ValueError(f"it has more than {_MAX_DEPTH} levels of keys and lists; settings need far fewer")
        if token.lastgroup == "word" and len(token[0]) > _MAX_WORD_CHARS:
            raise ValueError(f"it has a number or a key with more than {_MAX_WORD_CHARS} characters; shorten it")
    return tomllib.loads(text)


def find_lines(text: str) -> dict[KeyPath, int]:
    """
    Return the line of each key, table and entry of a list in *text*, which is valid TOML; the first line is 1.

    A key inside an inline table has no line of its own.
    """
    return _LineScanner(text).scan()


class _LineScanner:
    """One pass over the tokens of a document."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_TOKEN.finditer(text.replace("\r\n", "\n")))
        self._line_numbers = _count_lines(self._tokens)
        self._at = 0
        self._table: KeyPath = ()
        self._lines: dict[KeyPath, int] = {}
        self._entry_counts: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.lastgroup in ("newline", "comment"):
                self._at += 1
            elif token[0] == "[":
                self._read_header()
            else:
                self._read_pair()
        return self._lines

    def _read_header(self) -> None:
        line = self._line_numbers[self._at]
        is_list = self._peek(1) == "["
        self._at += 2 if is_list else 1
        names = self._read_names("]")
        self._at += 2 if is_list else 1
        path: KeyPath = ()
        for name in names[:-1]:
            path = self._enter((*path, name), line)
        path = (*path, names[-1])
        self._lines.setdefault(path, line)
        if is_list:
            index = self._entry_counts.get(path, 0)
            self._entry_counts[path] = index + 1
            path = (*path, index)
            self._lines[path] = line
        self._table = path

    def _enter(self, path: KeyPath, line: int) -> KeyPath:
        """Return the path of the table at *path*; in a list of tables, it is the last one so far."""
        self._lines.setdefault(path, line)
        count = self._entry_counts.get(path)
        return path if count is None else (*path, count - 1)

    def _read_pair(self) -> None:
        line = self._line_numbers[self._at]
        names = self._read_names("=")
        self._at += 1
        path = self._table
        for name in names:
            path = (*path, name)
            self._lines.setdefault(path, line)
        self._skip_value(path)

    def _read_names(self, end: str) -> list[str]:
        """Return the names of a dotted key, and stop before the mark *end*."""
        names: list[str] = []
        while self._tokens[self._at][0] != end:
            token = self._tokens[self._at]
            if token.lastgroup == "text":
                names.append(tomllib.loads(f"key = {token[0]}")["key"])
            elif token.lastgroup == "word":
                names.append(token[0])
            self._at += 1
        return names

    def _skip_value(self, path: KeyPath) -> None:
        """Move to the end of a value. The lines of the entries are kept if the value is a list."""
        depth, index, expects_entry = 0, 0, False
        is_list = self._peek(0) == "["
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.lastgroup == "newline" and depth == 0:
                return
            is_closing = token[0] in ("]", "}")
            if expects_entry and token.lastgroup not in ("newline", "comment") and not is_closing:
                self._lines[(*path, index)] = self._line_numbers[self._at]
                index, expects_entry = index + 1, False
            depth += (token[0] in ("[", "{")) - is_closing
            if is_list and depth == 1 and token[0] in ("[", ","):
                expects_entry = True
            self._at += 1

    def _peek(self, offset: int) -> str:
        at = self._at + offset
        return self._tokens[at][0] if at < len(self._tokens) else ""


def _count_lines(tokens: list[re.Match[str]]) -> list[int]:
    """Return the line on which each token begins."""
    numbers, line = [], 1
    for token in tokens:
        numbers.append(line)
        line += token[0].count("\n")
    return numbers
