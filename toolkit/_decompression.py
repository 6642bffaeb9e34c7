"""
Decompression of an HTTP response in pieces of a bounded size.

A kilobyte of compressed data can grow to a megabyte. So the caller counts the bytes of the pieces as they arrive, and
stops when there are too many.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["ENCODINGS", "Inflater", "inflater_for"]

ENCODINGS = "gzip, deflate"
"""The compressions that a server may use."""


class Inflater(Protocol):
    """Decompresses data piece by piece."""

    def pieces(self, data: bytes, most: int) -> Iterator[bytes]:
        """Yield the decompressed content of *data*, in pieces of at most *most* bytes."""

    @property
    def is_whole(self) -> bool:
        """Whether the compressed data is complete."""


def inflater_for(encoding: str) -> Inflater:
    """
    Return an inflater for *encoding*, the value of a Content-Encoding header.

    Raises:
        ValueError: *encoding* is unknown, or names several compressions.
    """
    names = [name for part in encoding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
    if not names:
        return _IdentityInflater()
    if len(names) == 1 and names[0] in _MAKERS:
        return _MAKERS[names[0]]()
    raise ValueError(f"the server answers compressed with {encoding[:60]!r}, which was not asked for")


class _IdentityInflater:
    is_whole = True

    def pieces(self, data: bytes, most: int) -> Iterator[bytes]:
        yield data


class _ZlibInflater:
    """
    Decompresses gzip or deflate.

    Several gzip members in a row are read as one body. Data after the last member that is not gzip is ignored.
    """

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
                    # The decompressor may hold back some output; it is shorter than *most*.
                    piece = self._decompress.decompress(b"", most)
            except zlib.error as error:
                raise ValueError(f"the answer's compressed data is damaged ({error})") from error
            if self._decompress.eof:
                data, self._decompress = self._decompress.unused_data, None
            yield piece

    def _begin(self, data: bytes) -> None:
        if self._members and not (self._is_gzip and data.startswith(b"\x1f")):
            self._is_over = True
            return
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise ValueError(f"the answer is compressed in more than {_MAX_MEMBERS} pieces")
        if not self._is_gzip and data[0] & 0x0F != 8:
            # "deflate" names two formats: most servers send zlib data, some send raw deflate data.
            self._bits = -zlib.MAX_WBITS
        self._decompress = zlib.decompressobj(self._bits)


_MAX_MEMBERS = 100
_MAKERS = {
    "gzip": lambda: _ZlibInflater(zlib.MAX_WBITS | 16, is_gzip=True),
    "x-gzip": lambda: _ZlibInflater(zlib.MAX_WBITS | 16, is_gzip=True),
    "deflate": lambda: _ZlibInflater(zlib.MAX_WBITS, is_gzip=False),
}
