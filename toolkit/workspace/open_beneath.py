"""
Opening what lies beneath a folder, whatever is renamed or swapped meanwhile.

A path is relative to a folder's descriptor and passes no link at all: one that stands in the way
is `ELOOP`, and whoever asked follows it and asks again with the path it leads to. So the path
that was judged is the path that is opened. Two ways, with the same answers: `openat2` of Linux,
and elsewhere a walk from descriptor to descriptor.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from ..errors import ToolError

__all__ = ["LOOK", "READ", "Folder", "Way", "kernel_has_openat2", "open_beneath", "open_step"]

Way = Literal["openat2", "walk"]

# Systems without O_PATH need the right to read what they only pass; a FIFO must not make them wait.
LOOK = getattr(os, "O_PATH", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_MOST_TRIES = 100


class Folder:
    """
    A folder held by its descriptor, opened once.

    The descriptor is closed when nobody holds the object any more. So an operation that is
    under way in another thread never finds its number taken by another file, nor waits for a lock
    after a fork.
    """

    __slots__ = ("__weakref__", "_identity", "fd", "path", "way")

    def __init__(self, path: str, *, way: Way | None = None) -> None:
        self.fd = -1
        self.path = path
        self.fd = os.open(path, LOOK | _DIRECTORY | _CLOSE_ON_EXEC)
        self._identity = _identity(os.fstat(self.fd))
        # Asked in any case: afterwards nothing has to be loaded, which a preview would be refused.
        has_openat2 = kernel_has_openat2()
        if way == "openat2" and not has_openat2:
            raise OSError(errno.ENOSYS, "there is no openat2 here")
        self.way: Way = way or ("openat2" if has_openat2 else "walk")

    def check(self) -> None:
        """Raise `ToolError` if another folder, or none, is now at the path."""
        try:
            is_same = _identity(os.lstat(self.path)) == self._identity
        except OSError:
            is_same = False
        if not is_same:
            raise ToolError(f"the folder {self.path!r} was moved or replaced; make a new Workspace for it")

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def open_beneath(folder: Folder, path: str, flags: int, mode: int = 0) -> int:
    """
    A descriptor of *path*, relative to *folder*, that passed no link.

    Raises:
        OSError: As `os.open` does; `ELOOP` if a link stands anywhere in the path, also at its end.
        ValueError: The path is not a plain one: it is empty or absolute, or a name in it is `.` or `..`.
    """
    if path != "." and not _PLAIN.isdisjoint(path.split("/")):
        raise ValueError(f"{path!r} is not a plain path beneath a folder")
    return _WAYS[folder.way](folder.fd, path, flags | _CLOSE_ON_EXEC, mode)


_PLAIN = frozenset(("", ".", ".."))


# One system call.


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_OPENAT2 = 437
_SAME_NUMBER = frozenset(("x86_64", "aarch64", "riscv64", "ppc64le", "s390x", "loongarch64"))
_NO_MAGIC_LINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_RESOLVE = _NO_MAGIC_LINKS | _NO_SYMLINKS | _BENEATH


@cache
def kernel_has_openat2() -> bool:
    """Whether `openat2` is there and not forbidden; asked once."""
    if sys.platform != "linux" or os.uname().machine not in _SAME_NUMBER:
        return False
    folder = os.open("/", LOOK | _CLOSE_ON_EXEC)
    try:
        os.close(_by_openat2(folder, ".", LOOK | _CLOSE_ON_EXEC, 0))
    except (OSError, AttributeError):  # an old kernel, a filter, or another Python
        return False
    finally:
        os.close(folder)
    return True


@cache
def _system() -> tuple[Callable[..., int], Callable[..., Any]]:
    """
    `syscall`, and what raises the error it left behind.

    Not `ctypes.get_errno`: it is an audit event, and previews, which read files, are refused all those of ctypes.
    """
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_How), ctypes.c_size_t]
    call.restype = ctypes.c_long
    fail = ctypes.PyDLL(None, use_errno=True).PyErr_SetFromErrno
    fail.argtypes = [ctypes.py_object]
    fail.restype = ctypes.c_void_p
    return call, fail


def _by_openat2(fd: int, path: str, flags: int, mode: int) -> int:
    # Python's own `open` tells the audit hooks; this one has to, or a preview could write.
    sys.audit("open", path, None, flags)
    call, fail = _system()
    name = os.fsencode(path)
    how = _How(flags, mode, _RESOLVE)
    for attempt in range(_MOST_TRIES):
        opened = call(_OPENAT2, fd, name, ctypes.byref(how), ctypes.sizeof(how))
        if opened >= 0:
            return opened
        try:
            fail(OSError)
        except (BlockingIOError, InterruptedError):  # something was renamed just then, or a signal came
            if attempt == _MOST_TRIES - 1:
                raise
    raise AssertionError("unreachable")  # pragma: no cover -- the last attempt raises


# A walk.


def _by_walking(fd: int, path: str, flags: int, mode: int) -> int:
    *folders, last = path.split("/")
    at = fd
    try:
        for name in folders:
            below = open_step(at, name)
            if at != fd:
                os.close(at)
            at = below
        return _opened(at, last, flags, mode)
    finally:
        if at != fd:
            os.close(at)


def open_step(fd: int, name: str) -> int:
    """A descriptor of the folder *name* in the folder *fd*; `ELOOP` for a link, `ENOTDIR` for anything else."""
    return _opened(fd, name, LOOK | _DIRECTORY | _CLOSE_ON_EXEC, 0)


def _opened(fd: int, name: str, flags: int, mode: int) -> int:
    try:
        opened = os.open(name, flags | _NO_FOLLOW, mode, dir_fd=fd)
    except NotADirectoryError:
        # With O_DIRECTORY a link at the end is refused as no folder, and not as a link.
        if stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    # With O_PATH a link is opened itself.
    if flags & LOOK == LOOK and stat.S_ISLNK(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return opened


_WAYS: dict[Way, Callable[[int, str, int, int], int]] = {"openat2": _by_openat2, "walk": _by_walking}
