"""
TOML files of the user and of projects, read with care.

A file that is not there is fine. A link out of the project, a pipe, something
huge, or what is no TOML is a problem to report: whatever it says is missing.
"""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

__all__ = ["TomlFile"]

_MOST_BYTES = 1_000_000


class TomlFile:
    """
    One file as it was when it was read; what is wrong with it goes to *problems*.

    Args:
        path: Where it is; None for none.
        within: The folder that it may not lead out of.

    Attributes:
        data: What it says; nothing if it is not there, or cannot be used.
        is_there: Whether there is one that can be read.
    """

    def __init__(self, path: Path | None, problems: list[str], *, within: Path | None = None) -> None:
        self.path = path
        self.data: dict[str, Any] = {}
        self.is_there = False
        self._content = b""
        try:
            if path is not None:
                self._read(path, within)
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: cannot be used ({_worded(error)}); correct it, or move it away")

    def is_unchanged(self) -> bool:
        """Whether the file still holds what was read from it."""
        try:
            return self.path is not None and _content(self.path) == self._content
        except (OSError, ValueError):
            return False

    def _read(self, path: Path, within: Path | None) -> None:
        if within is not None and os.path.lexists(path):
            end, home = (Path(os.path.realpath(each)) for each in (path, within))
            if not end.is_relative_to(home):
                raise ValueError(f"it is a link that leads out of {within}")
        content = _content(path)
        if content is not None:
            self.is_there, self._content = True, content
            self.data = tomllib.loads(content.decode("utf-8-sig"))


def _content(path: Path) -> bytes | None:
    """What is in a file; None if there is none."""
    try:
        # What it is, is looked at once it is open; a pipe would not come back.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        if path.is_symlink():
            raise ValueError("it is a link that leads nowhere") from None
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a file")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(_MOST_BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES:,} bytes")
    return content


def _worded(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return error.strerror or "it cannot be opened" if isinstance(error, OSError) else str(error)
