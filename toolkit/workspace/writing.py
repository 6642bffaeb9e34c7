"""
A write that replaces a file completely or not at all.

The content goes to a temporary file in the same folder and is flushed to the disk. One rename then gives the file its
name; a file that must be new gets it by a hard link, if the disk has hard links. Until then the old file stays. The new
file has the permission bits of the old one, and its owner where the system permits it. It does not have its other names
(hard links keep the old content), its extended attributes, or the bits that run it as another user.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from types import EllipsisType
from typing import NamedTuple

from ..decisions import Changed
from ..errors import ToolError
from ..safety.paths import quote_path
from .borders import CheckedPath
from .entries import TEMPORARY_NAME, make_temporary_name
from .open_beneath import PATH_FLAGS, READ_FLAGS, check_file, open_beneath, open_subfolder, read_content
from .os_errors import explain_os_error

__all__ = ["WriteResult", "write_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """
    The effects of a write.

    Attributes:
        path: The file, as the model writes it.
        old: The content that it had before, or None if it is new.
        created_folders: The folders that had to be made, outermost first.
    """

    path: str
    old: bytes | None
    created_folders: tuple[str, ...] = ()


def write_file(
    target: CheckedPath,
    data: bytes,
    *,
    path: str,
    expected: str | EllipsisType | None,
    max_old_bytes: int,
    lock: AbstractContextManager[object],
) -> tuple[bytes | None, list[str]]:
    """
    Write *data* to the file at *target*. Return the old content, and the whole paths of the folders that were made.

    The arguments and errors are those of `Workspace.write`. *path* is the name of the file in messages. *lock* is held
    while the present content is compared and replaced. If a link stands in the way, raise `ELOOP`.
    """
    parent, _, name = target.relative_path.rpartition("/")
    if TEMPORARY_NAME.fullmatch(name):
        raise ToolError(
            f"{quote_path(path)} is named like an unfinished write, and would be swept; choose another name"
        )
    # The inner stack is closed first, because the undo functions need descriptors that are still open.
    with ExitStack() as closing, ExitStack() as undoing:
        try:
            parents = _open_parents(target, parent, closing, undoing)
            folder = parents.fds[-1]
            is_new = not _is_file(folder, name, path)
            temporary, fd = _create_temporary(folder, 0o666 if is_new else 0o600, closing, undoing)
            _write_all(fd, data)
            with lock:
                old = _read_present(folder, name, path, max_old_bytes)
                _check_expected(old, expected, path)
                if old is not None:
                    _copy_owner_and_mode(fd, old.status)
                _check_unmoved(target, parent, folder)
                _move_into_place(folder, temporary, name, path, only_if_new=expected is None)
            undoing.pop_all()
        except OSError as error:
            if error.errno == errno.ELOOP or isinstance(error, ToolError):  # the guard's error, in a preview, is both
                raise
            raise explain_os_error(error, path, doing="written", after="what was there is as it was") from error
        for parent_fd in parents.fds:
            _flush_folder(parent_fd, path)
    return (None if old is None else old.content), parents.created_paths


# Functions for the folders.


class _ParentFolders(NamedTuple):
    """The descriptors of the folders that change, the file's own last, and the paths of the folders that were made."""

    fds: list[int]
    created_paths: list[str]


def _open_parents(target: CheckedPath, parent: str, closing: ExitStack, undoing: ExitStack) -> _ParentFolders:
    """Open the folder *parent*, and make it if it does not exist."""
    with suppress(FileNotFoundError):
        fd = open_beneath(target.folder, parent or ".", PATH_FLAGS | os.O_DIRECTORY)
        closing.callback(os.close, fd)
        return _ParentFolders([fd], [])
    changed, new_folders = [], []
    at, whole = target.folder.fd, target.folder.path
    for name in parent.split("/"):
        whole = os.path.join(whole, name)
        try:
            below = open_subfolder(at, name)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=at)
                new_folders.append(whole)
                undoing.callback(_remove_folder, at, name)
            changed.append(at)
            below = open_subfolder(at, name)
        closing.callback(os.close, below)
        at = below
    return _ParentFolders([*changed, at], new_folders)


def _remove_folder(fd: int, name: str) -> None:
    with suppress(OSError):  # another process put something into it
        os.rmdir(name, dir_fd=fd)


