"""
Whether a path stays inside the folders that tools may touch.

A path is judged by where it leads, with `..` and every symbolic link followed, also those of
parents of a file that does not exist yet. It is taken literally: no `~`, no variables.
Only links are read. What holds now may be changed before the file is opened, and a hard link
cannot be told from a file: this is a check, the boundary is a sandbox.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Literal, NamedTuple

from .._option_checks import several
from .protected_files import folded

__all__ = ["BadPath", "Folders", "Place", "resolved", "shown"]

_MOST_LINKS = 40
_MOST_BYTES = 4096
_MOST_BYTES_OF_A_NAME = 255


class BadPath(ValueError):  # noqa: N818 -- named by what it is
    """A text that leads to no file at all: empty, too long, in a circle. The caller has to send another one."""


class Place(NamedTuple):
    """
    Where a path leads.

    Attributes:
        path: Absolute, links followed; a tail that does not exist is kept.
        passed: The same file under every other name it has on the way, as written first.
    """

    path: str
    passed: tuple[str, ...]


def resolved(path: str, root: str) -> str:
    """
    Where *path* leads: absolute, normalised, links followed; a tail that does not exist is kept.

    Raises:
        BadPath: It cannot be a path, or leads in a circle; the message says what to send instead.
        ValueError: It may not be followed; the message says why.
    """
    return _followed(_checked(path), root).path


class Folders:
    """
    The folders that tools may touch; the first one is where relative paths start.

    Of folders inside one another the innermost counts. Folders are resolved once, here.

    Args:
        folders: What may be read and written.
        read_only: What may only be read.
    """

    def __init__(
        self, folders: Sequence[str | os.PathLike[str]], *, read_only: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        self.writable = tuple(_folder(each) for each in several(folders, "folders", "folders"))
        self.read_only = tuple(_folder(each) for each in several(read_only, "read_only_folders", "folders"))
        if not self.writable:
            raise ValueError("tools need at least one folder to start from; name it in `folders`")
        if both := set(self.writable) & set(self.read_only):
            raise ValueError(f"the folder {min(both)!r} cannot be both writable and read-only; name it once")
        self.root = self.writable[0]
        self._names = {each: folded(each) for each in (*self.writable, *self.read_only)}
        self._only_read = [self._names[each] for each in self.read_only]
        # What lies above the root no tool can change, so it is followed once and not for every path.
        is_fixed = not any(_is_inside(self.root, each) for each in self.writable if each != self.root)
        self._start = self.root if is_fixed else "/"

    def places(self, path: str) -> tuple[Place, ...]:
        """
        Where *path* may lead: as the system follows it, and as a program that takes out `..` first.

        Raises:
            BadPath: It cannot be a path, or leads in a circle; the message says what to send instead.
            ValueError: It may not be followed; the message says why.
        """
        place = _followed(_checked(path), self.root, start=self._start)
        if ".." not in path:
            return (place,)
        return (place, _followed(os.path.normpath(path), self.root, start=self._start))

    def outside(self, path: str, access: Literal["read", "write"]) -> str | None:
        """Why *path* may not be accessed here, with the remedy; None if it may."""
        try:
            return self.find_objection(path, access)
        except BadPath as error:
            return str(error)

    def find_objection(self, path: str, access: Literal["read", "write"]) -> str | None:
        """
        Return the same, and tell a path that leads to no file from one that is refused.

        Raises:
            BadPath: It leads to no file at all; the message says what to send instead.
        """
        try:
            places = self.places(path)
        except BadPath:
            raise
        except ValueError as error:
            return str(error)
        return next(filter(None, (self._outside(path, place.path, access) for place in places)), None)

    def _outside(self, path: str, place: str, access: Literal["read", "write"]) -> str | None:
        leads = f"{shown(path)} leads to {shown(place)}, which" if place != path else shown(path)
        inner = max((each for each in self._names if _is_inside(place, each)), key=len, default=None)
        if inner is None:
            known = ", ".join(map(shown, self.writable))
            return f"{leads} is outside the folders of this workspace ({known}); {_REMEDY}"
        if access == "read":
            return None
        names = folded(place)
        depth = len(self._names[inner])
        # Case does not help: on some disks VENDOR is vendor, and that one is only read.
        if any(len(each) >= depth and each == names[: len(each)] for each in self._only_read):
            return f"{leads} is in a folder that is only read; {_REMEDY}"
        if any(each[: len(names)] == names for each in self._names.values()):
            return f"{leads} is, or holds, a folder of this workspace; change what is in it instead"
        return None


_REMEDY = "choose another place, or name its folder in SafetyChecks(folders=...)"


def _folder(folder: str | os.PathLike[str]) -> str:
    path = resolved(os.fspath(folder), os.getcwd())
    if os.path.exists(path) and not os.path.isdir(path):
        raise ValueError(f"{path!r} is a file; name the folder it is in")
    return path


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def shown(path: str) -> str:
    """A path as a message shows it: quoted, escaped and not too long."""
    return repr(path if len(path) <= 200 else f"{path[:200]}...")


def _checked(path: str) -> str:
    """*path*, if it can be one."""
    if not isinstance(path, str):
        raise BadPath(f"a path is text, got {type(path).__name__}")
    if not path:
        raise BadPath("the path is empty; name a file, or write `.` for the folder itself")
    if path[0] == "~":
        raise ValueError(f"{shown(path)} begins with `~`, which is not expanded; write the whole path, or `./~...`")
    if "\0" in path:
        raise BadPath(f"{shown(path)} holds a NUL character, which no path can; send it without")
    try:
        data = os.fsencode(path)
    except UnicodeEncodeError:
        raise BadPath(f"{shown(path)} holds characters that no path can; send it without") from None
    if len(data) > _MOST_BYTES or any(len(name) > _MOST_BYTES_OF_A_NAME for name in data.split(b"/")):
        raise BadPath(
            f"{shown(path)} is too long for a path: a name has at most 255 bytes, and a path 4096; shorten it"
        )
    return path


def _followed(path: str, root: str, *, start: str = "/") -> Place:
    """Walk to *path*, name by name; from *start*, if it is relative and *start* is its resolved root."""
    written = os.path.join(os.path.abspath(root), path)
    if os.name == "nt":  # pragma: no cover -- drives, shares and junctions are better known there
        return Place(os.path.realpath(written), (os.path.abspath(written),))
    at, rest = (start, path) if start == root and not path.startswith("/") else ("/", written)
    passed = [os.path.normpath(written)]
    links = 0
    waiting = rest.split("/")[::-1]
    while waiting:
        name = waiting.pop()
        if name in {"", "."}:
            continue
        if name == "..":
            at = at.rpartition("/")[0] or "/"
            continue
        here = f"/{name}" if at == "/" else f"{at}/{name}"
        target = _target(here)
        if target is None:
            at = here
            continue
        links += 1
        if links > _MOST_LINKS:
            raise BadPath(f"{shown(path)} leads through too many links, or in a circle; name the file itself")
        passed.append(os.path.normpath("/".join((here, *waiting[::-1]))))
        waiting += target.split("/")[::-1]
        if target.startswith("/"):
            at = "/"
    return Place(at, tuple(passed))


def _target(path: str) -> str | None:
    """Where a link points to; None if *path* is no link, or is not there."""
    try:
        target = os.readlink(path)
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT, errno.ENOTDIR}:
            return None
        # It may be a link all the same, and lead anywhere.
        raise ValueError(f"{shown(path)} cannot be followed ({error.strerror}); choose another place") from None
    if path.startswith(("/proc/", "/dev/fd/")):
        # They mean another file in each process, and some lead around every folder.
        raise ValueError(f"{shown(path)} is a link that every process has for itself; name the file itself")
    return target
