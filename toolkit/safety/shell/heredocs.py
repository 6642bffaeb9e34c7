"""
A check of where a here-document really ends.

The grammar ends a here-document at an indented `EOF`, and it does not see backticks inside it. The shell does not end
it there, and it does run the backticks. So this module reads the lines again as the shell reads them. It raises
`CannotParse` if the two readings differ, because text that we treat as data might then run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..._plumbing.wording import in_backticks
from .records import CannotParse
from .words import has_unescaped_substitution

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["heredoc_text"]

_DELIMITER = re.compile(r"""\\?(?P<bare>[\w.-]+)|'(?P<single>[\w. -]+)'|"(?P<double>[\w. -]+)\"""")
_JOINS = re.compile(r"(?<!\\)(?:\\\\)*\\$")


def heredoc_text(node: Node, text: str) -> tuple[str, bool]:
    """Return the text of a here-document, and whether the shell expands the variables and substitutions in it."""
    parts = {child.type: child for child in node.children}
    start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    if start is None or end is None:
        raise CannotParse("a here-document without an end")
    quoted_delimiter = text[start.start_byte : start.end_byte]
    match = _DELIMITER.fullmatch(quoted_delimiter)
    if match is None:
        raise CannotParse(f"the end {in_backticks(quoted_delimiter[:40])} of a here-document is not understood")
    delimiter = match.group(match.lastgroup or "bare")
    expands = match.lastgroup == "bare" and not quoted_delimiter.startswith("\\")
    first = text.find("\n", start.end_byte) + 1
    for child in node.children:
        if child.type not in ("heredoc_body", "heredoc_end") and child.end_byte >= first:
            raise CannotParse("a here-document whose first line goes on below")
    at = _find_delimiter(text, first, delimiter, strips_tabs="<<-" in parts, joins=expands)
    if at is None or (end.start_byte, end.end_byte) != (at, at + len(delimiter)):
        raise CannotParse(f"where the here-document {in_backticks(delimiter)} ends is not understood")
    body = text[first:at]
    if expands and has_unescaped_substitution(_remove_expansions(body, first, parts.get("heredoc_body"))):
        raise CannotParse(f"a substitution in the here-document {in_backticks(delimiter)} is not understood")
    return body, expands


def _find_delimiter(text: str, at: int, delimiter: str, *, strips_tabs: bool, joins: bool) -> int | None:
    """Return the offset at which the delimiter stands alone on its line, or None if there is no such line."""
    while at < len(text):
        stop = text.find("\n", at)
        line = text[at:] if stop < 0 else text[at:stop]
        begins = at + (len(line) - len(line.lstrip("\t")) if strips_tabs else 0)
        joined = False
        while joins and stop >= 0 and _JOINS.search(line):
            after = text.find("\n", stop + 1)
            line = line[:-1] + (text[stop + 1 :] if after < 0 else text[stop + 1 : after])
            stop, joined = after, True
        if (line.lstrip("\t") if strips_tabs else line) == delimiter:
            return None if joined else begins
        if stop < 0:
            return None
        at = stop + 1
    return None


def _remove_expansions(body: str, first: int, node: Node | None) -> str:
    """Return the body without the expansions that the grammar found in it."""
    for child in reversed(node.children if node is not None else []):
        if child.is_named and child.type != "heredoc_content":
            body = body[: child.start_byte - first] + " " + body[child.end_byte - first :]
    return body
