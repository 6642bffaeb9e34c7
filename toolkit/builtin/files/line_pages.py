"""
Pages of lines from a file of any size.

The file is read in chunks and never held in memory. Newlines before the page are counted without splitting the text,
and of a long line only the beginning is kept. A line ends at `\\n`. A `\\r` directly before it belongs to the line
ending.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from ...values.text_limits import count_bytes
from .encodings import Encoding

__all__ = ["FileLine", "LinePage", "Survey", "read_page", "survey_file"]

_CHUNK_BYTES = 1 << 18
_MAX_LINE_CHARACTERS = 2000
_LINE_NUMBER_CHARACTERS = 8
_MAX_LINE_BYTES = 4 * _MAX_LINE_CHARACTERS + 4

OnProgress = Callable[[int], None]
"""A function that is called with the number of bytes that were read. It may raise to stop the work."""


@dataclass(frozen=True, slots=True)
class Survey:
    """
    What is known about a file once all of it was read.

    Attributes:
        sha256: The digest of the file; empty if it was not asked for.
        line_count: The number of lines. A last line without a newline counts.
        checkpoints: Positions in the file, in order, each with the number of newlines before it.
    """

    sha256: str
    line_count: int
    checkpoints: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class FileLine:
    """
    One line, without its line ending.

    Attributes:
        bytes_if_cut: The number of bytes of the line if it is too long to be shown whole, otherwise 0.
        ending: "", "\\n" or "\\r\\n".
        is_damaged: Whether some bytes of the line are not text and are shown as U+FFFD.
    """

    text: str
    ending: str
    bytes_if_cut: int = 0
    is_damaged: bool = False


@dataclass(slots=True)
class LinePage:
    """Some lines of a file, and the number of lines before them, or of all lines if the page lies behind the end."""

    lines: list[FileLine] = field(default_factory=list)
    lines_before: int = 0
    is_last: bool = False


def survey_file(file: BinaryIO, encoding: Encoding, *, on_progress: OnProgress, with_digest: bool = True) -> Survey:
    """Read all of *file* without keeping its text. Without *with_digest*, this is a few times faster."""
    sha256, newlines, checkpoints, last = hashlib.sha256(), 0, [(0, 0)], b""
    transcode = _build_transcoder(encoding)
    file.seek(0)
    while raw := file.read(_CHUNK_BYTES):
        if with_digest:
            sha256.update(raw)
        chunk = transcode(raw if last else raw[len(encoding.bom) :])
        newlines += chunk.count(b"\n")
        last = chunk[-1:] or last
        if not encoding.is_wide:  # a decoder of a wide encoding cannot start in the middle
            checkpoints.append((file.tell(), newlines))
        on_progress(len(raw))
    lines = newlines + (last not in (b"", b"\n"))
    return Survey(sha256.hexdigest() if with_digest else "", lines, tuple(checkpoints))


def read_page(
    file: BinaryIO,
    encoding: Encoding,
    *,
    first_line: int,
    max_lines: int,
    max_bytes: int,
    on_progress: OnProgress,
    checkpoints: tuple[tuple[int, int], ...] = ((0, 0),),
) -> LinePage:
    """
    Return the lines of *file* from number *first_line* on, counted from 1.

    The page ends after the line that reaches *max_bytes*. The search for it starts from one of *checkpoints*.
    """
    result = LinePage()
    # A checkpoint may lie inside a line, so it must lie before the newline after which the page begins.
    place, result.lines_before = max(mark for mark in checkpoints if mark[0] == 0 or mark[1] < first_line - 1)
    chunks = _read_chunks(file, encoding, place, on_progress)
    chunk = b""
    for chunk in chunks:
        missing = first_line - 1 - result.lines_before
        newlines = chunk.count(b"\n")
        if newlines >= missing:
            chunk = chunk.split(b"\n", missing)[-1]  # noqa: PLW2901 -- the rest of the chunk is where the page begins
            result.lines_before += missing
            break
        result.lines_before += newlines
    else:
        result.lines_before += chunk[-1:] not in (b"", b"\n")
        result.is_last = True
        return result
    left = max_bytes
    for line, is_last in _split_lines(chunk, chunks, encoding):
        result.lines.append(line)
        result.is_last = is_last
        left -= count_bytes(line.text) + _LINE_NUMBER_CHARACTERS
        if left <= 0 or len(result.lines) == max_lines:
            break
    result.is_last = result.is_last or not result.lines
    return result


def _read_chunks(file: BinaryIO, encoding: Encoding, place: int, on_progress: OnProgress) -> Iterator[bytes]:
    """Yield the text from *place* on as bytes in which a newline is one byte: as it is, or as UTF-8."""
    transcode = _build_transcoder(encoding)
    file.seek(place or len(encoding.bom))
    while raw := file.read(_CHUNK_BYTES):
        on_progress(len(raw))
        if chunk := transcode(raw):
            yield chunk


def _build_transcoder(encoding: Encoding) -> Callable[[bytes], bytes]:
    if not encoding.is_wide:
        return lambda raw: raw
    decoder = codecs.getincrementaldecoder(encoding.codec)(errors="replace")
    return lambda raw: decoder.decode(raw).encode("utf-8", "replace")


def _split_lines(chunk: bytes, chunks: Iterator[bytes], encoding: Encoding) -> Iterator[tuple[FileLine, bool]]:
    """Yield each line, and whether it is the last one. The lines begin in *chunk* and go on in *chunks*."""
    beginning, length, at = b"", 0, 0
    chunk = chunk or next(chunks, b"")
    while chunk:
        end = chunk.find(b"\n", at)
        stop = len(chunk) if end == -1 else end
        beginning += chunk[at : min(stop, at + _MAX_LINE_BYTES - len(beginning))]
        length += stop - at
        at = stop + 1
        # Read one chunk ahead, because only then is it known whether the line is the last one.
        following = chunk if at < len(chunk) else next(chunks, b"")
        if end != -1 or not following:
            yield _build_line(beginning, length, encoding, "" if end == -1 else "\n"), not following
            beginning, length = b"", 0
        if following is not chunk:
            chunk, at = following, 0


def _build_line(beginning: bytes, length: int, encoding: Encoding, ending: str) -> FileLine:
    codec = "utf-8" if encoding.is_wide else encoding.codec
    text = beginning.decode(codec, errors="replace")
    if length == len(beginning) and ending and text.endswith("\r"):
        text, ending = text[:-1], "\r\n"
    is_cut = len(text) > _MAX_LINE_CHARACTERS or length > len(beginning)
    text = text[:_MAX_LINE_CHARACTERS]
    is_damaged = "\ufffd" in text and "\ufffd".encode() not in beginning
    return FileLine(text, ending, length if is_cut else 0, is_damaged)
