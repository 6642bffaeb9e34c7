"""
The body of an HTTP response within limits: decompressed in pieces of a bounded size, and read up to a number of bytes.

A kilobyte of compressed data can grow to a megabyte. So the bytes of the pieces are counted as they arrive, and reading
stops when there are too many.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Iterator
from typing import Any, Protocol

__all__ = ["ENCODINGS", "Inflater", "inflater_for", "read_limited"]

ENCODINGS = "gzip, deflate"
"""The compressions that a server may use."""


async def read_limited(chunks: AsyncIterable[bytes], max_bytes: int) -> tuple[bytes, bool]:
    """Return the bytes of *chunks*, at most *max_bytes* of them, and whether there are more."""
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > max_bytes:
            return bytes(data[:max_bytes]), True
    return bytes(data), False


class Inflater(Protocol):
    """Decompresses data piece by piece."""

    def decompress(self, data: bytes, max_bytes: int) -> Iterator[bytes]:
        """Yield the decompressed content of *data*, in pieces of at most *max_bytes* bytes."""

    @property
    def is_complete(self) -> bool:
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
    if len(names) == 1 and names[0] in _FACTORIES:
        return _FACTORIES[names[0]]()
    raise ValueError(f"the server answers compressed with {encoding[:60]!r}, which was not asked for")


class _IdentityInflater:
    is_complete = True

    def decompress(self, data: bytes, max_bytes: int) -> Iterator[bytes]:
        yield data


class _ZlibInflater:
    """
    Decompresses gzip or deflate.

    Several gzip members in a row are read as one body. Data after the last member that is not gzip is ignored.
    """

    def __init__(self, bits: int, *, is_gzip: bool) -> None:
        self._bits = bits
        self._is_gzip = is_gzip
        self._decompressor: Any = None
        self._members = 0
        self._is_finished = False

    @property
    def is_complete(self) -> bool:
        return self._decompressor is None

    def decompress(self, data: bytes, max_bytes: int) -> Iterator[bytes]:
        while data and not self._is_finished:
            if self._decompressor is None:
                self._start_member(data)
                continue
            try:
                piece = self._decompressor.decompress(data, max_bytes)
                data = self._decompressor.unconsumed_tail
                if not data and len(piece) == max_bytes:
                    yield piece
                    # The decompressor may hold back some output; it is shorter than *max_bytes*.
                    piece = self._decompressor.decompress(b"", max_bytes)
            except zlib.error as error:
                raise ValueError(f"the answer's compressed data is damaged ({error})") from error
            if self._decompressor.eof:
                data, self._decompressor = self._decompressor.unused_data, None
            yield piece

    def _start_member(self, data: bytes) -> None:
        if self._members and not (self._is_gzip and data.startswith(b"\x1f")):
            self._is_finished = True
            return
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise ValueError(f"the answer is compressed in more than {_MAX_MEMBERS} pieces")
        if not self._is_gzip and data[0] & 0x0F != 8:
            # "deflate" names two formats: most servers send zlib data, some send raw deflate data.
            self._bits = -zlib.MAX_WBITS
        self._decompressor = zlib.decompressobj(self._bits)


_MAX_MEMBERS = 100
_FACTORIES = {
    "gzip": lambda: _ZlibInflater(zlib.MAX_WBITS | 16, is_gzip=True),
    "x-gzip": lambda: _ZlibInflater(zlib.MAX_WBITS | 16, is_gzip=True),
    "deflate": lambda: _ZlibInflater(zlib.MAX_WBITS, is_gzip=False),
}
