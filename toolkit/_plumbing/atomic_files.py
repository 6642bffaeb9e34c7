"""
Write files completely or not at all, one process after the other. Only their owner can read them.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["hold_lock", "write_atomically"]


def write_atomically(path: Path, text: str) -> None:
    """
    Write *text* to the file at *path* in one step.

    Raises:
        OSError: The file cannot be written. It is then as it was before, and no temporary file is left.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """
    Hold a lock against other processes that change the file at *path*.

    It is a file of its own beside *path*, because `write_atomically` replaces the file itself.

    Raises:
        OSError: The lock cannot be made.
    """
    handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with contextlib.suppress(ImportError):  # Windows has no `fcntl`, so the last of two writers wins there
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
