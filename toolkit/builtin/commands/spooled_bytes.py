"""
The first bytes of an output, kept in memory as long as they are few, and in a file without a name after that.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from typing import IO

from ..._plumbing.forks import unlock_in_children

__all__ = ["SpooledBytes"]

_MAX_MEMORY_BYTES = 262_144


class SpooledBytes:
    """
    A buffer for the first bytes that are added. Any thread may use it.

    If the file cannot be written, because the disk is full, the buffer takes no further bytes.

    Args:
        max_bytes: How many bytes it takes at most.
        folder: Where the file is made; in the system's folder for such files unless given.
    """

    def __init__(self, max_bytes: int, *, folder: str | None = None) -> None:
        self._max_bytes = max_bytes
        self._folder = folder
        self._memory = bytearray()
        self._file: IO[bytes] | None = None
        self._file_bytes = 0
        self._lock = unlock_in_children(threading.Lock())

    def add(self, data: bytes) -> None:
        """Add as much of the beginning of *data* as there is room for."""
        with self._lock:
            self._memory += data[: max(0, self._max_bytes - self._file_bytes - len(self._memory))]
            if len(self._memory) > _MAX_MEMORY_BYTES:
                try:
                    self._write_to_file()
                except OSError:
                    self._max_bytes = 0  # what is in memory stays there

    def read(self) -> bytes:
        """Return all bytes that are kept. Another call returns them again."""
        with self._lock:
            chunks = []
            offset = 0
            while self._file is not None and offset < self._file_bytes:
                chunk = os.pread(self._file.fileno(), self._file_bytes - offset, offset)
                if not chunk:
                    break
                chunks.append(chunk)
                offset += len(chunk)
            return b"".join([*chunks, self._memory])

    def close(self) -> None:
        """Drop all bytes. Bytes that are added later are not kept."""
        with self._lock:
            self._max_bytes = self._file_bytes = 0
            self._memory.clear()
            if self._file is not None:
                self._file.close()
                self._file = None

    def _write_to_file(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115 -- closed by `close`
            weakref.finalize(self, self._file.close)
        # A forked child shares the position in the file, so no position is used.
        while self._memory:
            written = os.pwrite(self._file.fileno(), self._memory, self._file_bytes)
            del self._memory[:written]
            self._file_bytes += written
