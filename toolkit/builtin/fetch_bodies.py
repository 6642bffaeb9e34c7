"""
The body of an answer, read within bounds: so many bytes off the wire, so many after decompression.

A kilobyte can unfold to a megabyte, so what comes out is counted while it comes, never afterwards.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import ToolError

__all__ = ["ENCODINGS", "Body", "Inflater", "inflater", "read_body"]

ENCODINGS = "gzip, deflate"
"""What a server may compress with."""


@dataclass(frozen=True, slots=True)
class Body:
    """
    What came, decompressed.

    Attributes:
        cut: Why it is not whole; None if it is.
    """

    data: bytes
    cut: str | None = None


class Inflater(Protocol):
    """Undoes a compression, piece by piece."""

    def pieces(self, data: bytes, most: int) -> Iterator[bytes]:
        """What *data* unfolds to, in pieces of at most *most* bytes."""

    @property
    def is_whole(self) -> bool:
        """Whether the end has come."""


async def read_body(chunks: AsyncIterator[bytes], inflate: Inflater, *, max_bytes: int) -> Body:
    """Everything in *chunks*, at most *max_bytes* before decompression and after."""
    data = bytearray()
    taken = 0
    async for chunk in chunks:
        taken += len(chunk)
        for piece in inflate.pieces(chunk, 65536):
            data += piece
            if len(data) > max_bytes:
                return Body(bytes(data[:max_bytes]), f"cut after {max_bytes:,} bytes")
        if taken > max_bytes:
            return Body(bytes(data), f"cut after {max_bytes:,} bytes of compressed data")
    return Body(bytes(data), None if inflate.is_whole else "cut short by the server: its compressed data has no end")


def inflater(encoding: str) -> Inflater:
    """What undoes *encoding*, the value of a Content-Encoding header; `ToolError` for what was not asked for."""
    names = [name for each in encoding.split(",") if (name := each.strip().lower()) not in ("", "identity")]
    if not names:
        return _Plain()
    if len(names) == 1 and names[0] in _MAKERS:
        return _MAKERS[names[0]]()
    raise ToolError(f"the server answers compressed with {encoding[:60]!r}, which was not asked for; try another page")


class _Plain:
    is_whole = True

    def pieces(self, data: bytes, most: int) -> Iterator[bytes]:
        yield data


class _Zlib:
    """gzip or deflate; several gzip members in a row are one body, and what is neither after them is ignored."""

    def __init__(self, bits: int, *, is_gzip: bool) -> None:
        self._bits = bits
        self._is_gzip = is_gzip
        self._decompress: Any = None
        self._members = 0
        self._is_over = False

    @property
    def is_whole(self) -> bool:
        return self._decompress is None

    def pieces(self, data: bytes, most: int) -> Iterator[bytes]:
        while data and not self._is_over:
            if self._decompress is None:
                self._begin(data)
                continue
            try:
                piece = self._decompress.decompress(data, most)
                data = self._decompress.unconsumed_tail
                if not data and len(piece) == most:
                    yield piece
                    piece = self._decompress.decompress(b"", most)  # what it held back; less than it was asked for
            except zlib.error as error:
                raise ToolError(f"the answer's compressed data is damaged ({error}); try another page") from error
            if self._decompress.eof:
                data, self._decompress = self._decompress.unused_data, None
            yield piece

    def _begin(self, data: bytes) -> None:
        if self._members and not (self._is_gzip and data.startswith(b"\x1f")):
            self._is_over = True
            return
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise ToolError(f"the answer is compressed in more than {_MOST_MEMBERS} pieces; try another page")
        if not self._is_gzip and data[0] & 0x0F != 8:
            self._bits = -zlib.MAX_WBITS  # "deflate" names two formats: most send one, some the other
        self._decompress = zlib.decompressobj(self._bits)


_MOST_MEMBERS = 100
_MAKERS = {
    "gzip": lambda: _Zlib(zlib.MAX_WBITS | 16, is_gzip=True),
    "x-gzip": lambda: _Zlib(zlib.MAX_WBITS | 16, is_gzip=True),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS, is_gzip=False),
}
