"""
Converts an answer from the web to text: pages are made readable, text stays as it is, other data is described.

The encoding is taken from the byte order mark, the header or the page itself, in this order. The type that a server
states for a body is not believed if the bytes show another type.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from ..files.encodings import detect_encoding
from ..files.file_kinds import kind_of
from .html_text import html_text

__all__ = ["MediaType", "PageText", "parse_media_type", "read_page_text"]


@dataclass(frozen=True, slots=True)
class MediaType:
    """The media type in a Content-Type header, and the encoding that it names. Both may be empty."""

    name: str
    charset: str = ""

    @property
    def is_html(self) -> bool:
        return self.name in ("text/html", "application/xhtml+xml")

    @property
    def is_text(self) -> bool:
        return self.name.startswith("text/") or bool(_TEXT.fullmatch(self.name)) or self.is_html

    @property
    def is_unknown(self) -> bool:
        """Whether the server states no useful type."""
        return self.name in ("", "application/octet-stream", "binary/octet-stream", "application/unknown")


@dataclass(frozen=True, slots=True)
class PageText:
    """Text for the model, and notes on what the reader should know about it."""

    text: str
    title: str = ""
    notes: tuple[str, ...] = ()


_NAME = re.compile(r"[ \t]*([A-Za-z0-9.+_-]{1,100}/[A-Za-z0-9.+_-]{1,100})[ \t]*(?:[;,]|\Z)")
_CHARSET = re.compile(r""";[ \t]*charset[ \t]*=[ \t]*["']?([^\s"';,]{1,40})""", re.IGNORECASE)
_TEXT = re.compile(
    r"application/(?:.+\+)?(?:json|xml|yaml)|application/(?:x-)?(?:ndjson|javascript|ecmascript|yaml|toml|sh|sql|tex|latex"
    r"|httpd-php|perl|python|ruby|subrip|www-form-urlencoded|graphql|jsonlines|markdown|rtf)|image/svg\+xml|message/.+"
)
_LOOKS_LIKE_HTML = re.compile(rb"(?is)\s*+(?:<!--.{0,500}?-->\s*+)?<(?:!doctype html|html|head|body)\b")
_META = re.compile(rb"""<meta\b[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""<\?xml\b[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Python knows other codecs that run long, expand the data or are not for text: zlib, idna, punycode, unicode_escape.
_CODECS = frozenset(
    [
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "koi8-r", "koi8-u"),
        *(f"cp{number}" for number in (866, 874, 932, 949, *range(1250, 1259))),
        *(f"iso8859-{number}" for number in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *("mac-roman", "mac-cyrillic", "euc_jp", "iso2022_jp", "gbk", "gb18030", "big5", "big5hkscs"),
    ]
)
# Browsers read each of these as the wider encoding that was developed from it.
_WIDER_CODECS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gbk",
}


def parse_media_type(header: str) -> MediaType:
    """Return the media type in a Content-Type header."""
    name, charset = _NAME.match(header), _CHARSET.search(header[:500])
    return MediaType(name[1].lower() if name else "", charset[1] if charset else "")


def read_page_text(
    data: bytes, stated_type: MediaType, *, url: str, is_cut: bool = False, max_chars: int = 2_000_000
) -> PageText:
    """
    Return the text of *data*, cut after *max_chars*.

    *url* makes its links absolute. With *is_cut*, *data* is only the beginning of the body.
    """
    looks_like_html = bool(_LOOKS_LIKE_HTML.match(data[:2000]))
    kind = None if looks_like_html else kind_of(data)
    may_be_text = (stated_type.is_text or stated_type.is_unknown) and (kind is None or _is_clearly_text(data[:2000]))
    if not may_be_text:
        return _describe_data(
            data, stated_type, "an HTML page" if looks_like_html else kind.name if kind else "", is_cut
        )
    codec, notes = _detect_codec(data, stated_type, is_cut)
    if codec is None:
        return _describe_data(data, stated_type, "", is_cut)
    text, is_bad = _decode_text(data, codec, is_cut)
    if is_bad:
        notes.append(f"some bytes are no valid {codec} and were replaced by \N{REPLACEMENT CHARACTER}")
    if not (stated_type.is_html or (stated_type.is_unknown and looks_like_html)):
        return PageText(text[:max_chars], notes=(*notes, *_cut_notes(len(text) > max_chars, max_chars)))
    page = html_text(text, base=url, max_chars=max_chars)
    return PageText(page.text, page.title, (*notes, *_cut_notes(page.is_cut, max_chars)))


def _is_clearly_text(head: bytes) -> bool:
    """Return whether *head* can only be text. The letters "MZ", for example, may begin a program or a sentence."""
    try:
        text = codecs.getincrementaldecoder("utf-8")("strict").decode(head)
    except UnicodeDecodeError:
        return False
    return not re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]", text)


def _cut_notes(is_cut: bool, max_chars: int) -> list[str]:
    return [f"cut after about {max_chars:,} characters"] if is_cut else []


def _describe_data(data: bytes, stated_type: MediaType, kind_name: str, is_cut: bool) -> PageText:
    description = stated_type.name or "something of an unknown type"
    seems = f", which looks like {_with_article(kind_name)}" if kind_name else ""
    size = f"more than {len(data):,}" if is_cut else f"{len(data):,}"
    return PageText(f"({description}{seems}, {size} bytes: no text that could be shown)")


def _with_article(noun: str) -> str:
    return noun if noun.startswith("an ") else f"{'an' if noun[0] in 'aeioAEIO' else 'a'} {noun}"


# Encodings.


def _detect_codec(data: bytes, stated_type: MediaType, is_cut: bool) -> tuple[str | None, list[str]]:
    """Return the Python name of the encoding, or None if *data* is not text, and notes on the encoding."""
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return codec, []
    head = data[:4096]
    inside = _XML.match(head.lstrip()) or (
        _META.search(head) if stated_type.is_html or stated_type.is_unknown else None
    )
    notes: list[str] = []
    for name, where in ((stated_type.charset, "the header"), (inside[1].decode("ascii") if inside else "", "the page")):
        codec_name = _find_codec(name)
        if codec_name is not None and not (where == "the page" and codec_name.startswith(("utf-16", "utf-32"))):
            # A page that could be read as ASCII up to this declaration is not in UTF-16, even if it says so.
            return codec_name, notes
        if name and codec_name is None:
            notes.append(f"{where} names an encoding that is not known, {name[:40]!r}")
    encoding = detect_encoding(data[:200_000], is_whole=len(data) <= 200_000 and not is_cut)
    if encoding is None:
        return (None, notes) if stated_type.is_unknown or b"\0" in data[:4096] else ("cp1252", notes)
    return encoding.codec, [*notes, *([f"the encoding is a guess: {encoding.name}"] if encoding.is_guess else [])]


def _find_codec(name: str) -> str | None:
    if not re.fullmatch(r"[A-Za-z0-9._:-]{1,40}", name):
        return None
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        return None
    codec = _WIDER_CODECS.get(codec, codec)
    return codec if codec in _CODECS else None


def _decode_text(data: bytes, codec: str, is_cut: bool) -> tuple[str, bool]:
    """Decode *data*. Return the text, and whether bytes had to be replaced."""
    for mark, marked in _BOMS:
        if codec == marked:
            data = data.removeprefix(mark)
    # The last character may have been cut in two.
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(data, final=not is_cut), False
    except UnicodeDecodeError:
        return codecs.getincrementaldecoder(codec)("replace").decode(data, final=not is_cut), True
