"""
TOML files of the user and of projects, read with checks.

A missing file is no problem. Any of these is a problem to report, because the settings in the file are then missing:
a link out of the project, a pipe, a file that is too large, a file that is not TOML.
"""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

__all__ = ["TomlFile"]

_MAX_BYTES = 1_000_000


class TomlFile:
    """
    The content of one TOML file at the time when it was read.

    Args:
        path: The path of the file; None for no file.
        problems: The list to which a message is added if the file cannot be used.
        within: The folder that links in *path* may not lead out of.

    Attributes:
        data: The settings in the file; empty if the file is missing or cannot be used.
        exists: Whether the file exists and could be read.
    """

    def __init__(self, path: Path | None, problems: list[str], *, within: Path | None = None) -> None:
        self.path = path
        self.data: dict[str, Any] = {}
        self.exists = False
        self._content = b""
        try:
            if path is not None:
                self._read(path, within)
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: cannot be used ({_explain_error(error)}); correct it, or move it away")

    def is_unchanged(self) -> bool:
        """Return whether the file still holds the content that was read from it."""
        try:
            return self.path is not None and _read_content(self.path) == self._content
        except (OSError, ValueError):
            return False

    def _read(self, path: Path, within: Path | None) -> None:
        if within is not None and os.path.lexists(path):
            real_path, real_folder = (Path(os.path.realpath(location)) for location in (path, within))
            if not real_path.is_relative_to(real_folder):
                raise ValueError(f"it is a link that leads out of {within}")
        content = _read_content(path)
        if content is not None:
            self.exists, self._content = True, content
            self.data = tomllib.loads(content.decode("utf-8-sig"))


def _read_content(path: Path) -> bytes | None:
    """Return the content of the file at *path*; return None if there is no file."""
    try:
        # The type is checked once the file is open. `O_NONBLOCK` is needed because opening a pipe would wait.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        if path.is_symlink():
            raise ValueError("it is a link that leads nowhere") from None
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a file")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(_MAX_BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES:,} bytes")
    return content


def _explain_error(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return error.strerror or "it cannot be opened" if isinstance(error, OSError) else str(error)
