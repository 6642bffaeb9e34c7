"""
Rules for the paths on a command line that are dangerous to remove or to write.

This module does not look at the disk. It compares the names on the command line with the names of files and folders
that are hard to restore. Protected files have a list of their own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple

from ...verdicts import Word
from ..shell.braces import expand_braces

__all__ = ["CONNECTS", "TOO_MANY_NAMES", "Danger", "removal_danger", "writing_danger"]


class Danger(NamedTuple):
    """A danger: whether to ask or to deny, and the reason."""

    word: Word
    why: str


_SYSTEM = frozenset({
    "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "root", "run", "sbin", "srv",
    "sys", "usr", "var", "mnt", "media", "lost+found", "System", "Library", "Applications", "Volumes", "private",
    "cores", "Windows",
})  # fmt: skip
_HOMES = frozenset({"home", "Users"})
# Folders in which projects lie on servers and in containers, although the folder above belongs to the system.
_PROJECTS = re.compile(r"/(opt|srv|root|mnt|media|Volumes|usr/src|usr/local/src|var/www)/[^/*?$`]+/[^$`]+")
_SCRATCH = re.compile(r"/(tmp|var/tmp|private/tmp|dev/shm|var/folders)/[^/*?]+")
_EVERYTHING = re.compile(r"\.?[*?]+|\.\[.*\]\*?|\[.*\]\*")
_UNKNOWN = re.compile(r"[$`]|[<>]\(")

_HARMLESS_DEVICES = re.compile(r"/dev/(null|zero|full|stdout|stderr|stdin|tty|fd/\d+|shm/.+)")
CONNECTS = Danger("deny", "opens a connection to another machine")
_WRITING_DANGERS: tuple[tuple[re.Pattern[str], Danger], ...] = (
    (re.compile(r"/dev/(tcp|udp)/.*"), CONNECTS),
    (
        re.compile(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|loop|dm-|md|mapper/|mem|kmem|port|sr).*"),
        Danger("deny", "writes to a raw device"),
    ),
    (re.compile(r"/dev/.*"), Danger("ask", "writes to a device")),
    (re.compile(r"/(proc|sys)/.*"), Danger("ask", "changes the running kernel")),
)
_OPTION_NAME = re.compile(r"/-[^/]+$")
_SYSTEM_FOLDERS = re.compile(r"/(bin|boot|etc|lib\d*|libx32|opt|root|run|sbin|srv|usr|var|System|Library)(/.*)?")
TOO_MANY_NAMES = Danger("ask", "is about more names than can be looked at")

_UNKNOWN_REMOVAL = Danger("ask", "removes files that are not known beforehand: the name is worked out when it runs")


def removal_danger(target: str, *, recursive: bool = True) -> Danger | None:
    """Return why *target* should not be removed or emptied, or None if there is no reason."""
    names = expand_braces(target)
    return (
        TOO_MANY_NAMES
        if names is None
        else _pick_worst(_name_removal_danger(name, recursive=recursive) for name in names)
    )


def writing_danger(target: str) -> Danger | None:
    """Return why *target* should not be written to, or None if there is no reason."""
    names = expand_braces(target)
    return TOO_MANY_NAMES if names is None else _pick_worst(map(_name_writing_danger, names))


def _pick_worst(dangers: Iterable[Danger | None]) -> Danger | None:
    real_dangers = [danger for danger in dangers if danger is not None]
    return min(real_dangers, key=lambda danger: danger.word != "deny", default=None)


def _name_writing_danger(name: str) -> Danger | None:
    path = _normalize(name)
    if _OPTION_NAME.search(name):
        return Danger("ask", "makes a file whose name other programs take for an option")
    if _HARMLESS_DEVICES.fullmatch(path) or _SCRATCH.match(path):
        return None
    for pattern, danger in _WRITING_DANGERS:
        if pattern.fullmatch(path):
            return danger
    if _SYSTEM_FOLDERS.fullmatch(path) and not _PROJECTS.fullmatch(path):
        return Danger("ask", "changes the system outside of any project")
    return None


def _name_removal_danger(text: str, *, recursive: bool) -> Danger | None:
    path = _normalize(text)
    first, *rest = path.split("/")[1:] if path.startswith("/") else path.split("/")
    everything = _EVERYTHING.fullmatch
    if path == "/" or (path.startswith("/") and everything(first)):
        return Danger("deny", "removes the whole file system")
    if first.startswith("~") and not path.startswith("/"):
        if not rest or (len(rest) == 1 and everything(rest[0])):
            return Danger("deny", "removes a whole home folder")
        return Danger("ask", "removes a part of a home folder") if recursive or writing_danger(path) else None
    if path.startswith("/"):
        return _absolute_removal_danger(path, first, rest, recursive=recursive)
    if _UNKNOWN.search(path):
        return _UNKNOWN_REMOVAL if recursive else None
    if ".git" in (first, *rest[-1:]) and recursive:
        return Danger("ask", "removes a repository's history")
    if recursive and (first == ".." or path == "."):
        return Danger("ask", "removes the folder that it runs in, or one above")
    if everything(first) and not rest:
        return Danger("ask", "removes everything in the folder that it runs in")
    return writing_danger(path)


def _absolute_removal_danger(path: str, first: str, rest: list[str], *, recursive: bool) -> Danger | None:
    if (_SCRATCH.match(path) and not _UNKNOWN.search(path)) or _PROJECTS.fullmatch(path):
        return (
            writing_danger(path) if not rest or rest[-1] != ".git" else Danger("ask", "removes a repository's history")
        )
    if first in _SYSTEM or first == "tmp":
        is_whole_folder = recursive and (not rest or (len(rest) == 1 and _EVERYTHING.fullmatch(rest[0])))
        return Danger("deny" if is_whole_folder and first != "tmp" else "ask", "removes a part of the system")
    if recursive and _UNKNOWN.search(path):
        return _UNKNOWN_REMOVAL
    if recursive and first in _HOMES and len(rest) < 3:
        return Danger("deny" if len(rest) < 2 else "ask", "removes a home folder or a part of it")
    if recursive and (not rest or ".git" in rest[-1:]):
        return Danger("ask", "removes a folder at the root of the file system, or a repository's history")
    return writing_danger(path)


def _normalize(text: str) -> str:
    """Return a path in one spelling: `$HOME//x/../y/` is `~/y`."""
    text = re.sub(r"^(\$HOME|\$\{HOME\})(?=/|$)", "~", text)
    text = re.sub(r"^(\$PWD|\$\{PWD\})(?=/|$)", ".", text)
    path = posixpath.normpath(text) if text else text
    # `normpath` keeps two leading slashes. To the system they are one.
    return "/" + path.lstrip("/") if path.startswith("/") else path
