"""
The names that a sandbox covers with mounts, and a watch for covers that come off.

A mount covers a file, not its name. If a process outside renames another file to the name, or makes a new one, the
kernel removes the mount, and the command sees the file that is there. No mount prevents that, so it is watched for. A
file that is written in place, or moved together with its cover, stays covered.

Both the names and the mounts are watched. The kernel first removes a mount and then replaces or removes the file. It
reports the change of the mount at once. It reports the change of the name when it has finished, some milliseconds
later. Also, a file that was moved with its cover, or is only removed, has no name to watch. But a folder can take the
place of another folder, and the protected files in it were never covered. Only the names report that.

This file imports nothing else of the package, because the launcher is loaded without it.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["MountWatch", "NameWatch"]

_EVENT_CREATED, _EVENT_MOVED_TO, _EVENT_OVERFLOW = 0x100, 0x80, 0x4000
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000
_EVENT = struct.Struct("iIII")
_MAX_READS, _MAX_READ_BYTES = 16, 1 << 16
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class NameWatch:
    """
    The covered names, absolute and without links, which are watched from now on.

    Changes outside *workspace_folders* do not matter to the command. If there are more than *max_folders* to watch, the
    system does not report changes, and the caller has to call `find_replaced_path` regularly.
    """

    def __init__(self, paths: Iterable[str], workspace_folders: Sequence[str], *, max_folders: int = 20_000) -> None:
        self._workspace_prefixes = tuple(f"{top.rstrip('/')}/" for top in workspace_folders)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folders_by_watch: dict[int, str] = {}
        covered = list(paths)
        self._parent_folders = {folder for path in covered for folder in self._folders_above(path)}
        self._inotify_fd: int | None = None
        if len(self._parent_folders) <= max_folders and hasattr(self._libc, "inotify_init1"):
            self._inotify_fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._inotify_fd is not None and self._inotify_fd < 0:
            self._inotify_fd = None  # the user has no inotify instances left
        self._watch_folders()
        # The identities are read only now: changes from here on are reported.
        self._identities = {path: _identity(path) for path in covered}

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when a path may have been replaced, or -1 if there is none."""
        return -1 if self._inotify_fd is None else self._inotify_fd

    def is_present(self, path: str) -> bool:
        """Return whether *path* existed at the beginning, so that it can be covered."""
        return self._identities[path] is not None

    def find_replaced_path(self) -> str | None:
        """Return a covered name that another file has taken since the beginning, or None if there is none."""
        if self._inotify_fd is None:
            return self._find_changed_identity()
        look_again = False
        for folder, name, kind in self._read_events():
            path = f"{folder.rstrip('/')}/{name}"
            if path in self._identities and not kind & _EVENT_OVERFLOW:
                return path
            look_again = look_again or path in self._parent_folders or bool(kind & _EVENT_OVERFLOW)
        if not look_again:
            return None
        self._watch_folders()  # a folder may have been replaced
        return self._find_changed_identity()

    def close(self) -> None:
        if self._inotify_fd is not None:
            os.close(self._inotify_fd)
            self._inotify_fd = None

    def _find_changed_identity(self) -> str | None:
        for path, identity in self._identities.items():
            now = _identity(path)
            if now is not None and now != identity:
                return path
        return None

    def _watch_folders(self) -> None:
        for folder in sorted(self._parent_folders) if self._inotify_fd is not None else ():
            kinds = _EVENT_CREATED | _EVENT_MOVED_TO | _ONLY_FOLDERS | _NO_LINKS
            number = self._libc.inotify_add_watch(self._inotify_fd, os.fsencode(folder), kinds)
            if number >= 0:
                self._folders_by_watch[number] = folder
            elif os.path.isdir(folder) and not os.path.islink(folder):
                self.close()  # no more folders can be watched
                return

    def _read_events(self) -> Iterator[tuple[str, str, int]]:
        # Not all events are read: a command may make new ones forever, and the launcher has other events to handle.
        for _ in range(_MAX_READS if self._inotify_fd is not None else 0):
            try:
                data = os.read(self.fileno(), _MAX_READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, kind, _, size = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = os.fsdecode(data[at : at + size].rstrip(b"\0"))
                at += size
                yield self._folders_by_watch.get(number, ""), name, kind

    def _folders_above(self, path: str) -> Iterator[str]:
        """Yield the folders that contain *path*, as far as the command gets them."""
        folder = os.path.dirname(path)
        while f"{folder.rstrip('/')}/".startswith(self._workspace_prefixes):
            yield folder
            if folder == "/":
                return
            folder = os.path.dirname(folder)


class MountWatch:
    """
    The mounts that cover *secrets*, absolute paths, in the sandbox of *process*, which are watched from now on.

    `select` reports this object as exceptional when the table of mounts has changed, once for each change.
    """

    def __init__(self, process: int, secrets: Iterable[str]) -> None:
        # An open file outlives the process, so covers that come off when the process ends are still reported.
        self._file = os.open(f"/proc/{process}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        secret_paths = set(map(os.fsencode, secrets))
        self._cover_mounts = {mount: place for mount, place in self._read_table() if place in secret_paths}

    def fileno(self) -> int:
        return self._file

    def find_uncovered_path(self) -> str | None:
        """Return a secret that lost its cover, or None if there is none."""
        now = {mount for mount, _ in self._read_table()}
        return next((os.fsdecode(place) for mount, place in self._cover_mounts.items() if mount not in now), None)

    def close(self) -> None:
        os.close(self._file)

    def _read_table(self) -> Iterator[tuple[tuple[bytes, ...], bytes]]:
        """
        Yield the identity of each mount, and its path.

        A mount keeps its identity if the file that it covers is moved, so the path is not part of the identity.
        """
        text = b""
        while data := os.pread(self._file, _MAX_READ_BYTES, len(text)):
            text += data
        for line in filter(None, text.split(b"\n")):  # a name may contain other line ends
            number, _, device, source, place, *_ = line.split(b" ")
            yield (number, device, source), _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), place)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
