"""
Splits HTML into tags and text, in one pass from front to back.

`html.parser` reads the same characters again and again if a page is malformed on purpose. A few megabytes then keep it
busy for minutes. Here, a tag, a comment or an element with raw text that is opened and never closed reaches to the end
of the page, as the standard says and browsers do. So no character is read twice.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["HtmlEndTag", "HtmlStartTag", "Token", "tokenize"]


@dataclass(frozen=True, slots=True)
class HtmlStartTag:
    """A tag that opens an element. Names are in lower case. If an attribute occurs twice, the first one counts."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HtmlEndTag:
    """A tag that closes an element."""

    name: str


Token: TypeAlias = HtmlStartTag | HtmlEndTag | str

# The content of these elements is always text, even if it looks like tags.
_RAW = frozenset(["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"])
_DECODED = frozenset(["textarea", "title"])
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_NAME = re.compile(r"[A-Za-z][^\s/>]*+")
_COMMENT_END = re.compile(r"--!?>")
_BETWEEN = re.compile(r"[\s/]*+")
_ATTRIBUTE = re.compile(r"[^\s/>][^\s/>=]*+")
_EQUALS = re.compile(r"\s*+=\s*+")
_BARE = re.compile(r"[^\s>]*+")
# `html.unescape` raises an error for numbers of more than 4300 digits, and is slow for other long numbers.
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{8,}+|[xX][0-9A-Fa-f]{7,}+);?")


def tokenize(text: str) -> Iterator[Token]:
    """Yield the tags of *text* and the text between them. Comments and declarations are left out."""
    at = 0
    while at < len(text):
        opening = _TAG.search(text, at)
        if opening is None:
            yield _unescape(text[at:])
            return
        if opening.start() > at:
            yield _unescape(text[at : opening.start()])
        at = opening.start()
        if name := _NAME.match(text, at + 1):
            attributes, at = _read_attributes(text, name.end())
            if at < 0:
                return
            start = HtmlStartTag(name[0].lower(), attributes)
            yield start
            if start.name in _RAW:
                end = _end_of_raw(text, start.name, at)
                yield _unescape(text[at:end]) if start.name in _DECODED else text[at:end]
                at = end
        elif text.startswith("</", at) and (name := _NAME.match(text, at + 2)):
            _, at = _read_attributes(text, name.end())
            if at < 0:
                return
            yield HtmlEndTag(name[0].lower())
        elif text.startswith("<!--", at):
            at = _end_of_comment(text, at + 4)
        else:
            end = text.find(">", at + 2)
            at = len(text) if end < 0 else end + 1


def _read_attributes(text: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag and the position of its end, or -1 as the end if the tag never ends."""
    attributes: dict[str, str] = {}
    while True:
        at = _end(_BETWEEN, text, at)
        if at >= len(text):
            return {}, -1
        if text[at] == ">":
            return attributes, at + 1
        name = text[at : _end(_ATTRIBUTE, text, at)]
        at += len(name)
        value = ""
        if equals := _EQUALS.match(text, at):
            at = equals.end()
            quote = text[at : at + 1]
            if quote and quote in "\"'":
                end = text.find(quote, at + 1)
                if end < 0:
                    return {}, -1
                value, at = text[at + 1 : end], end + 1
            else:
                end = _end(_BARE, text, at)
                value, at = text[at:end], end
        attributes.setdefault(name.lower(), _unescape(value))


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _end_of_comment(text: str, at: int) -> int:
    for short in (">", "->"):
        if text.startswith(short, at):
            return at + len(short)
    end = _COMMENT_END.search(text, at)
    return end.end() if end else len(text)


def _end_of_raw(text: str, name: str, at: int) -> int:
    end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, at)
    return end.start() if end else len(text)


def _unescape(text: str) -> str:
    return html.unescape(_LONG_NUMBER.sub("\N{REPLACEMENT CHARACTER}", text)) if "&" in text else text
