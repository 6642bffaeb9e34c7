"""
Functions that open a path beneath a folder safely, even if other processes rename or swap things meanwhile.

A path is relative to a folder's descriptor and passes no link at all. A link in the way raises `ELOOP`. The caller then
follows the link, and tries again with the path that it leads to. So the path that was judged is the path that is
opened.

There are two ways with the same results: `openat2` on Linux, and elsewhere a walk from descriptor to descriptor. Of
what was opened, only files are read, and no more bytes than the caller asks for.
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
from ..safety.paths import quote_path

__all__ = [
    "PATH_FLAGS",
    "READ_FLAGS",
    "OpenFolder",
    "OpenMethod",
    "check_file",
    "kernel_has_openat2",
    "open_beneath",
    "open_subfolder",
    "read_content",
]

OpenMethod = Literal["openat2", "walk"]

# Without O_PATH, a process needs the right to read a folder that it only passes. A FIFO must not make it wait.
PATH_FLAGS = getattr(os, "O_PATH", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
READ_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_MAX_TRIES = 100
_MAX_CHUNK_BYTES = 1 << 20


class OpenFolder:
    """
    A folder that is opened once and held by its descriptor.

    The descriptor is closed when no reference to the object is left. So an operation that is running in another thread
    never finds that its descriptor number belongs to another file, and never waits for a lock after a fork.
    """

    __slots__ = ("__weakref__", "_identity", "fd", "path", "way")

    def __init__(self, path: str, *, way: OpenMethod | None = None) -> None:
        self.fd = -1
        self.path = path
        self.fd = os.open(path, PATH_FLAGS | _DIRECTORY | _CLOSE_ON_EXEC)
        self._identity = _identity(os.fstat(self.fd))
        # Call this in any case, so that nothing has to be loaded later. A preview would be refused the loading.
        has_openat2 = kernel_has_openat2()
        if way == "openat2" and not has_openat2:
            raise OSError(errno.ENOSYS, "there is no openat2 here")
        self.way: OpenMethod = way or ("openat2" if has_openat2 else "walk")

    def check(self) -> None:
        """Raise `ToolError` if the path now has another folder, or none."""
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


def open_beneath(folder: OpenFolder, path: str, flags: int) -> int:
    """
    Open *path*, relative to *folder*, without passing any link. Return the descriptor.

    Raises:
        OSError: The same errors as `os.open`. `ELOOP` if a link stands anywhere in the path, including its end.
        ValueError: The path is not plain: it is empty or absolute, or a name in it is `.` or `..`.
    """
    if path != "." and not _FORBIDDEN_NAMES.isdisjoint(path.split("/")):
        raise ValueError(f"{path!r} is not a plain path beneath a folder")
    return _OPENERS[folder.way](folder.fd, path, flags | _CLOSE_ON_EXEC)


_FORBIDDEN_NAMES = frozenset(("", ".", ".."))


# The first way: one system call.


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_OPENAT2 = 437
_OPENAT2_MACHINES = frozenset(("x86_64", "aarch64", "riscv64", "ppc64le", "s390x", "loongarch64"))
_NO_MAGIC_LINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_RESOLVE = _NO_MAGIC_LINKS | _NO_SYMLINKS | _BENEATH


@cache
def kernel_has_openat2() -> bool:
    """Return whether `openat2` exists and is not forbidden. The system is asked only once."""
    if sys.platform != "linux" or os.uname().machine not in _OPENAT2_MACHINES:
        return False
    folder = os.open("/", PATH_FLAGS | _CLOSE_ON_EXEC)
    try:
        os.close(_open_by_openat2(folder, ".", PATH_FLAGS | _CLOSE_ON_EXEC))
    except (OSError, AttributeError):  # an old kernel, a filter, or another Python
        return False
    finally:
        os.close(folder)
    return True


@cache
def _system_functions() -> tuple[Callable[..., int], Callable[..., Any]]:
    """
    Return `syscall`, and the function that raises the error that a call left behind.

    `ctypes.get_errno` is not used, because it is an audit event. Previews read files too, and all audit events of
    ctypes are refused in a preview.
    """
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_OpenHow), ctypes.c_size_t]
    call.restype = ctypes.c_long
    fail = ctypes.PyDLL(None, use_errno=True).PyErr_SetFromErrno
    fail.argtypes = [ctypes.py_object]
    fail.restype = ctypes.c_void_p
    return call, fail


def _open_by_openat2(fd: int, path: str, flags: int) -> int:
    # Python's own `open` calls the audit hooks. This function has to call them too, or a preview could write.
    sys.audit("open", path, None, flags)
    call, fail = _system_functions()
    name = os.fsencode(path)
    how = _OpenHow(flags, 0, _RESOLVE)
    for attempt in range(_MAX_TRIES):
        new_fd = call(_OPENAT2, fd, name, ctypes.byref(how), ctypes.sizeof(how))
        if new_fd >= 0:
            return new_fd
        try:
            fail(OSError)
        except (BlockingIOError, InterruptedError):  # a rename or a signal came in between
            if attempt == _MAX_TRIES - 1:
                raise
    raise AssertionError("unreachable")  # pragma: no cover -- the last attempt raises


# The second way: a walk from descriptor to descriptor.


def _open_by_walking(fd: int, path: str, flags: int) -> int:
    *folders, last = path.split("/")
    at = fd
    try:
        for name in folders:
            below = open_subfolder(at, name)
            if at != fd:
                os.close(at)
            at = below
        return _open_without_link(at, last, flags)
    finally:
        if at != fd:
            os.close(at)


def open_subfolder(fd: int, name: str) -> int:
    """Open the folder *name* in the folder *fd*. Raise `ELOOP` for a link, `ENOTDIR` for what is no folder."""
    return _open_without_link(fd, name, PATH_FLAGS | _DIRECTORY | _CLOSE_ON_EXEC)


def _open_without_link(fd: int, name: str, flags: int) -> int:
    try:
        new_fd = os.open(name, flags | _NO_FOLLOW, dir_fd=fd)
    except NotADirectoryError:
        # With O_DIRECTORY, the system reports a link at the end as "not a folder", and not as a link.
        if stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    # With O_PATH, the link itself is opened.
    if flags & PATH_FLAGS == PATH_FLAGS and stat.S_ISLNK(os.fstat(new_fd).st_mode):
        os.close(new_fd)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return new_fd


_OPENERS: dict[OpenMethod, Callable[[int, str, int], int]] = {"openat2": _open_by_openat2, "walk": _open_by_walking}


# Files that were opened.


def check_file(mode: int, path: str) -> None:
    """Raise `ToolError` unless *mode* is a file's. Reading a pipe or a device could wait forever."""
    if stat.S_ISDIR(mode):
        raise ToolError(f"{quote_path(path)} is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{quote_path(path)} is a device, a socket or a pipe; only files can be read or written")


def read_content(fd: int, max_bytes: int) -> bytes | None:
    """Return the content of the file from its current position, or None if it is more than *max_bytes*."""
    if os.fstat(fd).st_size > max_bytes:
        return None
    pieces: list[bytes] = []
    bytes_left = max_bytes + 1  # one more byte, because the file may be growing
    while bytes_left and (piece := os.read(fd, min(bytes_left, _MAX_CHUNK_BYTES))):
        pieces.append(piece)
        bytes_left -= len(piece)
    return b"".join(pieces) if bytes_left else None
