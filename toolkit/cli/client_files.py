"""
The files in which MCP clients keep their servers: where they are, and how an entry is added and removed.

Only strict JSON is changed. A file with comments or mistakes is refused with the place, because writing it anew would
lose what cannot be read.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._plumbing.regular_files import explain_file_error, read_regular_file
from ..storage.shared_files import write_atomically
from ..values.strictjson.checks import loads
from .failures import Failure

__all__ = ["CLIENTS", "ClientFile", "McpClient", "build_entry", "find_client_path"]

_MAX_BYTES = 8 * 1024 * 1024
_INDENT = re.compile(r"\n([ \t]+)\S")
_START = ["-m", "toolkit", "serve"]
_BY_HAND = "mend it, or use --print and add the entry by hand"


@dataclass(frozen=True, slots=True)
class McpClient:
    """
    A program that uses MCP servers.

    Attributes:
        path: Its file below *folder*.
        folder: "home", or "programs": the folder in which the system keeps the files of programs.
        key: The key of the servers in the file.
        has_type: Whether an entry says that its server is a process.
    """

    path: str
    folder: str = "home"
    key: str = "mcpServers"
    has_type: bool = False


CLIENTS: Mapping[str, McpClient] = {
    "claude-desktop": McpClient("Claude/claude_desktop_config.json", "programs"),
    "cursor": McpClient(".cursor/mcp.json"),
    "vscode": McpClient("Code/User/mcp.json", "programs", key="servers", has_type=True),
    "claude-code": McpClient(".claude.json", has_type=True),
    "gemini": McpClient(".gemini/settings.json"),
}
"""The clients by name, with the place of their files on Linux, macOS and Windows."""


def find_client_path(client: McpClient, system: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the file of *client* for the user of this process."""
    home = Path.home()
    return (home if client.folder == "home" else _find_program_folder(home, system, environ)) / client.path


def _find_program_folder(home: Path, system: str, environ: Mapping[str, str]) -> Path:
    if system == "darwin":
        return home / "Library" / "Application Support"
    if system == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def build_entry(client: McpClient, target: str, folder: Path, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the entry that starts `toolkit serve TARGET` in *folder*, whatever folder the client works in."""
    words = [*_START, target, "--folder", str(folder), *options]
    return {**({"type": "stdio"} if client.has_type else {}), "command": sys.executable, "args": words}


class ClientFile:
    """
    The file of a client, as it is now and as it would be after a change.

    Args:
        path: The file, which need not exist. If it is a link, the file that it leads to is changed.
        key: The key of the servers in it.

    Raises:
        Failure: The file cannot be read, or is not strict JSON of the right form.
    """

    def __init__(self, path: str | os.PathLike[str], key: str) -> None:
        self.path = Path(os.path.realpath(Path(path).expanduser()))
        self._key = key
        self._text = self._read()
        try:
            self._data: Any = loads(self._text) if self._text.strip() else {}
            self._render()  # a number that is too large could be read, and not written
        except ValueError as error:
            raise Failure(f"{self.path}: {error}; nothing is written: {_BY_HAND}") from None
        servers = self._data.get(key, {}) if isinstance(self._data, dict) else None
        if not isinstance(servers, dict):
            place = f"`{key}` is" if isinstance(self._data, dict) else "its content is"
            raise Failure(f"{self.path}: {place} not an object; nothing is written: {_BY_HAND}")
        self._servers: dict[str, Any] = servers

    def add(self, name: str, entry: Mapping[str, Any]) -> None:
        """Set the server *name*; raise `Failure` if another server has this name."""
        known = self._servers.get(name)
        if known is not None and _read_start(known) != _read_start(entry):
            raise Failure(f"{self.path} has another server `{name}`; choose another name with --name")
        self._servers[name] = dict(entry)
        self._data[self._key] = self._servers

    def remove(self, name: str) -> None:
        """Remove the server *name*; raise `Failure` if there is none, or if it does not start `toolkit serve`."""
        if name not in self._servers:
            names = [name for name, entry in self._servers.items() if _read_start(entry)]
            known = f"; toolkit serves {', '.join(names)}" if names else ""
            raise Failure(f"{self.path} has no server `{name:.80}`{known}")
        if not _read_start(self._servers[name]):
            raise Failure(f"the server `{name}` in {self.path} is not one of `toolkit serve`; remove it by hand")
        del self._servers[name]

    def list_changes(self) -> list[str]:
        """Return the lines of a diff; none if the file stays as it is."""
        before, after = self._text.splitlines(), self._render().splitlines()
        return list(difflib.unified_diff(before, after, str(self.path), str(self.path), n=2, lineterm=""))

    def write(self) -> None:
        """Write the file in one step; raise `Failure` if it is not any more as it was when the change was shown."""
        if self._read() != self._text:
            raise Failure(f"{self.path} was changed meanwhile; nothing is written: run the command again")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self.path, self._render())
        except OSError as error:
            raise Failure(
                f"{self.path} cannot be written: {error.strerror or error}; choose another: --config"
            ) from None

    def _read(self) -> str:
        try:
            file = read_regular_file(self.path, _MAX_BYTES, follow_links=False)
            return "" if file is None else file.content.decode()
        except (OSError, ValueError) as error:
            raise Failure(f"{self.path} cannot be read: {explain_file_error(error)}") from None

    def _render(self) -> str:
        """Return the content in the indentation that the file has."""
        indent = _INDENT.search(self._text)
        text = json.dumps(self._data, indent=indent[1] if indent else 2, ensure_ascii=False, allow_nan=False)
        return text if self._text and not self._text.endswith("\n") else f"{text}\n"


def _read_start(entry: Any) -> list[Any]:
    """Return what *entry* serves: the target and the folder; an empty list if it does not start `toolkit serve`."""
    words = entry.get("args") if isinstance(entry, dict) else None
    return words[3:6] if isinstance(words, list) and words[:3] == _START else []