def _check_unmoved(target: CheckedPath, parent: str, folder: int) -> None:
    """Raise `ESTALE` unless the folder is still at the place that was judged."""
    try:
        fd = open_beneath(target.folder, parent or ".", PATH_FLAGS | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE)) from None
    try:
        if not os.path.samestat(os.fstat(fd), os.fstat(folder)):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
    finally:
        os.close(fd)


def _flush_folder(folder: int, path: str) -> None:
    """Write the folder's list of names to the disk."""
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return  # this user may write in the folder, but not read it
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some disks do not support it
            raise explain_os_error(
                error, path, doing="kept for certain", after="it is written, and may be lost again"
            ) from error
    finally:
        os.close(fd)


# Functions for the temporary file.


def _create_temporary(folder: int, mode: int, closing: ExitStack, undoing: ExitStack) -> tuple[str, int]:
    name = make_temporary_name()
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    closing.callback(os.close, fd)
    undoing.callback(_remove_file, folder, name)
    return name, fd


def _remove_file(folder: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.fsync(fd)


def _copy_owner_and_mode(fd: int, old: os.stat_result) -> None:
    """Give the file the owner and the permission bits of the old one."""
    new = os.fstat(fd)
    # Set the group and the user separately: a user may give a file to a group of theirs, but not to another user.
    for user, group in ((-1, old.st_gid), (old.st_uid, -1)):
        if (user, group) not in {(new.st_uid, -1), (-1, new.st_gid)}:
            with suppress(OSError):
                os.fchown(fd, user, group)
    # The system does the same when a file is written: new content must not run as another user.
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _move_into_place(folder: int, temporary: str, name: str, path: str, *, only_if_new: bool) -> None:
    if only_if_new:
        # A rename would replace a file that was made meanwhile. A hard link fails in that case.
        try:
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise Changed(f"{quote_path(path)} was made by another program meanwhile; read it first") from None
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
        else:
            _remove_file(folder, temporary)
            return
    os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


_NO_HARD_LINKS = frozenset((errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK))


# Functions for the file that is already there.


class _OldFile(NamedTuple):
    content: bytes
    status: os.stat_result
    is_unchanged: bool


def _is_file(folder: int, name: str, path: str) -> bool:
    """Return whether there is a file. Raise `ToolError` if there is something else, and `ELOOP` if there is a link."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    check_file(mode, path)
    return True


def _read_present(folder: int, name: str, path: str, max_bytes: int) -> _OldFile | None:
    """Return the file that is there, or None if there is none. Raise `EACCES` unless this user may write it."""
    try:
        fd = _open_present(folder, name)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
        check_file(status.st_mode, path)
        content = read_content(fd, max_bytes)
        if content is None:
            raise ToolError(
                f"{quote_path(path)} holds more than {max_bytes:,} bytes, too many to be replaced in one go; "
                f"choose another name, or raise Workspace(max_read_bytes=...)"
            )
        return _OldFile(content, status, _is_unchanged(fd, status, folder, name))
    finally:
        os.close(fd)


def _open_present(folder: int, name: str) -> int:
    # A rename needs only the permission of the folder. Opening the file for writing needs the permission of the file.
    flags = READ_FLAGS | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags | os.O_RDWR, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ETXTBSY:  # a running program may be replaced
            raise
        return os.open(name, flags, dir_fd=folder)


def _is_unchanged(fd: int, before: os.stat_result, folder: int, name: str) -> bool:
    """Return whether the file still has its name, and was not written to while it was read."""
    try:
        by_name = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    now = os.fstat(fd)
    return os.path.samestat(by_name, now) and (now.st_mtime_ns, now.st_size) == (before.st_mtime_ns, before.st_size)


def _check_expected(old: _OldFile | None, expected: str | EllipsisType | None, path: str) -> None:
    if expected is ...:
        return
    if expected is None:
        if old is not None:
            raise Changed(f"{quote_path(path)} exists already; read it first")
    elif old is None:
        raise Changed(f"{quote_path(path)} was removed since it was read; look again before you write it")
    elif not old.is_unchanged or hashlib.sha256(old.content).hexdigest() != expected:
        raise Changed(f"{quote_path(path)} was changed since it was read; read it again before you write it")
