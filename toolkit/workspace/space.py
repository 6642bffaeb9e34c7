"""
The workspace: the folders that tools may touch, and the only way to access them.

Every path is judged and opened here. The path that is opened is always the path that was judged, even if other
processes rename or swap things meanwhile: no link is passed that was not followed and judged first.

Everything inside a folder counts as part of it. A hard link looks like an ordinary file, and a disk that is mounted
inside the folder counts as inside.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import EllipsisType
from typing import Any, BinaryIO, Literal, Self, TypeVar

from .._option_checks import require_list
from .._plumbing.forks import unlock_in_children
from ..errors import ToolError
from ..safety.checks import SafetyChecks, _build_protected_table
from ..safety.paths import Folders
from ..safety.paths import quote_path as quoted
from ..safety.protected_files import Protected, ProtectedFiles
from .borders import Borders, CheckedPath
from .entries import Entry, make_entry, make_temporary_name, read_entries, remove_stale_temporaries, walk_entries
from .open_beneath import PATH_FLAGS, READ_FLAGS, OpenFolder, OpenMethod, check_file, open_beneath, read_content
from .os_errors import explain_os_error
from .writing import WriteResult, write_file

__all__ = ["Workspace"]

T = TypeVar("T")


class Workspace:
    """
    The folders that tools may touch.

    Relative paths start at the root. Absolute paths are accepted if they lead inside. Links are followed as long as
    they stay inside, and a write through a link changes the file that the link leads to. A workspace can be used from
    any thread, and after a fork. Each folder is opened once. If a folder is moved or replaced, the application has to
    make a new workspace.

    Args:
        root: The folder in which relative paths start. Tools may read and write it.
        folders: Further folders that tools may read and write.
        read_only: Folders that tools may only read. If one folder lies inside another, the innermost folder decides.
        protected: Further patterns or paths that tools neither read nor write. A `Protected` object has its own
            description, level and exceptions.
        unprotected: Built-in patterns that do not hold, by their exact text.
        max_read_bytes: A file that is larger is neither read whole nor replaced.
        max_write_bytes: The largest number of bytes that one write may have.
        timeout_seconds: The time limit for tools that can take long.
        way: How files are opened. The default is the best way that the system has.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        folders: Sequence[str | os.PathLike[str]] = (),
        read_only: Sequence[str | os.PathLike[str]] = (),
        protected: Iterable[str | os.PathLike[str] | Protected] = (),
        unprotected: Iterable[str] = (),
        max_read_bytes: int = 50_000_000,
        max_write_bytes: int = 10_000_000,
        timeout_seconds: float = 120.0,
        way: OpenMethod | None = None,
    ) -> None:
        if os.open not in os.supports_dir_fd:  # pragma: no cover -- Windows
            raise NotImplementedError("a Workspace needs a system that opens files relative to a folder's descriptor")
        self.max_read_bytes = max_read_bytes
        self.max_write_bytes = max_write_bytes
        self.timeout_seconds = timeout_seconds
        for name in ("max_read_bytes", "max_write_bytes", "timeout_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} has to be more than 0, got {getattr(self, name)!r}")
        # The options are read once, in the form that the checks get. So a one-shot iterable, or another working folder
        # later, makes no difference.
        lifted = require_list(unprotected, "unprotected")
        code_rules = {rule.pattern: rule for rule in _own_code_rules()}
        self._protected = [
            *(rule for pattern, rule in code_rules.items() if pattern not in lifted),
            *(_make_absolute(entry) for entry in require_list(protected, "protected")),
        ]
        self._unprotected = [pattern for pattern in lifted if pattern not in code_rules]
        self._folders = Folders(
            [root, *require_list(folders, "folders")], read_only=require_list(read_only, "read_only")
        )
        self.root = self._folders.root
        table = _build_protected_table(self._protected, self._unprotected)
        self._protected_files = ProtectedFiles(table)
        self._patterns = tuple(rule.pattern for rule in table)
        folder_paths = dict.fromkeys((*self._folders.writable, *self._folders.read_only))
        self._borders: Borders | None = Borders(
            self._folders, self._protected_files, [_open_folder(path, way) for path in folder_paths]
        )
        self._lock = unlock_in_children(threading.Lock())
        # Data that other modules keep about these folders, by its type. It ends with the workspace.
        self.remembered: dict[type, Any] = {}

    @property
    def folders(self) -> tuple[str, ...]:
        """The resolved folders that tools may read and write, with the root first."""
        return self._folders.writable

    @property
    def read_only(self) -> tuple[str, ...]:
        """The resolved folders that tools may only read."""
        return self._folders.read_only

    @property
    def protected_files(self) -> ProtectedFiles:
        """The patterns of the files that tools may not touch."""
        return self._protected_files

    @property
    def protected_patterns(self) -> tuple[str, ...]:
        """The texts of the protected patterns, of every level."""
        return self._patterns

    def safety(self, **options: Any) -> SafetyChecks:
        """
        Return safety checks with the same folders and protected files, for `Dispatcher(safety=...)`.

        *options* are further options of `SafetyChecks`.
        """
        stated = options.keys() & {"folders", "read_only_folders", "protected", "unprotected"}
        if stated:
            raise TypeError(f"a workspace has its own {', '.join(sorted(stated))}; give them to Workspace(...)")
        return SafetyChecks(
            self._folders.writable,
            read_only_folders=self._folders.read_only,
            protected=self._protected,
            unprotected=self._unprotected,
            **options,
        )

    # Paths.

    def place(self, path: str) -> str:
        """
        Return the whole path, without links, that *path* leads to.

        So each file has exactly one name, even a file that does not exist yet. Raises `Safety` if a tool may not read
        it.
        """
        return self._run_on_path(path, "read", _path_of, doing="read")

    def is_kept(self, path: str, access: Literal["read", "write"]) -> bool:
        """
        Return whether a protected pattern forbids tools to access *path*.

        *path* is a whole path. Only its text is compared, and links are not followed.
        """
        return self._protected_files.find_rule(path, access) is not None

    def shown(self, path: str) -> str:
        """
        Return *path* as a model sees it and may write it: relative to the root if it is inside, otherwise absolute.
        """
        whole = os.path.normpath(os.path.join(self.root, path))
        if whole == self.root:
            return "."
        start = self.root if self.root.endswith("/") else f"{self.root}/"
        inner = whole.removeprefix(start)
        # At the start of a path, a `~` would be read as a user's home folder.
        return f"./{inner}" if inner.startswith("~") else inner

    # Reading.

    def open(self, path: str) -> BinaryIO:
        """
        Open a file for reading.

        Raises:
            Safety: The path leads outside, or to a protected file.
            ToolError: The path does not exist, is not a file, or may not be read.
        """
        fd = self._run_on_path(
            _refuse_folder_name(path),
            "read",
            lambda target: open_beneath(target.folder, target.relative_path, READ_FLAGS),
            doing="read",
        )
        try:
            check_file(os.fstat(fd).st_mode, path)
        except ToolError:
            os.close(fd)
            raise
        return os.fdopen(fd, "rb")

    def read(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """
        Return the content of a file. Raise `ToolError` if it has more than *max_bytes*.

        The default of *max_bytes* is `max_read_bytes`.
        """
        limit = self.max_read_bytes if max_bytes is None else max_bytes
        with self.open(path) as file:
            try:
                content = read_content(file.fileno(), limit)
            except OSError as error:
                raise explain_os_error(error, path, doing="read") from error
        if content is None:
            raise ToolError(f"{quoted(path)} holds more than {limit:,} bytes; read a part of it")
        return content

    def stat(self, path: str) -> Entry:
        """Return the entry that *path* leads to. Links are followed, as in `open`."""
        status = self._run_on_path(path, "read", _stat_target, doing="read")
        whole = os.path.normpath(os.path.join(self.root, path))
        return make_entry(self.shown(path), os.path.basename(whole), status)

    def entries(self, path: str = ".") -> list[Entry]:
        """Return the entries of a folder, sorted by name. Links are listed as links, and secrets by their names."""
        start = self._path_prefix(path)
        return self._run_on_path(
            path, "read", lambda target: read_entries(target, target.relative_path, start), doing="listed"
        )

    def walk(self, path: str = ".", *, skip: Callable[[Entry], bool] | None = None) -> Iterator[Entry]:
        """
        Return an iterator over everything below a folder, sorted by name, with each folder before its content.

        Links are not followed. Secrets are listed by name, and folders of secrets are not opened. Entries that vanish
        meanwhile are left out. A folder that may not be read is listed, but its content is left out.

        Args:
            skip: A function that returns True for an entry to leave out, with everything below it.
        """
        borders = self._open_borders()
        start = self._path_prefix(path)
        walk_root, first = self._run_on_path(
            path, "read", lambda spot: (spot, read_entries(spot, spot.relative_path, start)), doing="listed"
        )
        return walk_entries(walk_root, first, skip=skip, is_hidden=borders.is_hidden)

    # Writing.

    def write(self, path: str, data: bytes, *, expected: str | EllipsisType | None = ...) -> WriteResult:
        """
        Write a file completely or not at all. Folders on the way are made.

        Args:
            expected: The SHA-256, in hexadecimal, that the present content must have. None means that there must be no
                such file. `...` means that any content is accepted. The content is compared just before the file is
                replaced, and only one write of this workspace does so at a time. A write of another program between the
                comparison and the replacement is not noticed, unless the file is new.

        Raises:
            Safety: The path leads outside, to a folder that is read-only, or to a protected file.
            Changed: The present content is not the expected one.
            ToolError: The file could not be written, and the old content is unchanged. Or the file was written, but may
                be lost again, because the folder could not be flushed to the disk.
        """
        if len(data) > self.max_write_bytes:
            raise ToolError(
                f"{quoted(path)} would get {len(data):,} bytes, and no more than {self.max_write_bytes:,} are written "
                f"at once; write less, or raise Workspace(max_write_bytes=...)"
            )
        old, new_folders = self._run_on_path(
            _refuse_folder_name(path),
            "write",
            lambda target: write_file(
                target, data, path=path, expected=expected, max_old_bytes=self.max_read_bytes, lock=self._lock
            ),
            doing="written",
        )
        return WriteResult(path=self.shown(path), old=old, created_folders=tuple(map(self.shown, new_folders)))

    def sweep(self, *, older_than_seconds: float = 3600.0) -> list[str]:
        """
        Remove the temporary files that killed writes left behind. Return the paths of the removed files.

        `entries` and `walk` never show such files. A write that is running in another process is not harmed, as long as
        it is not older than *older_than_seconds*.
        """
        before = time.time() - older_than_seconds
        removed_paths: list[str] = []
        for folder in self._folders.writable:
            below = [entry.path for entry in self.walk(folder) if entry.kind == "folder"]
            for path in (folder, *below):
                removed_paths += (os.path.join(path, name) for name in self._sweep_folder(path, before))
        return [self.shown(path) for path in dict.fromkeys(removed_paths)]

    def _sweep_folder(self, path: str, before: float) -> list[str]:
        def sweep(target: CheckedPath) -> list[str]:
            fd = open_beneath(
                target.folder, target.relative_path.rpartition("/")[0] or ".", READ_FLAGS | os.O_DIRECTORY
            )
            try:
                return remove_stale_temporaries(fd, before)
            finally:
                os.close(fd)

        try:
            # The path of a file in the folder is judged, because a folder of the workspace itself may not be written.
            return self._run_on_path(os.path.join(path, make_temporary_name()), "write", sweep, doing="listed")
        except ToolError:
            return []  # the folder vanished, or may not be written

    # Ending.

    def close(self) -> None:
        """Release the folders. Operations that are running are finished. Later operations are refused."""
        self._borders = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Workspace({self.root!r})"

    # Helpers.

    def _open_borders(self) -> Borders:
        if self._borders is None:
            raise ToolError(f"the workspace {self.root!r} is closed; make a new one")
        return self._borders

    def _run_on_path(
        self, path: str, access: Literal["read", "write"], action: Callable[[CheckedPath], T], *, doing: str
    ) -> T:
        try:
            return self._open_borders().run_on_path(path, access, action)
        except ToolError:
            raise  # an error that is also an OSError, as a preview's guard raises it, already has its message
        except OSError as error:
            raise explain_os_error(error, path, doing=doing) from error

    def _path_prefix(self, path: str) -> str:
        prefix = self.shown(path) if isinstance(path, str) else ""
        if prefix == ".":
            return ""
        return prefix if prefix.endswith("/") else f"{prefix}/"


def _stat_target(target: CheckedPath) -> os.stat_result:
    fd = open_beneath(target.folder, target.relative_path, PATH_FLAGS)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def _path_of(target: CheckedPath) -> str:
    with suppress(FileNotFoundError):  # a link on the way would have been reported all the same
        _stat_target(target)
    return target.path


def _refuse_folder_name(path: str) -> str:
    """Return *path*, or raise `ToolError` if it can only name a folder."""
    if isinstance(path, str) and path.endswith(("/", "/.", "/..")):
        raise ToolError(f"{quoted(path)} names a folder; name a file in it")
    return path


# Helpers for the options of the application, and for the code that it runs on.


def _own_code_rules() -> list[Protected]:
    """
    Return rules that protect the code of this process.

    A tool that could write it could run code outside every sandbox.
    """
    places = {os.path.realpath(sys.prefix), os.path.dirname(os.path.dirname(os.path.realpath(__file__)))}
    return [Protected(f"{place}/**", "the code that this program runs", "not written") for place in sorted(places)]


def _make_absolute(entry: str | os.PathLike[str] | Protected) -> str | os.PathLike[str] | Protected:
    return Path(os.path.abspath(entry)) if isinstance(entry, os.PathLike) else entry


def _open_folder(path: str, way: OpenMethod | None) -> OpenFolder:
    try:
        return OpenFolder(path, way=way)
    except OSError as error:
        raise ValueError(f"{path!r} is no folder that can be opened ({error.strerror}); make it first") from error
