"""
Files that several processes read and change: written in one step, by one process at a time.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["hold_lock", "write_atomically"]


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write *text* to the file at *path* in one step, or leave it as it was. Only its owner can read it."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def hold_lock(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes that want to change the file waiting, by a file `PATH.lock`: the file itself is replaced."""
    handle = os.open(f"{os.fspath(path)}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with contextlib.suppress(ImportError):  # Windows has no `fcntl`, so the last of two writers wins there
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
