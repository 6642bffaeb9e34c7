"""Functions that read an open descriptor: only files, and no more bytes than the caller asks for."""

from __future__ import annotations

import os
import stat

from ..errors import ToolError
from ..safety.paths import quote_path

__all__ = ["check_file", "read_content"]

_MAX_CHUNK_BYTES = 1 << 20


def check_file(mode: int, path: str) -> None:
    """Raise `ToolError` unless *mode* is a file's. Reading a pipe or a device could wait forever."""
    if stat.S_ISDIR(mode):
        raise ToolError(f"{quote_path(path)} is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{quote_path(path)} is a device, a socket or a pipe; only files can be read or written")


def read_content(fd: int, max_bytes: int) -> bytes | None:
    """Return the content of the file from its current position, or None if it is more than *max_bytes*."""
    if os.fstat(fd).st_size > max_bytes:
        return None
    pieces: list[bytes] = []
    bytes_left = max_bytes + 1  # one more byte, because the file may be growing
    while bytes_left and (piece := os.read(fd, min(bytes_left, _MAX_CHUNK_BYTES))):
        pieces.append(piece)
        bytes_left -= len(piece)
    return b"".join(pieces) if bytes_left else None
