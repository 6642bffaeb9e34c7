"""
TOML files of the user and of projects: parsed with limits, and with the line of each key for messages.

A missing file is no problem. Any of these is a problem to report, because the settings in the file are then missing:
a link out of the project, a pipe, a file that is too large, a file that is not TOML.

The parser of the standard library does not tell the lines. It also takes very long for a text that is made to stall it,
so the text is measured first.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .._plumbing.regular_files import explain_file_error, read_regular_file

__all__ = ["MAX_SETTINGS_BYTES", "KeyPath", "TomlFile", "find_lines", "parse_toml"]

MAX_SETTINGS_BYTES = 256 * 1024
"""The most that a settings file may have. A hundred servers and a thousand rules need less."""

KeyPath: TypeAlias = tuple["str | int", ...]
"""The keys from the top of the document, with the numbers of the entries in lists: `("hooks", 0, "command")`."""

_Token: TypeAlias = tuple[int, "re.Match[str]"]
"""A token, with the line on which it begins."""

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


class TomlFile:
    """
    The content of one TOML file at the time when it was read, and the settings in it as `data`.

    Both are empty if the file is missing. If it cannot be used, a message is added to *problems*. *read* returns the
    content, or None if there is no file; by default the file at *path* is read.
    """

    def __init__(self, path: Path, problems: list[str], *, read: Callable[[], bytes | None] | None = None) -> None:
        self.path = path
        self.data: dict[str, Any] = {}
        self.exists = False
        self.content = b""
        self._lines: dict[KeyPath, int] | None = None
        try:
            content = self._read() if read is None else read()
            if content is not None:
                self.exists, self.content = True, content
                self.data = parse_toml(content.decode("utf-8-sig"))
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: cannot be used ({explain_file_error(error)}); correct it, or move it away")

    def place_of(self, *path: str | int) -> str:
        """Return the file and the line of the setting at *path*, or of what it stands in: "/home/ada/x.toml:3"."""
        if self._lines is None:
            self._lines = find_lines(self.content.decode("utf-8-sig"))
        while path and path not in self._lines:
            path = path[:-1]
        return f"{self.path}:{self._lines[path]}" if path else str(self.path)

    def _read(self) -> bytes | None:
        file = read_regular_file(self.path, MAX_SETTINGS_BYTES)
        return None if file is None else file.content


def find_lines(text: str) -> dict[KeyPath, int]:
    """
    Return the line of each key, table and entry of a list in *text*, which is valid TOML; the first line is 1.

    A key inside an inline table has no line of its own.
    """
    lines: dict[KeyPath, int] = {}
    entry_counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for statement in _split_statements(text):
        marks = [token[0] for _, token in statement]
        line, is_header = statement[0][0], marks[0] == "["
        value_at = len(marks) if is_header else marks.index("=")
        path = () if is_header else table
        for name in _read_names(statement[:value_at]):
            # Inside a list of tables, a name belongs to the last table so far.
            path = (*path, entry_counts[path] - 1, name) if path in entry_counts else (*path, name)
            lines.setdefault(path, line)
        if not is_header:
            lines.update(_find_entry_lines(path, statement[value_at + 1 :]))
            continue
        table = path
        if marks[1] == "[":
            table = (*path, entry_counts.get(path, 0))
            entry_counts[path] = entry_counts.get(path, 0) + 1
            lines[table] = line
    return lines


def _split_statements(text: str) -> Iterator[list[_Token]]:
    """Yield the tokens of each header, and of each key with its value, without comments and line breaks."""
    statement: list[_Token] = []
    line, depth = 1, 0
    for token in _TOKEN.finditer(text.replace("\r\n", "\n")):
        if token.lastgroup == "newline" and depth == 0 and statement:
            yield statement
            statement = []
        elif token.lastgroup not in ("newline", "comment"):
            statement.append((line, token))
            depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
        line += token[0].count("\n")
    if statement:
        yield statement


def _read_names(tokens: Sequence[_Token]) -> Iterator[str]:
    """Yield the names of a dotted key."""
    for _, token in tokens:
        if token.lastgroup == "text":
            yield tomllib.loads(f"key = {token[0]}")["key"]
        elif token.lastgroup == "word":
            yield token[0]


def _find_entry_lines(path: KeyPath, value: Sequence[_Token]) -> Iterator[tuple[KeyPath, int]]:
    """Yield the line of each entry of the list at *path*; a *value* that is no list has none."""
    depth, index, expects_entry = 0, 0, False
    for line, token in value if value[0][1][0] == "[" else ():
        is_closing = token[0] in ("]", "}")
        if expects_entry and not is_closing:
            yield (*path, index), line
            index, expects_entry = index + 1, False
        depth += (token[0] in ("[", "{")) - is_closing
        if depth == 1 and token[0] in ("[", ","):
            expects_entry = True
