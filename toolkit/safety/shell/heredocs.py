"""
The text of a here-document, as the command behind it reads the text.

The grammar ends a here-document at an indented `EOF`, and it does not see backticks inside it. The shell does not end
it there, and it does run the backticks. So this module reads the lines again as the shell reads them. It raises
`CannotParse` if the two readings differ, because text that we treat as data might then run.

Unless its delimiter is quoted, the shell expands the text first: `\\$` becomes `$`, `\\\\` becomes a backslash, and a
backslash at the end of a line joins two lines. A shell that runs the text sees only the result.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..._plumbing.wording import in_backticks
from .records import CannotParse
from .words import has_unescaped_substitution

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["HeredocText", "read_delimiter", "read_heredoc_text"]

_DELIMITER = re.compile(r"""\\?(?P<bare>[\w.-]+)|'(?P<single>[\w. -]+)'|"(?P<double>[\w. -]+)\"""")
_JOINS = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_VARIABLE = re.compile(r"\$[\w@*#?!$-]")


class HeredocText(NamedTuple):
    """The text that a command reads, whether the shell expands parts of it, and whether there are such parts."""

    text: str
    expands: bool
    is_exact: bool


def read_heredoc_text(node: Node, text: str) -> HeredocText:
    """Return the text of a here-document after the shell has removed its backslashes and, for `<<-`, its tabs."""
    parts = {child.type: child for child in node.children}
    start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    if start is None or end is None:
        raise CannotParse("a here-document without an end")
    delimiter, expands = read_delimiter(text[start.start_byte : start.end_byte])
    first = text.find("\n", start.end_byte) + 1
    for child in node.children:
        if child.type not in ("heredoc_body", "heredoc_end") and child.end_byte >= first:
            raise CannotParse("a here-document whose first line goes on below")
    at = _find_delimiter(text, first, delimiter, strips_tabs="<<-" in parts, joins=expands)
    if at is None or (end.start_byte, end.end_byte) != (at, at + len(delimiter)):
        raise CannotParse(f"where the here-document {in_backticks(delimiter)} ends is not understood")
    body = text[first:at]
    strips_tabs = "<<-" in parts
    if not expands:
        return HeredocText(re.sub(r"(?m)^\t+", "", body) if strips_tabs else body, expands, is_exact=True)
    spans = _find_expansions(first, parts.get("heredoc_body"))
    if has_unescaped_substitution(_remove_expansions(body, spans)):
        raise CannotParse(f"a substitution in the here-document {in_backticks(delimiter)} is not understood")
    return _expand(body, dict(spans), strips_tabs=strips_tabs)


def read_delimiter(text: str) -> tuple[str, bool]:
    """Return the delimiter behind `<<` without its quotes, and whether the shell expands what stands before it."""
    match = _DELIMITER.fullmatch(text)
    if match is None:
        raise CannotParse(f"the end {in_backticks(text[:40])} of a here-document is not understood")
    return match.group(match.lastgroup or "bare"), match.lastgroup == "bare" and not text.startswith("\\")


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


def _find_expansions(first: int, node: Node | None) -> list[tuple[int, int]]:
    """Return where the expansions that the grammar found begin and end. *first* is where the body begins."""
    children = node.children if node is not None else []
    return [
        (child.start_byte - first, child.end_byte - first)
        for child in children
        if child.is_named and child.type != "heredoc_content"
    ]


def _remove_expansions(body: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        body = f"{body[:start]} {body[end:]}"
    return body


def _expand(body: str, spans: dict[int, int], *, strips_tabs: bool) -> HeredocText:
    """Return *body* without the backslashes that the shell removes. Expansions stay as written."""
    result: list[str] = []
    is_exact, at, begins_line = not spans, 0, True
    while at < len(body):
        sign, pair = body[at], body[at : at + 2]
        if at in spans:
            result.append(body[at : spans[at]])
            at, begins_line = spans[at], False
        elif pair == "\\\n":
            # The shell joins the lines before it removes the tabs at the beginning.
            at += 2
        elif begins_line and strips_tabs and sign == "\t":
            at += 1
        elif pair in ("\\$", "\\`", "\\\\"):
            result.append(pair[1])
            at, begins_line = at + 2, False
        else:
            is_exact = is_exact and _VARIABLE.match(pair) is None
            result.append(sign)
            at, begins_line = at + 1, sign == "\n"
    return HeredocText("".join(result), expands=True, is_exact=is_exact)
