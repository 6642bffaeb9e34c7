"""
Checks whether a path stays inside the folders that tools may touch.

A path is judged by the place it leads to. `..` and every symbolic link are followed, including links in the parents of
a file that does not exist yet. The path is taken literally: `~` and variables are not expanded.

To follow a path, this module reads only links. A link may change between this check and the moment when the file is
opened, and a hard link looks like an ordinary file. So this is only a check; the boundary is a sandbox.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Literal, NamedTuple

from .._option_checks import require_list
from .protected_files import Protected, fold_names

__all__ = [
    "BadPath",
    "Folders",
    "ResolvedPath",
    "explain_protection",
    "is_inside",
    "quote_path",
    "resolve_path",
    "resolve_places",
]

_NO_LINK = frozenset({errno.EINVAL, errno.ENOENT, errno.ENOTDIR})
_MAX_LINKS = 40
_MAX_PATH_BYTES = 4096
_MAX_NAME_BYTES = 255


class BadPath(ValueError):  # noqa: N818 -- the name says what is wrong
    """A text that leads to no file: it is empty, too long or leads in a circle. The caller has to send another path."""


class ResolvedPath(NamedTuple):
    """
    The place that a path leads to.

    Attributes:
        path: The absolute path, with links followed. A tail that does not exist is kept.
        other_names: Every other name that the same file has on the way. The first one is the path as written.
    """

    path: str
    other_names: tuple[str, ...]


def resolve_places(path: str, root: str, *, start: str) -> tuple[ResolvedPath, ...]:
    """Do the same as `Folders.places`. *root* is resolved, and links above *start* are not followed."""
    place = _follow_path(_check_path(path), root, start=start)
    if ".." not in path:
        return (place,)
    return (place, _follow_path(os.path.normpath(path), root, start=start))


def resolve_path(path: str, root: str) -> str:
    """
    Return the place that *path* leads to: absolute, normalised, with links followed.

    A tail that does not exist is kept.

    Raises:
        BadPath: The text cannot be a path, or leads in a circle. The message says what to send instead.
        ValueError: The path may not be followed. The message says why.
    """
    return _follow_path(_check_path(path), os.path.abspath(root)).path


class Folders:
    """
    The folders that tools may touch. Relative paths start in the first folder.

    If one folder lies inside another, the innermost folder decides. The constructor resolves the folders once.

    Args:
        folders: The folders that tools may read and write.
        read_only: The folders that tools may only read.
    """

    def __init__(
        self, folders: Sequence[str | os.PathLike[str]], *, read_only: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        self.writable = tuple(_resolve_folder(folder) for folder in require_list(folders, "folders", "folders"))
        self.read_only = tuple(
            _resolve_folder(folder) for folder in require_list(read_only, "read_only_folders", "folders")
        )
        if not self.writable:
            raise ValueError("tools need at least one folder to start from; name it in `folders`")
        if both := set(self.writable) & set(self.read_only):
            raise ValueError(f"the folder {min(both)!r} cannot be both writable and read-only; name it once")
        self.root = self.writable[0]
        self._names = {folder: fold_names(folder) for folder in (*self.writable, *self.read_only)}
        self._read_only_names = [self._names[folder] for folder in self.read_only]
        self._innermost_first = sorted(self._names, key=len, reverse=True)
        # No tool can change the links above the root. So they are followed once, and not again for every path.
        is_fixed = not any(is_inside(self.root, folder) for folder in self.writable if folder != self.root)
        self._start = self.root if is_fixed else "/"

    def places(self, path: str) -> tuple[ResolvedPath, ...]:
        """
        Return the places that *path* may lead to.

        The first place is the one that the system follows the path to. If *path* holds `..`, the second place is the
        one for a program that removes `..` before it follows links.

        Raises:
            BadPath: The text cannot be a path, or leads in a circle. The message says what to send instead.
            ValueError: The path may not be followed. The message says why.
        """
        return resolve_places(path, self.root, start=self._start)

    def find_objection(self, path: str, places: Sequence[ResolvedPath], access: Literal["read", "write"]) -> str | None:
        """Return why *path*, which leads to *places*, may not be accessed, with the remedy, or None if it may be."""
        for place in places:
            reason = self._find_reason(place.path, access)
            if reason is not None:
                leads_to = f" leads to {quote_path(place.path)}, which" if place.path != path else ""
                return f"{quote_path(path)}{leads_to} {reason}"
        return None

    def _find_reason(self, place: str, access: Literal["read", "write"]) -> str | None:
        inner = next((folder for folder in self._innermost_first if is_inside(place, folder)), None)
        if inner is None:
            writable = ", ".join(map(quote_path, self.writable))
            return f"is outside the folders of this workspace ({writable}); {_REMEDY}"
        if access == "read":
            return None
        names = fold_names(place)
        depth = len(self._names[inner])
        # The comparison ignores case: on some disks VENDOR is the same folder as vendor, which is read-only.
        if any(len(folder) >= depth and folder == names[: len(folder)] for folder in self._read_only_names):
            return f"is in a folder that is only read; {_REMEDY}"
        if any(folder[: len(names)] == names for folder in self._names.values()):
            return "is, or holds, a folder of this workspace; change what is in it instead"
        return None


_REMEDY = "choose another place, or name its folder in SafetyChecks(folders=...)"


def _resolve_folder(folder: str | os.PathLike[str]) -> str:
    path = resolve_path(os.fspath(folder), os.getcwd())
    if os.path.exists(path) and not os.path.isdir(path):
        raise ValueError(f"{path!r} is a file; name the folder it is in")
    return path


def is_inside(path: str, folder: str) -> bool:
    """Return whether *path* is *folder* or lies in it. Both are absolute, and have no links left."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def explain_protection(path: str, rule: Protected, where: str) -> str:
    """Return why no tool may touch *path*, which *rule* protects; the class *where* has the option that lifts it."""
    restriction = "neither read nor write" if rule.level == "neither read nor written" else "do not write"
    return (
        f"{quote_path(path)} is, or contains, {rule.what}, and tools {restriction} it; "
        f"leave it to a person, or lift `{rule.pattern}` with {where}(unprotected=...)"
    )


