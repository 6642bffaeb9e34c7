"""
The part of the disk that a command may see: the folders of the workspace, and what is protected in them.

A sandbox hides files, not patterns, so the folders are searched before every command. A folder that has not changed
since the last search is not read again. A protected file that a command makes itself is not hidden from that command,
but from the next one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..errors import ToolError
from ..safety.paths import is_inside
from ..safety.protected_files import fold_names
from ..workspace import Workspace

__all__ = ["ProtectedPath", "VisibleFiles", "build_suspect_finder", "visible_files_of"]

_IsProtected: TypeAlias = Callable[[str, Literal["read", "write"]], bool]
"""A function that says whether the file with this absolute path is protected from reading, or from writing."""

_FindSuspects: TypeAlias = Callable[[str, Sequence[str]], set[str]]
"""
A function that returns those names in a folder that may be protected. It never returns too few names, and seldom more
than a few.
"""

_PROBE_NAME = "\0"
"""
A name that no file has and that no pattern is about. An ordinary name would not do: `*file` would match "some file".
"""

# Some systems read any other name, or a name that ends with a dot, as a different name: `.env ` or `.env::$DATA`.
_ORDINARY = re.compile(r"[!-9;-\[\]-~]*")

ProtectionLevel = Literal["hidden", "read-only", "pinned"]
_LEVEL_ORDER: dict[ProtectionLevel, int] = {"hidden": 0, "read-only": 1, "pinned": 2}
_MAX_SNAPSHOT_FILES = 2000
_MAX_FOLDERS_BEHIND_LINK = 200
# The search of so many names takes about ten seconds. An error is better than such a wait before every command.
_MAX_NAMES = 5_000_000
# A change within one tick of the clock does not change the time of a folder, so a folder that changed just now is read
# again.
_CLOCK_TICK_NANOSECONDS = 100_000_000


@dataclass(frozen=True, slots=True)
class ProtectedPath:
    """
    A protected file or folder in the workspace, with its absolute path without links.

    A "hidden" one cannot be read or written, and a "read-only" one cannot be written. A "pinned" one is a folder on the
    path to a protected file, and cannot be renamed.
    """

    path: str
    level: ProtectionLevel
    is_folder: bool


@dataclass(frozen=True, slots=True)
class _FolderScan:
    identity: tuple[int, int, int]
    protected: tuple[ProtectedPath, ...]
    subfolders: tuple[str, ...]
    name_count: int
    is_settled: bool


@dataclass(slots=True, eq=False)
class VisibleFiles:
    """
    The folders of a workspace in the form that a sandbox needs.

    Attributes:
        writable: The folders that may be read and written, with links resolved. The first one is the root.
        read_only: The folders that may only be read. If folders lie inside one another, the innermost one counts.
        is_protected: Says whether a file is protected from reading, or from writing.
        find_suspects: Says which names of a folder have to be judged at all. By default, all names are.
        search_roots: The folders in which protected files are searched for. By default, these are all folders. Trials
            use fewer.
        max_names: The most names in the workspace. A larger workspace is refused, because the search would take too
            long.
        clock: Returns the nanoseconds since 1970.
    """

    writable: tuple[str, ...]
    read_only: tuple[str, ...]
    is_protected: _IsProtected
    find_suspects: _FindSuspects = lambda folder, names: set(names)
    search_roots: tuple[str, ...] | None = None
    max_names: int = _MAX_NAMES
    clock: Callable[[], int] = time.time_ns
    _scans: dict[str, _FolderScan] = field(default_factory=dict, init=False, repr=False)

    @property
    def workspace_folders(self) -> dict[str, bool]:
        """The folders, and whether each may be written, the outer before the inner."""
        return dict(sorted({**dict.fromkeys(self.writable, True), **dict.fromkeys(self.read_only, False)}.items()))

    def may_write(self, path: str) -> bool:
        """Return whether the innermost folder that contains *path* may be written."""
        inner = [may_write for top, may_write in self.workspace_folders.items() if is_inside(path, top)]
        return bool(inner) and inner[-1]

    def find_protected(self) -> list[ProtectedPath]:
        """Return everything that is protected now, folders before their contents."""
        visited: dict[str, _FolderScan] = {}
        protected: dict[str, ProtectedPath] = {}
        try:
            for top in self.workspace_folders if self.search_roots is None else self.search_roots:
                for item in self._search_folders(top, visited):
                    # Because of links, one file may have several names. The name with the strictest protection counts.
                    other = protected.get(item.path, item)
                    protected[item.path] = min(other, item, key=lambda path: _LEVEL_ORDER[path.level])
        finally:
            # This is also stored after an error, so that the next search finds sooner that there are too many names.
            self._scans = visited
        named: list[ProtectedPath] = []
        enclosing: list[ProtectedPath] = []
        for item in sorted(protected.values(), key=lambda item: item.path.split("/")):
            while enclosing and not item.path.startswith(f"{enclosing[-1].path}/"):
                enclosing.pop()
            if enclosing and (enclosing[-1].level == "hidden" or item.level != "hidden"):
                continue  # the folder's own protection covers it
            if item.is_folder and item.level != "pinned":
                enclosing.append(item)
            named.append(item)
        return named

    def snapshot_read_only_files(self) -> dict[str, tuple[int, ...]]:
        """Return values for each read-only file that show a change, such as a time that no process can set."""
        states: dict[str, tuple[int, ...]] = {}
        for item in self.find_protected():
            if item.level == "read-only":
                for path in _walk_paths(item.path):
                    with contextlib.suppress(OSError):
                        status = os.lstat(path)
                        states[path] = (status.st_ino, status.st_ctime_ns, status.st_size, status.st_mode)
        return states

    def _search_folders(self, top: str, visited: dict[str, _FolderScan]) -> Iterator[ProtectedPath]:
        waiting = [top]
        names = sum(record.name_count for record in visited.values())
        while waiting:
            folder = waiting.pop()
            if folder in visited:
                continue
            folder_record = self._scan_folder(folder)
            if folder_record is not None:
                visited[folder] = folder_record
                names += folder_record.name_count
                yield from folder_record.protected
                waiting += folder_record.subfolders
            if names > self.max_names:
                raise ToolError(
                    f"the workspace has more than {self.max_names:,} files and folders, too many to search for "
                    "protected ones before each command; choose a smaller root"
                )

    def _scan_folder(self, folder: str) -> _FolderScan | None:
        """Return what is protected directly in *folder*, and which folders to search next; None if it is unreadable."""
        try:
            status = os.stat(folder, follow_symlinks=False)
            # The time of the last change is used and not the time of modification, because a command can set the
            # latter. The device and the inode are used as well, because two folders that were changed in one tick of
            # the clock may have changed places.
            identity = (status.st_dev, status.st_ino, status.st_ctime_ns)
            previous = self._scans.get(folder)
            if previous is not None and previous.is_settled and previous.identity == identity:
                return previous
            now = self.clock()
            with os.scandir(folder) as scan:
                entries = list(scan)
            listed = [(entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries]
        except OSError:
            return None  # it is gone or cannot be read; then the command cannot read it either
        suspects = self.find_suspects(folder, [name for name, *_ in listed])
        protected: list[ProtectedPath] = []
        below: list[str] = []
        has_links = False
        for name, is_folder, is_link in listed:
            if not is_folder and name not in suspects:
                continue
            path = os.path.join(folder, name)
            level = self._protection_level(path, is_folder) if name in suspects else None
            if is_link:
                has_links = has_links or level is not None
                protected += self._find_link_targets(path, level)
                continue
            if level is not None:
                protected.append(ProtectedPath(path, level, is_folder))
            # A folder that is protected only from writing can still have a secret in it.
            if is_folder and level != "hidden":
                below.append(path)
        # A FIFO can be written through a read-only mount, because the kernel stores nothing of it on the disk.
        protected += [] if self.may_write(folder) else _find_fifos(entries)
        is_settled = now - status.st_ctime_ns > _CLOCK_TICK_NANOSECONDS and not has_links
        return _FolderScan(identity, tuple(protected), tuple(below), len(listed), is_settled)

    def _protection_level(self, path: str, is_folder: bool) -> ProtectionLevel | None:
        if not self.is_protected(path, "write"):
            return None
        # A pattern for files does not protect a folder that happens to have such a name.
        inner = f"{path}/{_PROBE_NAME}" if is_folder else path
        if self.is_protected(inner, "read"):
            return "hidden"
        if self.is_protected(inner, "write"):
            return "read-only"
        return "pinned"

    def _find_link_targets(self, link: str, level: ProtectionLevel | None) -> Iterator[ProtectedPath]:
        """
        Yield the target of a link with a protected name, if the target is in the workspace.

        The target may be a folder on the path to a protected file, for example if `.config` is a link to `dotfiles`.
        Then its contents are judged as if they were in the folder of the link's name: by every name that a command
        could use for them.
        """
        waiting: list[tuple[str, str, tuple[str, ...]]] = [] if level is None else [(link, link, ())]
        folders = 0
        while waiting:
            path, place, above = waiting.pop()
            place = _resolve_link(place)
            level = self._protection_level(path, is_folder := os.path.isdir(place))
            if level is None or place in above or not os.path.exists(place):
                continue
            if level != "pinned":
                if any(place != top and is_inside(place, top) for top in self.workspace_folders):
                    yield ProtectedPath(place, level, is_folder)
            elif is_folder and any(is_inside(place, top) for top in self.workspace_folders):
                folders += 1
                if folders > _MAX_FOLDERS_BEHIND_LINK:
                    raise ToolError(f"links behind {link} lead to one another without end; remove them")
                with contextlib.suppress(OSError):
                    names = os.listdir(place)
                    waiting += [(f"{path}/{name}", os.path.join(place, name), (*above, place)) for name in names]


def _find_fifos(entries: Iterable[os.DirEntry[str]]) -> Iterator[ProtectedPath]:
    for entry in entries:
        with contextlib.suppress(OSError):
            # The first check costs nothing, and leaves hardly any entry for the second.
            if not entry.is_file(follow_symlinks=False) and stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode):
                yield ProtectedPath(entry.path, "hidden", False)


def _resolve_link(link: str) -> str:
    try:
        return os.path.realpath(link)
    except OSError:  # it was replaced during the search; the second search, before the command begins, looks again
        return link


def _walk_paths(top: str) -> Iterator[str]:
    """Yield *top* and what is below it, up to a maximum number of entries."""
    yield top
    below = (os.path.join(folder, name) for folder, *names in os.walk(top) for name in (*names[0], *names[1]))
    yield from itertools.islice(below, _MAX_SNAPSHOT_FILES)


def visible_files_of(workspace: Workspace) -> VisibleFiles:
    """Return the folders of *workspace*, always as the same object, so that what a search found is remembered."""
    files = workspace.protected_files  # a reference to the workspace would be a circle

    def is_protected(path: str, access: Literal["read", "write"]) -> bool:
        return files.find_rule(path, access) is not None

    find_suspects = build_suspect_finder(workspace.protected_patterns, is_protected)
    visible_files: VisibleFiles = workspace.remembered.setdefault(
        VisibleFiles, VisibleFiles(workspace.folders, workspace.read_only, is_protected, find_suspects)
    )
    return visible_files


def build_suspect_finder(patterns: Iterable[str], is_protected: _IsProtected) -> _FindSuspects:
    """
    Return the function that finds suspects for *patterns*, by whose verdict a path *is_protected*.

    It joins the names of a folder into one text. If the text has nothing that a pattern needs, no name is protected. In
    most folders only the names of the files matter, and only the first name of each pattern. The exceptions are
    folders that a pattern is about: as a whole, or as a part of the path to a protected file.
    """
    first_names = [fold_names(pattern.replace("\\", "/").removeprefix("**/"))[0] for pattern in patterns]
    plain = {first for first in first_names if not _split_at_wildcards(first)[1:]}
    clues = {max(_split_at_wildcards(first), key=len) for first in first_names if first not in plain}

    def may_contain_protected(names: str) -> bool:
        if _ORDINARY.fullmatch(names) is None or "./" in f"{names}/":
            return True
        lowered = names.lower()
        return not plain.isdisjoint(lowered.split("/")) or any(clue in lowered for clue in clues)

    def find_suspects(folder: str, names: Sequence[str]) -> set[str]:
        if is_protected(folder, "write") or is_protected(f"{folder}/{_PROBE_NAME}", "write"):
            return set(names)
        if not may_contain_protected("/".join(names)):
            return set()
        return {name for name in names if may_contain_protected(name)}

    return find_suspects


def _split_at_wildcards(name: str) -> list[str]:
    """Return the texts between the wildcards of a pattern's name, or the whole name if it has no wildcard."""
    return re.split(r"[*?]", name)
