"""
The encoding of text in files, and the line endings of that text.

The encoding is detected from the bytes alone. The signs are a byte order mark, valid UTF-8, and the pattern of UTF-16
and UTF-32. Otherwise it is taken to be Windows-1252 or Latin-1, which is a guess. A file that holds NUL or too many
control characters is not text. Text that is decoded here is encoded again to exactly the same bytes.
"""

from __future__ import annotations

import codecs
import operator
import re
from bisect import bisect_left
from itertools import accumulate, count
from typing import Literal, NamedTuple, TypeAlias

__all__ = [
    "UTF_8",
    "EditableText",
    "Encoding",
    "decode_text",
    "detect_encoding",
    "detect_line_ending",
    "encode_like",
    "why_unwritable",
    "with_line_ending",
]


class Encoding(NamedTuple):
    """
    How the text of a file is encoded.

    Attributes:
        name: The name for people.
        codec: The name of the Python codec, which does not handle the byte order mark.
        is_guess: Whether the encoding is a guess, because nothing in the file states it.
    """

    name: str
    codec: str
    bom: bytes = b""
    is_guess: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether a newline takes more than one byte."""
        return self.codec.startswith(("utf-16", "utf-32"))

    def decode(self, data: bytes) -> str:
        """Decode *data*, which begins with the mark. Raise `UnicodeDecodeError` if it is not text in this encoding."""
        return data[len(self.bom) :].decode(self.codec)

    def encode(self, text: str) -> bytes:
        """Encode *text*, as the inverse of `decode`. Raise `UnicodeEncodeError` if this encoding cannot express it."""
        return self.bom + text.encode(self.codec)


UTF_8 = Encoding("UTF-8", "utf-8")

# UTF-32 comes before UTF-16, because the mark of UTF-32 begins with the mark of UTF-16.
_WITH_BOM = (
    Encoding("UTF-8 with a byte order mark", "utf-8", codecs.BOM_UTF8),
    Encoding("UTF-32 (little-endian)", "utf-32-le", codecs.BOM_UTF32_LE),
    Encoding("UTF-32 (big-endian)", "utf-32-be", codecs.BOM_UTF32_BE),
    Encoding("UTF-16 (little-endian)", "utf-16-le", codecs.BOM_UTF16_LE),
    Encoding("UTF-16 (big-endian)", "utf-16-be", codecs.BOM_UTF16_BE),
)
_WIDE = (
    Encoding("UTF-32 (little-endian, without a byte order mark)", "utf-32-le", is_guess=True),
    Encoding("UTF-32 (big-endian, without a byte order mark)", "utf-32-be", is_guess=True),
    Encoding("UTF-16 (little-endian, without a byte order mark)", "utf-16-le", is_guess=True),
    Encoding("UTF-16 (big-endian, without a byte order mark)", "utf-16-be", is_guess=True),
)
_NARROW = (Encoding("Windows-1252", "cp1252", is_guess=True), Encoding("Latin-1", "latin-1", is_guess=True))
_CONTROLS = bytes(each for each in range(32) if each not in b"\t\n\f\r\x1b") + b"\x7f"
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_MIN_WIDE_BYTES = 8


def detect_encoding(sample: bytes, *, is_whole: bool = True) -> Encoding | None:
    """
    Return the encoding of the file that begins with *sample*, or None if the file is not text.

    Unless *is_whole*, the sample may end inside a character.
    """
    for encoding in _WITH_BOM:
        if sample.startswith(encoding.bom):
            text = _try_decode(sample, encoding, is_whole)
            if text is not None and "\0" not in text:
                return encoding
    if b"\0" not in sample and _try_decode(sample, UTF_8, is_whole) is not None:
        return UTF_8
    if b"\0" in sample:
        return next((encoding for encoding in _WIDE if _is_plain_text(sample, encoding, is_whole)), None)
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls * 50 > len(sample):
        return None
    return next(encoding for encoding in _NARROW if _try_decode(sample, encoding, is_whole) is not None)


def _try_decode(sample: bytes, encoding: Encoding, is_whole: bool) -> str | None:
    try:
        decoder = codecs.getincrementaldecoder(encoding.codec)()
        return decoder.decode(sample[len(encoding.bom) :], final=is_whole)
    except UnicodeDecodeError:
        return None


def _is_plain_text(sample: bytes, encoding: Encoding, is_whole: bool) -> bool:
    """Return whether *sample* is Western text. The check is strict: most binary data is some form of UTF-16."""
    text = _try_decode(sample, encoding, is_whole) if len(sample) >= _MIN_WIDE_BYTES else None
    if not text or _CONTROL_CHARACTERS.search(text):
        return False
    return len(text.encode("ascii", "ignore")) * 2 >= len(text)


def decode_text(data: bytes) -> tuple[str, Encoding] | None:
    """Return the text of a whole file and its encoding, or None if the file is not text."""
    encoding = detect_encoding(data)
    return None if encoding is None else (encoding.decode(data), encoding)


def why_unwritable(text: str) -> str | None:
    """Return why no text file can hold *text*, or None if one can."""
    if (at := text.find("\0")) != -1:
        return f"it holds a NUL character at position {at}, which no text file does"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"it holds half of a surrogate pair at position {error.start}, which no file can"
    return None


def encode_like(old: Encoding, text: str) -> tuple[bytes, Encoding]:
    """Encode *text* like *old* if it can be read back from that, otherwise in UTF-8. Return the encoding used, too."""
    try:
        data = old.encode(text)
    except UnicodeEncodeError:
        return UTF_8.encode(text), UTF_8
    read = decode_text(data)
    return (data, old) if read is not None and read[0] == text else (UTF_8.encode(text), UTF_8)


# Line endings.

LineEnding: TypeAlias = Literal["\n", "\r\n"]


def detect_line_ending(text: str) -> LineEnding | None:
    """Return how the lines of *text* end, or None if they end in two ways or there is only one line."""
    ends, returns = text.count("\n"), text.count("\r\n")
    if not ends or 0 < returns < ends:
        return None
    return "\r\n" if returns else "\n"


def with_line_ending(text: str, ending: LineEnding | None) -> str:
    """Return *text* with lines that end in *ending*, or as it is if a carriage return shows that its author chose."""
    return text.replace("\n", "\r\n") if ending == "\r\n" and "\r" not in text else text


class EditableText:
    """A text that is searched as `plain`, where lines end in `\\n`, and changed with the line endings that it has."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.plain = text.replace("\r\n", "\n")
        # The places in the plain text where a carriage return was left out. There may be millions.
        pieces = text.split("\r\n")[:-1]
        self._carriage_returns = list(map(operator.add, accumulate(map(len, pieces)), count()))

    def replace_spans(self, spans: list[tuple[int, int, str]]) -> str:
        """Return the real text with *spans* of the plain text replaced. New lines end like those around them."""
        pieces, done = [], 0
        line_end, ending = -1, "\n"
        for start, end, new in spans:
            if "\n" in new and start > line_end:  # looked up once for each line, because one line may have many spans
                line_end, ending = self._find_line_end(start)
            pieces.append(self._text[done : self._real_position(start)])
            pieces.append(new.replace("\r\n", "\n").replace("\n", ending))
            done = self._real_position(end)
        pieces.append(self._text[done:])
        return "".join(pieces)

    def _real_position(self, at: int) -> int:
        return at + bisect_left(self._carriage_returns, at)

    def _find_line_end(self, at: int) -> tuple[int, LineEnding]:
        """Return the end of the line at *at*, and its line ending. The last line ends like the one before."""
        end = self.plain.find("\n", at)
        newline = end if end != -1 else self.plain.rfind("\n", 0, at)
        index = bisect_left(self._carriage_returns, newline)
        has_return = index < len(self._carriage_returns) and self._carriage_returns[index] == newline
        return len(self.plain) if end == -1 else end, "\r\n" if has_return else "\n"
