"""
Converts a web page to readable text in the style of Markdown: headings, lists, links, tables and code.

Parts that are not visible on the page (scripts, styles, hidden elements) and its navigation are left out. Time and size
are limited for every page.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from ..._plumbing.wording import build_fence
from .html_elements import (
    BLOCKS,
    CLOSES,
    DROPPED,
    HEADINGS,
    VOID,
    absolute_url,
    code_language,
    collapse_spaces,
    is_hidden,
    remove_invisible,
)
from .html_tokens import HtmlEndTag, HtmlStartTag, tokenize

__all__ = ["HtmlText", "html_text"]

_MAX_DEPTH = 128
_MAX_INDENT = 8
_MAX_TOKENS = 250_000  # work of some seconds; a page of a megabyte has some ten thousand tokens


@dataclass(frozen=True, slots=True)
class HtmlText:
    """The title and the text of a page, and whether the page has more text than the caller wants."""

    title: str
    text: str
    is_cut: bool = False


def html_text(source: str, *, base: str = "", max_chars: int = 2_000_000) -> HtmlText:
    """Return the text of about *max_chars* of an HTML page. Its address, *base*, makes its links absolute."""
    page = _convert(source, base, max_chars, DROPPED)
    if not page.text and "<nav" in source.lower():
        # The page consists only of navigation, such as a list of chapters.
        page = _convert(source, base, max_chars, DROPPED - {"nav"})
    return page


def _convert(source: str, base: str, max_chars: int, dropped: frozenset[str]) -> HtmlText:
    writer = _MarkdownWriter(base, max_chars, dropped)
    remaining = tokenize(source)
    for token in islice(remaining, _MAX_TOKENS):
        if isinstance(token, HtmlStartTag):
            writer.start(token)
        elif isinstance(token, HtmlEndTag):
            writer.end(token.name)
        else:
            writer.text(token)
        if writer.is_full:
            break
    return writer.result(is_cut=writer.is_full or next(remaining, None) is not None)


@dataclass(slots=True)
class _Element:
    name: str
    is_dropped: bool = False
    number: int = 0  # the number of the next item, in an ordered list


@dataclass(slots=True)
class _Link:
    url: str
    start: int  # the index in the pieces at which its text begins


@dataclass(slots=True)
class _TableRow:
    cells: list[int] = field(default_factory=list)  # the indices in the pieces at which the cells begin
    is_head: bool = True
    is_plain: bool = True  # whether the row is still one line


class _MarkdownWriter:
    """Takes tags and text in their order, and writes lines."""

    def __init__(self, base: str, max_chars: int, dropped: frozenset[str]) -> None:
        self._base = base
        self._characters_left = max_chars
        self._dropped = dropped
        self._title: list[str] = []
        self._open: list[_Element] = []
        self._counts: Counter[str] = Counter()
        self._lists: list[_Element] = []
        self._hidden = 0  # how many open elements are left out
        self._too_deep: Counter[str] = Counter()  # elements that are nested too deeply to be followed
        self._too_deep_outside = self._too_deep  # those around a hidden element that is nested as deeply
        self._blocks: list[str] = []
        self._pieces: list[str] = []  # the pieces of the block that is being read
        self._mark = ""  # the beginning of the next line: "# ", "- ", "1. "
        self._tight = False  # whether the next block follows without an empty line
        self._link: _Link | None = None
        self._rows: list[_TableRow] = []
        self._language = ""

    @property
    def is_full(self) -> bool:
        return self._characters_left < 0

    def result(self, *, is_cut: bool) -> HtmlText:
        while self._open:
            self._pop()
        self._break()
        title = collapse_spaces(remove_invisible("".join(self._title))).strip()
        return HtmlText(title[:500], "".join(self._blocks).strip("\n"), is_cut)

    # Input.

    def text(self, text: str) -> None:
        if self._open and self._open[-1].name == "title":
            if not self._title and not self._counts["svg"]:
                self._title.append(text)
            return
        if self._hidden or self._counts["head"]:
            return
        text = remove_invisible(text)
        self._add(text if self._counts["pre"] else collapse_spaces(text))

    def start(self, tag: HtmlStartTag) -> None:
        name = tag.name
        if name in CLOSES:
            self._close_implied(*CLOSES[name])
        if name == "body" or (name in BLOCKS and name != "html"):
            self._close("head")  # the head ends where the page begins, even without an end tag
        is_dropped = name in self._dropped or is_hidden(tag)
        if name in VOID:
            if is_dropped:
                return
        else:
            if len(self._open) >= _MAX_DEPTH:
                if self._hidden or not is_dropped:
                    self._too_deep[name] += 1
                    return
                # What hides its content is followed at any depth, and the end tags in it close nothing outside.
                self._too_deep_outside, self._too_deep = self._too_deep, Counter()
            self._open.append(_Element(name, is_dropped))
            self._counts[name] += 1
            self._hidden += is_dropped
        if name == "base" and not self._hidden:
            self._base = absolute_url(self._base, tag.attributes.get("href", "")) or self._base
        if self._hidden or self._counts["head"]:
            return
        self._begin_element(tag)

    def end(self, name: str) -> None:
        if name == "br":
            self._add("\n")
        elif name == "p" and not self._counts["p"] and not self._hidden:
            self._break()
        else:
            self._close(name)

    # Elements.

    def _begin_element(self, tag: HtmlStartTag) -> None:
        name = tag.name
        if name in ("table", "pre") and self._rows:
            self._rows[-1].is_plain = False
        if name in BLOCKS:
            self._break()
        if name in HEADINGS:
            self._mark += HEADINGS[name]
        elif name in ("ul", "ol", "menu"):
            first = tag.attributes.get("start", "")
            self._open[-1].number = int(first) if re.fullmatch("[0-9]{1,6}", first) else 1
            self._lists.append(self._open[-1])
        elif name == "li":
            self._begin_item()
        elif name == "pre":
            self._language = code_language(tag)
        elif name == "code" and self._counts["pre"]:
            self._language = self._language or code_language(tag)
        elif name == "code":
            self._add("`")
        elif name == "br":
            self._add("\n")
        elif name == "hr":
            self._break()
            self._write("---")
        elif name == "img" and (alt := collapse_spaces(tag.attributes.get("alt", "")).strip()):
            self._add(f"[image: {remove_invisible(alt)}]")
        elif name == "a" and not self._counts["pre"]:
            url = absolute_url(self._base, tag.attributes.get("href", ""))
            self._link = _Link(url, len(self._pieces)) if url else None
        elif name == "tr":
            self._rows.append(_TableRow())
        elif name in ("td", "th") and self._rows:
            row = self._rows[-1]
            row.cells.append(len(self._pieces))
            row.is_head = row.is_head and name == "th"
            if not row.is_plain:
                self._break()

    def _close_implied(self, names: frozenset[str], fence: frozenset[str]) -> None:
        """Close the elements that end where a new element of their kind begins."""
        if not any(self._counts[name] for name in names):
            return
        last = None
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at].name in fence:
                break
            if self._open[at].name in names:
                last = at
        while last is not None and len(self._open) > last:
            self._pop()

    def _close(self, name: str) -> None:
        if self._too_deep[name]:
            self._too_deep[name] -= 1
            return
        if not self._counts[name]:
            return
        # The end tag of an element outside a table does not close a cell inside the table.
        if name not in ("table", "body", "html") and self._counts["table"] and self._is_outside_table(name):
            return
        while self._pop() != name:
            pass

    def _is_outside_table(self, name: str) -> bool:
        """Return whether the innermost table is inside the innermost element called *name*."""
        names = (element.name for element in reversed(self._open))
        return next(open_name for open_name in names if open_name in (name, "table")) != name

    def _pop(self) -> str:
        element = self._open[-1]
        if not self._hidden and not self._counts["head"]:
            self._finish_element(element.name)
        self._open.pop()
        if len(self._open) >= _MAX_DEPTH:
            self._too_deep = self._too_deep_outside
        self._counts[element.name] -= 1
        self._hidden -= element.is_dropped
        return element.name

    def _finish_element(self, name: str) -> None:
        if name == "pre":
            self._write_code_block()
        elif name == "code" and not self._counts["pre"]:
            self._add("`")
        elif name == "a":
            self._end_link()
        elif name == "tr" and self._rows:
            self._end_row(self._rows.pop())
        elif name in BLOCKS:
            self._break()
            if name in ("li", *HEADINGS):
                self._mark = ""
            elif name in ("ul", "ol", "menu", "table"):
                self._tight = bool(self._counts["li"])
                if name != "table":
                    self._lists.pop()

    # Output.

    def _add(self, piece: str) -> None:
        if not self._hidden and piece:
            self._pieces.append(piece)
            self._characters_left -= len(piece)

    def _begin_item(self) -> None:
        mark = "- "
        if self._lists and self._lists[-1].name == "ol":
            mark = f"{self._lists[-1].number}. "
            self._lists[-1].number += 1
        self._mark = "  " * max(0, min(len(self._lists), _MAX_INDENT) - 1) + mark

    def _end_link(self) -> bool:
        """Write the open link, if it has any text yet, and return whether it had."""
        link, self._link = self._link, None
        if link is None:
            return False
        text = collapse_spaces("".join(self._pieces[link.start :])).strip()
        if text:
            del self._pieces[link.start :]
            self._add(text if text == link.url else f"[{text}]({link.url})")
        return bool(text)

    def _end_row(self, row: _TableRow) -> None:
        if not row.is_plain or not row.cells:
            self._break()
            return
        self._end_link()
        ends = [*row.cells[1:], len(self._pieces)]
        cells = ["".join(self._pieces[start:end]) for start, end in zip(row.cells, ends, strict=True)]
        cells = [collapse_spaces(cell).strip().replace("|", "\\|") for cell in cells]
        self._pieces.clear()
        if not any(cells):
            return
        line = f"| {' | '.join(cells)} |"
        if row.is_head:
            line += "\n|" + " --- |" * len(cells)
        self._write(line)
        self._tight = True

    def _write_code_block(self) -> None:
        code = "".join(self._pieces).strip("\n").rstrip()
        self._pieces.clear()
        if code:
            marks = build_fence(code)
            self._write(f"{marks}{self._language}\n{code}\n{marks}")
        self._language = ""

    def _break(self) -> None:
        """End the line that is being read. Inside a plain row of a table, the line goes on."""
        if self._counts["pre"] and self._open[-1].name != "pre":
            self._add("\n" if self._pieces and not self._pieces[-1].endswith("\n") else "")
            return
        if self._rows and self._rows[-1].is_plain and self._rows[-1].cells:
            self._add(" ")
            return
        if not self._pieces and self._link is None:
            return
        link = self._link
        if not self._end_link() and link is not None:
            self._link = _Link(link.url, 0)  # the text of the link comes in a later block
        text = re.sub(" ?\n ?", "\n", re.sub("  +", " ", "".join(self._pieces))).strip()
        self._pieces.clear()
        if text:
            self._write(text)

    def _write(self, text: str) -> None:
        quote = "> " * min(self._counts["blockquote"], _MAX_INDENT)
        mark, self._mark = self._mark, ""
        depth = min(self._counts["li"], _MAX_INDENT)
        indent = "" if mark else "  " * depth
        hang = quote + (indent or " " * len(mark) * bool(depth))
        first, *rest = text.split("\n")
        block = "\n".join([quote + indent + mark + first, *(hang + line for line in rest)])
        self._blocks.append(("\n" if self._tight and (depth or text.startswith("|")) else "\n\n") + block)
        self._characters_left -= len(block) - len(text)
        self._tight = bool(depth)
