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

from .toml_lines import KeyPath, find_lines

__all__ = ["TomlFile", "explain_file_error", "read_regular_file"]

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
        self._lines: dict[KeyPath, int] | None = None
        try:
            if path is not None:
                self._read(path, within)
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: cannot be used ({explain_file_error(error)}); correct it, or move it away")

    def place_of(self, *path: str | int) -> str:
        """
        Return the file and the line of the setting at *path*, for messages: "/home/ada/toolkit.toml:3".

        If the setting has no line of its own, it is the line of what it stands in.
        """
        if self._lines is None:
            self._lines = find_lines(self._content.decode("utf-8-sig"))
        while path and path not in self._lines:
            path = path[:-1]
        return f"{self.path}:{self._lines[path]}" if path else str(self.path)

    def is_unchanged(self) -> bool:
        """Return whether the file still holds the content that was read from it."""
        try:
            return self.path is not None and read_regular_file(self.path, _MAX_BYTES) == self._content
        except (OSError, ValueError):
            return False

    def _read(self, path: Path, within: Path | None) -> None:
        if within is not None and os.path.lexists(path):
            real_path, real_folder = (Path(os.path.realpath(location)) for location in (path, within))
            if not real_path.is_relative_to(real_folder):
                raise ValueError(f"it is a link that leads out of {within}")
        content = read_regular_file(path, _MAX_BYTES)
        if content is not None:
            self.exists, self._content = True, content
            self.data = tomllib.loads(content.decode("utf-8-sig"))


def read_regular_file(path: Path, max_bytes: int) -> bytes | None:
    """
    Return the content of the file at *path*; return None if there is no file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is a link that leads nowhere, it is not a regular file, or it has more than *max_bytes*.
    """
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
            content = file.read(max_bytes + 1)
    finally:
        os.close(handle)
    if len(content) > max_bytes:
        raise ValueError(f"it is larger than {max_bytes:,} bytes")
    return content


def explain_file_error(error: Exception) -> str:
    """Return why a file cannot be used, without its path."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return error.strerror or "it cannot be opened" if isinstance(error, OSError) else str(error)
