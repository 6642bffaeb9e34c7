"""
TOML files of the user and of projects, read with checks.

A missing file is no problem. Any of these is a problem to report, because the settings in the file are then missing:
a link out of the project, a pipe, a file that is too large, a file that is not TOML.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._plumbing.regular_files import explain_file_error, read_regular_file
from .project_files import MAX_SETTINGS_BYTES, ProjectFiles
from .toml_lines import KeyPath, find_lines, parse_toml

__all__ = ["TomlFile"]


class TomlFile:
    """
    The content of one TOML file at the time when it was read.

    Args:
        path: The path of the file; None for no file.
        problems: The list to which a message is added if the file cannot be used.
        project: The files of the project, if the file is that of the project.

    Attributes:
        content: The bytes of the file, which the settings come from; empty if the file is missing.
        data: The settings in the file; empty if the file is missing or cannot be used.
        exists: Whether the file exists and could be read.
    """

    def __init__(self, path: Path | None, problems: list[str], *, project: ProjectFiles | None = None) -> None:
        self.path = path
        self.data: dict[str, Any] = {}
        self.exists = False
        self.content = b""
        self._lines: dict[KeyPath, int] | None = None
        try:
            if path is not None:
                self._read(path, project)
        except (OSError, ValueError, RecursionError) as error:
            problems.append(f"{path}: cannot be used ({explain_file_error(error)}); correct it, or move it away")

    def place_of(self, *path: str | int) -> str:
        """
        Return the file and the line of the setting at *path*, for messages: "/home/ada/toolkit.toml:3".

        If the setting has no line of its own, it is the line of what it stands in.
        """
        if self._lines is None:
            self._lines = find_lines(self.content.decode("utf-8-sig"))
        while path and path not in self._lines:
            path = path[:-1]
        return f"{self.path}:{self._lines[path]}" if path else str(self.path)

    def _read(self, path: Path, project: ProjectFiles | None) -> None:
        if project is None:
            file = read_regular_file(path, MAX_SETTINGS_BYTES)
            content = None if file is None else file.content
        else:
            content = project.read_settings()
        if content is not None:
            self.exists, self.content = True, content
            self.data = parse_toml(content.decode("utf-8-sig"))
