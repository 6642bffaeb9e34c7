"""
The one way to read a file that a user or a project wrote: settings, scripts, skills, instructions, lists of servers.

A file is opened once and read once, up to a limit. The caller digests and parses the bytes that it gets, so it does not
matter whether the file changes afterwards. A pipe or a device is refused, and reading never waits for one.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

__all__ = ["RegularFile", "explain_file_error", "read_regular_file"]


class RegularFile(NamedTuple):
    """The content of a file, and its status when the content was read."""

    content: bytes
    status: os.stat_result

    @property
    def is_executable(self) -> bool:
        return bool(self.status.st_mode & 0o111)


def read_regular_file(path: str | os.PathLike[str], max_bytes: int, *, follow_links: bool = True) -> RegularFile | None:
    """
    Return the file at *path*; return None if there is no file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is a link that leads nowhere, a link although links are not followed, no regular file, or it has
            more than *max_bytes*.
    """
    # The type is checked once the file is open. `O_NONBLOCK` is needed because opening a pipe would wait.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        handle = os.open(path, flags if follow_links else flags | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        if os.path.islink(path):
            raise ValueError("it is a link that leads nowhere") from None
        return None
    except OSError as error:
        if error.errno == errno.ELOOP and not follow_links:
            raise ValueError("it is a link; put a copy there instead") from None
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a file")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(max_bytes + 1)
    finally:
        os.close(handle)
    if len(content) > max_bytes:
        raise ValueError(f"it is larger than {max_bytes:,} bytes")
    return RegularFile(content, status)


def explain_file_error(error: Exception) -> str:
    """Return why a file cannot be used, without its path."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return error.strerror or "it cannot be opened" if isinstance(error, OSError) else str(error)
