"""
Names that a sandbox covers with mounts, and whether a cover has come off.

A mount covers one file, not its name: when somebody outside renames another file to the name, or makes one anew, the
kernel takes the mount away, and the command sees what is there. No mount prevents that, so it is watched for. A file
that is written in place, or moved with its cover, stays covered.

Watched are both the names and the mounts. The kernel takes a mount away first and then goes on to replace or remove the
file; it tells of the mount at once, and of the name when it is done, which is some milliseconds later. And a file that
was moved with its cover, or is only removed, has no name to watch. But a folder can take another one's place, and
what is protected in it was never covered: of that, only names tell.

Stands alone and imports nothing of ours: the launcher loads it by path.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Covers", "Mounts"]

_CREATED, _MOVED_HERE, _OVERFLOW = 0x100, 0x80, 0x4000
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000
_EVENT = struct.Struct("iIII")
_MOST_READS, _MOST_OF_A_READ = 16, 1 << 16
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class Covers:
    """
    What is covered, watched from now on.

    Attributes:
        poll_seconds: How often to ask, where the system does not tell; None where `fileno()` becomes readable.

    Args:
        paths: What is covered, by whole paths without links.
        tops: The folders that the command is given. What happens outside them changes nothing for it.
        most_folders: How many folders are watched at most; if there are more, one has to ask now and then.
    """

    def __init__(self, paths: Iterable[str], tops: Sequence[str], *, most_folders: int = 20_000) -> None:
        self._tops = tuple(f"{top.rstrip('/')}/" for top in tops)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folders: dict[int, str] = {}
        wanted = list(paths)
        self._on_the_way = {folder for path in wanted for folder in self._above(path)}
        self._events: int | None = None
        if len(self._on_the_way) <= most_folders and hasattr(self._libc, "inotify_init1"):
            self._events = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._events is not None and self._events < 0:
            self._events = None  # the user has no more of them
        self._watch()
        # Only now: what changes from here on is told.
        self._known = {path: _identity(path) for path in wanted}

    @property
    def poll_seconds(self) -> float | None:
        return 0.25 if self._events is None else None

    def fileno(self) -> int:
        """What becomes readable when there may be something to ask for; -1 if one has to ask now and then."""
        return -1 if self._events is None else self._events

    def is_there(self, path: str) -> bool:
        """Whether *path* was there at the beginning, so that it can be covered."""
        return self._known[path] is not None

    def lost(self) -> str | None:
        """A covered name that something else has taken since; None if there is none."""
        if self._events is None:
            return self._other()
        look_again = False
        for folder, name, kind in self._news():
            path = f"{folder.rstrip('/')}/{name}"
            if path in self._known and not kind & _OVERFLOW:
                return path
            look_again = look_again or path in self._on_the_way or bool(kind & _OVERFLOW)
        if not look_again:
            return None
        self._watch()  # a folder may be another one now
        return self._other()

    def close(self) -> None:
        if self._events is not None:
            os.close(self._events)
            self._events = None

    def _other(self) -> str | None:
        for path, known in self._known.items():
            now = _identity(path)
            if now is not None and now != known:
                return path
        return None

    def _watch(self) -> None:
        for folder in sorted(self._on_the_way) if self._events is not None else ():
            kinds = _CREATED | _MOVED_HERE | _ONLY_FOLDERS | _NO_LINKS
            number = self._libc.inotify_add_watch(self._events, os.fsencode(folder), kinds)
            if number >= 0:
                self._folders[number] = folder
            elif os.path.isdir(folder) and not os.path.islink(folder):
                self.close()  # no more folders can be watched
                return

    def _news(self) -> Iterator[tuple[str, str, int]]:
        # Not all there are: a command may make new ones for ever, and other news must be heard, too.
        for _ in range(_MOST_READS if self._events is not None else 0):
            try:
                data = os.read(self.fileno(), _MOST_OF_A_READ)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, kind, _, size = _EVENT.unpack_from(data, at)
                at += _EVENT.size
                name = os.fsdecode(data[at : at + size].rstrip(b"\0"))
                at += size
                yield self._folders.get(number, ""), name, kind

    def _above(self, path: str) -> Iterator[str]:
        """The folders that *path* is in, as far as the command is given them."""
        folder = os.path.dirname(path)
        while f"{folder.rstrip('/')}/".startswith(self._tops):
            yield folder
            if folder == "/":
                return
            folder = os.path.dirname(folder)


class Mounts:
    """
    What covers *secrets*, whole paths, in the sandbox of *process*, from now on.

    In `select`, it is among the exceptional when the table of mounts has changed, once for each change.

    Raises:
        OSError: The table of mounts cannot be read.
    """

    def __init__(self, process: int, secrets: Iterable[str]) -> None:
        # Held open, it outlives the process: what came off at its end is still told.
        self._file = os.open(f"/proc/{process}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        wanted = set(map(os.fsencode, secrets))
        self._known = {mount: place for mount, place in self._table() if place in wanted}

    def fileno(self) -> int:
        return self._file

    def gone(self) -> str | None:
        """A secret that lost its cover; None if there is none."""
        now = {mount for mount, _ in self._table()}
        return next((os.fsdecode(place) for mount, place in self._known.items() if mount not in now), None)

    def close(self) -> None:
        os.close(self._file)

    def _table(self) -> Iterator[tuple[tuple[bytes, ...], bytes]]:
        """Which mount, and where. A mount stays itself if what it is on is moved, so its place does not count."""
        text = b""
        while data := os.pread(self._file, _MOST_OF_A_READ, len(text)):
            text += data
        for line in filter(None, text.split(b"\n")):  # other ends of lines may be in a name
            number, _, device, source, place, *_ = line.split(b" ")
            yield (number, device, source), _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), place)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
