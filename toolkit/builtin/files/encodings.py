"""
Text in files: how it is encoded, and how its lines end.

Found out from the bytes alone: a byte order mark, valid UTF-8, the pattern of UTF-16 and UTF-32,
and otherwise Windows-1252 or Latin-1, which are a guess. What holds NUL or too many control
characters is no text. Whatever is decoded here is encoded again to the very same bytes.
"""

from __future__ import annotations

import codecs
import operator
import re
from bisect import bisect_left
from functools import cached_property
from itertools import accumulate, count
from typing import Literal, NamedTuple, TypeAlias

from ..._forks import unlock_properties_in_children

__all__ = [
    "UTF_8",
    "Encoding",
    "LineEnding",
    "Text",
    "decoded",
    "detected",
    "encoded_like",
    "line_ending",
    "unwritable",
    "with_line_ending",
]


class Encoding(NamedTuple):
    """
    How a file's text is encoded.

    Attributes:
        name: As a person says it.
        codec: As Python says it; without the byte order mark.
        mark: The byte order mark that the file begins with.
        is_guess: Whether nothing in the file says so.
    """

    name: str
    codec: str
    mark: bytes = b""
    is_guess: bool = False

    @property
    def is_wide(self) -> bool:
        """Whether a newline is more than one byte."""
        return self.codec.startswith(("utf-16", "utf-32"))

    def decode(self, data: bytes) -> str:
        """The text in *data*, which begins with the mark; `UnicodeDecodeError` if there is none."""
        return data[len(self.mark) :].decode(self.codec)

    def encode(self, text: str) -> bytes:
        """The inverse of `decode`; `UnicodeEncodeError` if *text* cannot be said so."""
        return self.mark + text.encode(self.codec)


UTF_8 = Encoding("UTF-8", "utf-8")

# UTF-32 before UTF-16, whose mark it begins with.
_MARKED = (
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
_NARROW = (
    Encoding("Windows-1252", "cp1252", is_guess=True),
    Encoding("Latin-1", "latin-1", is_guess=True),
)
_CONTROLS = bytes(each for each in range(32) if each not in b"\t\n\f\r\x1b") + b"\x7f"
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f]")
_LEAST_WIDE_BYTES = 8


def detected(sample: bytes, *, is_whole: bool = True) -> Encoding | None:
    """
    How the file that begins with *sample* is encoded; None if it is no text.

    Args:
        is_whole: Whether *sample* is the whole file; otherwise it may end inside a character.
    """
    for each in _MARKED:
        if sample.startswith(each.mark):
            text = _tried(sample, each, is_whole)
            if text is not None and "\0" not in text:
                return each
    if b"\0" not in sample and _tried(sample, UTF_8, is_whole) is not None:
        return UTF_8
    if b"\0" in sample:
        return next((each for each in _WIDE if _is_plainly(sample, each, is_whole)), None)
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls * 50 > len(sample):
        return None
    return next(each for each in _NARROW if _tried(sample, each, is_whole) is not None)


def _tried(sample: bytes, encoding: Encoding, is_whole: bool) -> str | None:
    try:
        decoder = codecs.getincrementaldecoder(encoding.codec)()
        return decoder.decode(sample[len(encoding.mark) :], final=is_whole)
    except UnicodeDecodeError:
        return None


def _is_plainly(sample: bytes, encoding: Encoding, is_whole: bool) -> bool:
    """Whether *sample* reads as text of the West without anything odd: most data is UTF-16 of some sort."""
    text = _tried(sample, encoding, is_whole) if len(sample) >= _LEAST_WIDE_BYTES else None
    if not text or _CONTROL_CHARACTERS.search(text):
        return False
    return len(text.encode("ascii", "ignore")) * 2 >= len(text)


def decoded(data: bytes) -> tuple[str, Encoding] | None:
    """The text of a whole file, and how it is encoded; None if it is no text."""
    encoding = detected(data)
    return None if encoding is None else (encoding.decode(data), encoding)


def unwritable(text: str) -> str | None:
    """Why no file can hold *text* as text; None if one can."""
    if (at := text.find("\0")) != -1:
        return f"it holds a NUL character at position {at}, which no text file does"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"it holds half of a surrogate pair at position {error.start}, which no file can"
    return None


def encoded_like(old: Encoding, text: str) -> tuple[bytes, Encoding]:
    """
    *text* as *old* encodes it if it can be read back like that, otherwise in UTF-8; and which of the two.

    Raises `UnicodeEncodeError` if *text* holds half of a surrogate pair: no encoding has that.
    """
    try:
        data = old.encode(text)
    except UnicodeEncodeError:
        return UTF_8.encode(text), UTF_8
    read = decoded(data)
    return (data, old) if read is not None and read[0] == text else (UTF_8.encode(text), UTF_8)


# Line endings.

LineEnding: TypeAlias = Literal["\n", "\r\n"]


def line_ending(text: str) -> LineEnding | None:
    """How the lines of *text* end; None if they end in two ways, or there is but one line."""
    ends, returns = text.count("\n"), text.count("\r\n")
    if not ends or 0 < returns < ends:
        return None
    return "\r\n" if returns else "\n"


def with_line_ending(text: str, ending: LineEnding | None) -> str:
    """*text* with lines that end like that; as it is if it holds a carriage return: whoever wrote it knows."""
    return text.replace("\n", "\r\n") if ending == "\r\n" and "\r" not in text else text


@unlock_properties_in_children
class Text:
    """
    A text in which lines end in `\\n` to whoever searches it, and as they do to whoever changes it.

    Attributes:
        plain: The text, with every `\\r\\n` as `\\n`.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.plain = text.replace("\r\n", "\n")

    def replaced(self, spans: list[tuple[int, int, str]]) -> str:
        """
        The text as it is, with each span of the plain text replaced by new text, whose lines end as those around it.

        Args:
            spans: Start, end and new text; in order, and not overlapping.
        """
        pieces, done = [], 0
        line_end, ending = -1, "\n"
        for start, end, new in spans:
            if "\n" in new and start > line_end:  # looked for once a line: there may be many spans on one
                line_end, ending = self._line_end(start)
            pieces.append(self._text[done : self._place(start)])
            pieces.append(new.replace("\r\n", "\n").replace("\n", ending))
            done = self._place(end)
        pieces.append(self._text[done:])
        return "".join(pieces)

    @cached_property
    def _returns(self) -> list[int]:
        """Where in the plain text a carriage return was left out; there may be millions."""
        pieces = self._text.split("\r\n")[:-1]
        return list(map(operator.add, accumulate(map(len, pieces)), count()))

    def _place(self, at: int) -> int:
        return at + bisect_left(self._returns, at)

    def _line_end(self, at: int) -> tuple[int, LineEnding]:
        """Where the line ends that *at* is on, and how; as the one before it, if it is the last."""
        end = self.plain.find("\n", at)
        known = end if end != -1 else self.plain.rfind("\n", 0, at)
        index = bisect_left(self._returns, known)
        has_return = index < len(self._returns) and self._returns[index] == known
        return len(self.plain) if end == -1 else end, "\r\n" if has_return else "\n"
