"""
The files of a project that trust is about, each of them read once.

    files = ProjectFiles("shop")
    files.read_settings(), files.digest

What is used and what is digested are the same bytes. So a process that swaps a file between two reads cannot get a
content used that the user did not trust. The links in the folder are resolved among the entries that were read, so
swapping a link has no effect either.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import posixpath
import stat
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .._plumbing.forks import unlock_properties_in_children
from .._plumbing.regular_files import read_regular_file
from ..errors import ToolkitError
from ..values.visible import make_visible
from .hook_scripts import find_scripts
from .toml_files import MAX_SETTINGS_BYTES, parse_toml

__all__ = ["PROJECT_FOLDER", "SETTINGS_FILE", "ProjectEntry", "ProjectFiles", "TrustError", "real_path"]

PROJECT_FOLDER = ".toolkit"
SETTINGS_FILE = "toolkit.toml"
"""The name of the settings file, in the user's configuration and in the `.toolkit` folder of a project."""

_MAX_FILES = 2000
_MAX_BYTES = 16 * 1024 * 1024
_MAX_DEPTH = 16
_MAX_LINKS = 40


class TrustError(ToolkitError, ValueError):
    """
    A folder that cannot be trusted, or a trust file that cannot be read or written.

    The message is one line, because names of files in a project are part of it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(make_visible(message, keep_lines=False))


class ProjectEntry(NamedTuple):
    """
    A file, a link or a folder, as it was read.

    Attributes:
        data: The content of a file, or the target of a link.
    """

    kind: Literal["file", "link", "folder"]
    data: bytes = b""
    is_executable: bool = False

    @property
    def digest(self) -> bytes:
        """The bytes that stand for the entry in the digest of the project."""
        if self.kind == "file":
            return (b"x" if self.is_executable else b"-") + hashlib.sha256(self.data).digest()
        return self.data


@unlock_properties_in_children
class ProjectFiles:
    """
    The files in the `.toolkit` folder of a project, and those elsewhere that its hooks run.

    The settings can be read on their own. Everything else is read together, when it is first needed. A part that trust
    cannot cover raises `TrustError` then. `folder` is as it was given, for messages; `root` is behind all links.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.root = Path(real_path(folder))
        self.folder = Path(os.path.abspath(folder))
        self._top = self.root / PROJECT_FOLDER
        self._byte_count = 0

    def read_settings(self) -> bytes | None:
        """Return the content of the settings file, or None. A bad file raises `OSError` or `ValueError`."""
        entry = self._settings
        if isinstance(entry, Exception):
            raise entry
        if entry is not None and entry.kind == "link":
            entry = self.find(SETTINGS_FILE)
            if entry is None:
                raise ValueError(f"it is a link that leads nowhere in {PROJECT_FOLDER}")
        if entry is not None and entry.kind == "folder":
            raise ValueError("it is not a file")
        if entry is not None and len(entry.data) > MAX_SETTINGS_BYTES:
            raise ValueError(f"it is larger than {MAX_SETTINGS_BYTES:,} bytes")
        return None if entry is None else entry.data

    @cached_property
    def _settings(self) -> ProjectEntry | Exception | None:
        """The entry of the settings file, or why it cannot be read. Everyone gets this one, so it is read once."""
        try:
            return self._read_entry(SETTINGS_FILE, MAX_SETTINGS_BYTES) if self._has_top() else None
        except (OSError, ValueError) as error:
            return error

    def find(self, name: str) -> ProjectEntry | None:
        """Return the file or the folder *name* in `.toolkit`, behind all links; None if there is none."""
        path = self._resolve(name)
        return ProjectEntry("folder") if path == "." else self.entries.get(path)

    def list_names(self, folder: str) -> list[str]:
        """Return the names of the entries of a *folder* in `.toolkit`."""
        path = self._resolve(folder)
        return [posixpath.basename(name) for name in self.entries if posixpath.dirname(name) == path]

    @cached_property
    def entries(self) -> Mapping[str, ProjectEntry]:
        """
        Everything in `.toolkit` in a fixed order, by its name relative to it.

        A part cannot be covered if it cannot be read, if a link leads out, if there is too much of it, or if it is
        neither a file nor a folder.
        """
        if not self.root.is_dir():
            raise TrustError(f"{self.root} is not a folder; name the project's folder")
        entries: dict[str, ProjectEntry] = {}
        with self._explain_errors(self._top):
            if not self._has_top() and self._settings is None:
                return {}
            for name, entry in self._walk("", 0):
                entries[name] = entry
                if len(entries) > _MAX_FILES:
                    raise TrustError(f"{self._top} holds more than {_MAX_FILES} files; keep data elsewhere")
        return entries

    @cached_property
    def scripts(self) -> Mapping[str, ProjectEntry]:
        """The files outside `.toolkit` that the hooks of the project name, by their name relative to the project."""
        scripts = {}
        for name in self.script_names:
            path = Path(os.path.realpath(self.root / name))
            if not path.is_relative_to(self.root):
                raise TrustError(
                    f"{self.root / name} is a link that leads out of {self.root}; put a copy there instead"
                )
            with self._explain_errors(path):
                script = self._read_file(path)
            if script is not None:
                scripts[name] = script
        return scripts

    @cached_property
    def script_names(self) -> tuple[str, ...]:
        """The names of the files outside `.toolkit` that the hooks name; hooks that cannot be read name none."""
        try:
            hooks = parse_toml((self.read_settings() or b"").decode("utf-8-sig")).get("hooks")
        except (OSError, ValueError, RecursionError):
            return ()  # The loader of settings reports that problem.
        tables = hooks if isinstance(hooks, list) else []
        return tuple(find_scripts(self.root, [table for table in tables if isinstance(table, dict)]))

    @cached_property
    def contents(self) -> Mapping[str, ProjectEntry]:
        """The files that trust covers, by their name relative to the project. A link counts as the file behind it."""
        entries = {f"{PROJECT_FOLDER}/{name}": self.find(name) for name in self.entries} | dict(self.scripts)
        return {name: entry for name, entry in entries.items() if entry is not None and entry.kind == "file"}

    @cached_property
    def digest(self) -> str:
        """The digest over the content that trust in the project covers."""
        digest = hashlib.sha256(b"toolkit trust 1\0")
        for name, entry in self.entries.items():
            if entry.kind == "link":
                self._resolve(name)
            _add_parts(digest, entry.kind.encode(), os.fsencode(name), entry.digest)
        for name, script in self.scripts.items() if self.entries else ():
            _add_parts(digest, b"script", os.fsencode(name), script.digest)
        return digest.hexdigest()

    def _has_top(self) -> bool:
        """Return whether the project has a `.toolkit` folder; raise `TrustError` if it is something else."""
        try:
            mode = os.lstat(self._top).st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(mode):
            raise TrustError(f"{self._top} has to be a folder, and no link; make it one")
        return True

    def _walk(self, folder: str, depth: int) -> Iterator[tuple[str, ProjectEntry]]:
        if depth > _MAX_DEPTH:
            place = self._top / folder
            raise TrustError(f"{place} is nested too deeply; {PROJECT_FOLDER} is for settings, hooks and skills")
        for name in self._list_names(folder):
            with self._explain_errors(self._top / name):
                entry = self._settings if name == SETTINGS_FILE else self._read_entry(name, _MAX_BYTES)
                if isinstance(entry, Exception):
                    raise entry
            if entry is not None:
                yield name, entry
                if entry.kind == "folder":
                    yield from self._walk(name, depth + 1)

    def _list_names(self, folder: str) -> list[str]:
        """Return the names of the entries of *folder*; the settings that were read are always among them."""
        names = {SETTINGS_FILE} if not folder else set()
        try:
            with os.scandir(self._top / folder) as entries:
                names |= {posixpath.join(folder, entry.name) for entry in itertools.islice(entries, _MAX_FILES + 1)}
        except FileNotFoundError:
            pass  # It has gone, and what is missing shows in the digest.
        return sorted(names, key=os.fsencode)

    @contextlib.contextmanager
    def _explain_errors(self, path: Path) -> Iterator[None]:
        """Raise a `TrustError` in place of any other error about *path*."""
        try:
            yield
        except TrustError:
            raise
        except OSError as error:
            remedy = "make it readable, or remove what is not"
            raise TrustError(f"{self._top} cannot be read completely ({error}); {remedy}") from error
        except ValueError as error:
            raise TrustError(f"{path}: {error}") from None

    def _read_entry(self, name: str, max_bytes: int) -> ProjectEntry | None:
        path = self._top / name
        try:
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                return ProjectEntry("link", os.fsencode(os.readlink(path)))
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(mode):
            return ProjectEntry("folder")
        if not stat.S_ISREG(mode):
            raise ValueError("it is neither a file nor a folder; remove it")
        return self._read_file(path, max_bytes)

    def _read_file(self, path: Path, max_bytes: int = _MAX_BYTES) -> ProjectEntry | None:
        file = read_regular_file(path, max_bytes, follow_links=False)
        if file is None:
            return None
        self._byte_count += len(file.content)
        if self._byte_count > _MAX_BYTES:
            raise TrustError(f"{self._top} holds more than {_MAX_BYTES // 2**20} MB; keep data elsewhere")
        return ProjectEntry("file", file.content, file.is_executable)

    def _resolve(self, name: str) -> str:
        """
        Return the place of *name* in `.toolkit` behind all links; a place that does not exist if they never end.

        Each part is resolved before the next one, as the system does it, because `..` is the parent of a link's target.
        """
        remaining, path, links = name.split("/")[::-1], ".", 0
        while remaining and links <= _MAX_LINKS:
            path = posixpath.relpath(posixpath.join(self._top, path, remaining.pop()), self._top)
            entry = self.entries.get(path)
            if entry is not None and entry.kind == "link":
                links += 1
                target = os.fsdecode(entry.data)
                inner = target.removeprefix(f"{self._top}/")
                if posixpath.isabs(inner):
                    path, remaining = "..", []
                else:
                    path = posixpath.dirname(path) if inner == target else "."
                    remaining += inner.split("/")[::-1]
        if path.split("/")[0] == "..":
            raise TrustError(f"{self._top / name} is a link that leads out of {self._top}; put a copy there instead")
        return "" if remaining else path


def real_path(folder: str | os.PathLike[str]) -> str:
    """Return the path of *folder* without links; raise `TrustError` if it cannot be a path."""
    try:
        return os.path.realpath(folder)
    except (ValueError, OSError) as error:
        raise TrustError(f"{os.fspath(folder)!r} is not a folder: {error}") from None


def _add_parts(digest: Any, *parts: bytes) -> None:
    for part in parts:
        # The length comes first, so that two different folders never give the same bytes.
        digest.update(len(part).to_bytes(8, "big") + part)
