"""
Reads the body of an answer, with a limit on the bytes that arrive and on the bytes after decompression.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ..._plumbing.decompression import Inflater, inflater_for
from ...errors import ToolError

__all__ = ["Body", "choose_inflater", "read_body"]


@dataclass(frozen=True, slots=True)
class Body:
    """
    The decompressed body of an answer.

    Attributes:
        cut_reason: Why the body is not complete; None if it is.
    """

    data: bytes
    cut_reason: str | None = None


def choose_inflater(encoding: str) -> Inflater:
    """
    Return the decompressor for *encoding*, the value of a Content-Encoding header.

    Raise `ToolError` for an unknown one.
    """
    try:
        return inflater_for(encoding)
    except ValueError as error:
        raise ToolError(f"{error}; try another page") from error


async def read_body(chunks: AsyncIterator[bytes], inflate: Inflater, *, max_bytes: int) -> Body:
    """Return all data of *chunks*, at most *max_bytes* before decompression and after."""
    data = bytearray()
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        try:
            for piece in inflate.decompress(chunk, 65536):
                data += piece
                if len(data) > max_bytes:
                    return Body(bytes(data[:max_bytes]), f"cut after {max_bytes:,} bytes")
        except ValueError as error:
            raise ToolError(f"{error}; try another page") from error
        if received > max_bytes:
            return Body(bytes(data), f"cut after {max_bytes:,} bytes of compressed data")
    return Body(bytes(data), None if inflate.is_complete else "cut short by the server: its compressed data has no end")