def quote_path(path: str) -> str:
    """Return *path* for a message: quoted, escaped, and cut after 200 characters."""
    return repr(path if len(path) <= 200 else f"{path[:200]}...")


def _check_path(path: str) -> str:
    """Return *path* unchanged, or raise an error if it cannot be a path."""
    if not isinstance(path, str):
        raise BadPath(f"a path is text, got {type(path).__name__}")
    if not path:
        raise BadPath("the path is empty; name a file, or write `.` for the folder itself")
    if path[0] == "~":
        raise ValueError(
            f"{quote_path(path)} begins with `~`, which is not expanded; write the whole path, or `./~...`"
        )
    if "\0" in path:
        raise BadPath(f"{quote_path(path)} holds a NUL character, which no path can; send it without")
    try:
        data = os.fsencode(path)
    except UnicodeEncodeError:
        raise BadPath(f"{quote_path(path)} holds characters that no path can; send it without") from None
    if len(data) > _MAX_PATH_BYTES or (
        len(data) > _MAX_NAME_BYTES and any(len(name) > _MAX_NAME_BYTES for name in data.split(b"/"))
    ):
        raise BadPath(
            f"{quote_path(path)} is too long for a path: a name has at most 255 bytes, and a path 4096; shorten it"
        )
    return path


def _follow_path(path: str, root: str, *, start: str = "/") -> ResolvedPath:
    """
    Follow *path* name by name.

    *root* is absolute and has no `..` in it. The walk begins at *start*, a resolved folder, if *path* lies in it.
    Otherwise it begins at `/`.
    """
    whole = os.path.join(root, path)
    if os.name == "nt":  # pragma: no cover -- `realpath` knows the drives, shares and junctions of Windows
        return ResolvedPath(os.path.realpath(whole), (os.path.abspath(whole),))
    at, rest = "/", whole
    if start != "/" and whole.startswith(f"{start}/"):
        at, rest = start, whole[len(start) :]
    passed = [os.path.normpath(whole)]
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
        target = _read_link(here)
        if target is None:
            at = here
            continue
        links += 1
        if links > _MAX_LINKS:
            raise BadPath(f"{quote_path(path)} leads through too many links, or in a circle; name the file itself")
        passed.append(os.path.normpath("/".join((here, *waiting[::-1]))))
        waiting += target.split("/")[::-1]
        if target.startswith("/"):
            at = "/"
    return ResolvedPath(at, tuple(passed))


def _read_link(path: str) -> str | None:
    """Return the text that a link points to, or None if *path* is not a link or does not exist."""
    try:
        target = os.readlink(path)
    except OSError as error:
        if error.errno in _NO_LINK:
            return None
        # The path may still be a link, and may lead to any place.
        raise ValueError(f"{quote_path(path)} cannot be followed ({error.strerror}); choose another place") from None
    if path.startswith(("/proc/", "/dev/fd/")):
        # These links mean another file in each process, and some of them lead past every folder check.
        raise ValueError(f"{quote_path(path)} is a link that every process has for itself; name the file itself")
    return target
