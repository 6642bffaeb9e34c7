"""
The notes of each principal as Markdown files in a folder of their own.

    FOLDER/default/tea.md                                          without a principal
    FOLDER/ada-example-com-0123456789abcdef0123456789abcdef/tea.md for "ada@example.com"

A file is opened relative to its open folder and never through a link, so neither the name of a note nor that of a
principal leads anywhere else. A file is written whole or not at all. People may read, edit, add and delete the files.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ..._plumbing.forks import unlock_in_children
from ...errors import ToolError
from ...workspace.entries import make_temporary_name, remove_stale_temporaries
from .notes import MemoryNote, check_note_name, is_note_name

__all__ = ["MemoryFolder"]

_SUFFIX = ".md"
_LOCK_NAME = ".lock"
_NO_PRINCIPAL = "default"
_STALE_SECONDS = 3600.0
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class MemoryFolder:
    """
    A `MemoryStore` of Markdown files.

    Only the owner of the process can read the files that it makes.

    Args:
        path: The folder. It is made if it is missing.
        max_bytes: How long one note may be. A longer file, which a person has made, is read up to here.
        max_notes: How many notes a principal may have. Of more files, the first by name are read.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: int = 20_000, max_notes: int = 1_000) -> None:
        for name, value in (("max_bytes", max_bytes), ("max_notes", max_notes)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} has to be a whole number above 0, got {value!r}")
        self.path = Path(path).expanduser().absolute()
        self._max_bytes = max_bytes
        self._max_notes = max_notes
        self._lock = unlock_in_children(threading.Lock())

    def notes(self, principal: str | None) -> list[MemoryNote]:
        """Return all notes of *principal*, in the order of their names."""
        with self._open_folder(principal, make=False) as folder:
            if folder is None:
                return []
            notes = (self._read(folder, name) for name in _list_names(folder)[: self._max_notes])
            return [note for note in notes if note is not None]

    def save(self, principal: str | None, note: MemoryNote) -> None:
        """
        Write *note*, in place of the note of the same name if there is one.

        Raises:
            BadArgs: No note may have this name.
            ToolError: The note is too long, or there are too many.
        """
        name, data = check_note_name(note.name), note.text.encode(errors="replace")
        if len(data) > self._max_bytes:
            raise ToolError(
                f"a note may have {self._max_bytes:,} bytes, and this one has {len(data):,}; make it shorter, or "
                f"divide it into several notes"
            )
        with self._open_folder(principal, make=True) as folder:
            if folder is None:
                raise ToolError("the folder of notes was removed meanwhile; try again")
            with self._lock_folder(folder):
                names = _list_names(folder)
                if name not in names and len(names) >= self._max_notes:
                    raise ToolError(f"there are {len(names):,} notes already; forget one first, or add to one of them")
                _write(folder, name + _SUFFIX, data)

    def delete(self, principal: str | None, name: str) -> bool:
        """Delete the note called *name*, and return whether there was one."""
        check_note_name(name)
        with self._open_folder(principal, make=False) as folder:
            if folder is None:
                return False
            with self._lock_folder(folder):
                try:
                    os.unlink(name + _SUFFIX, dir_fd=folder)
                except FileNotFoundError:
                    return False
                return True

    @contextlib.contextmanager
    def _open_folder(self, principal: str | None, *, make: bool) -> Iterator[int | None]:
        """Yield the descriptor of the folder of *principal*; None if there is no such folder, and none is made."""
        path = os.fspath(self.path / _folder_name(principal))
        if make:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)
        try:
            folder = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise ToolError(
                    "the folder of notes is a link or a file, and is not used; a person has to look"
                ) from error
            raise
        try:
            yield folder
        finally:
            os.close(folder)

    def _read(self, folder: int, name: str) -> MemoryNote | None:
        """Return the note called *name*, or None if it is gone, or is no plain file of this folder alone."""
        try:
            file = os.open(name + _SUFFIX, os.O_RDONLY | os.O_NONBLOCK | _NO_FOLLOW, dir_fd=folder)
        except OSError:
            return None
        status = os.fstat(file)
        # A file with a second name may belong to another principal.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            os.close(file)
            return None
        with open(file, "rb") as stream:
            data = stream.read(self._max_bytes)
        return MemoryNote(name=name, text=data.decode(errors="replace"), changed_at=status.st_mtime)

    @contextlib.contextmanager
    def _lock_folder(self, folder: int) -> Iterator[None]:
        """Keep other threads and processes from writing in *folder*, so that they count the notes one by one."""
        import fcntl  # not on every system, and only writers need it

        with self._lock:
            file = os.open(_LOCK_NAME, os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o600, dir_fd=folder)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
            finally:
                os.close(file)


def _folder_name(principal: str | None) -> str:
    """Return the name of the folder of *principal*: a part for people, and a digest that makes it unique."""
    if principal is None:
        return _NO_PRINCIPAL
    digest = hashlib.sha256(principal.encode(errors="surrogatepass")).hexdigest()[:32]
    readable = re.sub(r"[^a-z0-9]+", "-", principal.lower())[:40].strip("-")
    return f"{readable or 'principal'}-{digest}"


def _list_names(folder: int) -> list[str]:
    """Return the names of the notes in an open *folder*, in order. Other files are left alone."""
    names = (entry.removesuffix(_SUFFIX) for entry in os.listdir(folder) if entry.endswith(_SUFFIX))
    return sorted(name for name in names if is_note_name(name))


def _write(folder: int, name: str, data: bytes) -> None:
    """Write *data* to the file *name* of an open *folder*, in one step."""
    remove_stale_temporaries(folder, time.time() - _STALE_SECONDS)
    temporary = make_temporary_name()
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600, dir_fd=folder)
    try:
        with open(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        # A rename replaces a link of that name, and does not follow it.
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
