"""
Folders that the user trusts, by path and content.

The files that a project has in `.toolkit/` may loosen rules only after the user has agreed once. The agreement is
stored in the user's own configuration, never in the project. It is stored with a digest of the whole `.toolkit/`
folder (names, content, executable bits, links) and of the files elsewhere in the project that its hooks run. After
any change the user has to agree again. The instruction files of the folder, such as `AGENTS.md`, have digests of their
own: if one of them changes, that file does not count, and the rest of the trust stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import ToolkitError
from ..values.visible import make_visible
from .file_ownership import find_foreign_writer
from .hook_scripts import find_scripts
from .instruction_names import check_instruction_name, digest_instructions, find_instruction_names

__all__ = [
    "PROJECT_FOLDER",
    "IgnoredSetting",
    "Trust",
    "TrustError",
    "configuration_folder",
    "content_digest",
    "instruction_digests",
    "why_not_trusted",
]

PROJECT_FOLDER = ".toolkit"

_VERSION = 1
_FILE = "file"
_MAX_FILES = 2000
_MAX_BYTES = 16 * 1024 * 1024
_MAX_DEPTH = 16


class TrustError(ToolkitError, ValueError):
    """
    A folder that cannot be trusted, or a trust file that cannot be read or written.

    The message is one line, because names of files in a project are part of it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(make_visible(message, keep_lines=False))


def configuration_folder() -> Path:
    """
    Return the folder of the user's own rules and trusted folders.

    That is `$XDG_CONFIG_HOME/toolkit`, or `~/.config/toolkit`.
    """
    config_home = os.environ.get("XDG_CONFIG_HOME", "")
    # The XDG specification says to ignore a relative path. A relative path would lie in the project.
    base = Path(config_home) if os.path.isabs(config_home) else Path.home() / ".config"
    return base / "toolkit"


class Trust:
    """
    The folders that the user trusts.

    Several processes may share one file. The file trusts nothing, and is not overwritten, if it cannot be read, if
    others may write it, or if it is in a folder where others may write.

    Args:
        path: The path of the trust file; by default `trust.json` in the user's configuration.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = configuration_folder() / "trust.json" if path is None else Path(path)

    @property
    def problem(self) -> str | None:
        """The problem with the file and its remedy; None if there is no problem."""
        try:
            self._read()
        except TrustError as error:
            return str(error)
        return None

    def state(self, folder: str | os.PathLike[str]) -> Literal["trusted", "changed", "unknown"]:
        """
        Return one of three words that say whether the user trusts *folder*.

        "trusted" means that the user trusts it with its present content. "changed" means that the user trusted it with
        another content, or that its present content cannot be checked. "unknown" means that it was never trusted, or
        that the trust file cannot be used.
        """
        try:
            entry = self._read().get(_real_path(folder))
            if entry is None:
                return "unknown"
        except (TrustError, OSError):
            return "unknown"
        try:
            return "trusted" if content_digest(folder) == entry["sha256"] else "changed"
        except TrustError:
            return "changed"

    def is_trusted(self, folder: str | os.PathLike[str]) -> bool:
        """Return whether the user trusts *folder* with its present content."""
        return self.state(folder) == "trusted"

    def covers_file(self, folder: str | os.PathLike[str], name: str, content: bytes) -> bool:
        """Return whether *folder* was trusted while its instruction file *name* had this *content*."""
        return self.covers_digest(folder, name, hashlib.sha256(content).hexdigest())

    def covers_digest(self, folder: str | os.PathLike[str], name: str, digest: str) -> bool:
        """Return whether *folder* was trusted while its instruction file *name* had this *digest*."""
        try:
            digests = self._read().get(_real_path(folder), {}).get("instructions", {})
        except TrustError:
            return False
        return isinstance(digests, dict) and digests.get(name) == digest

    def trust(
        self,
        folder: str | os.PathLike[str],
        *,
        digest: str | None = None,
        instructions: Mapping[str, str] | None = None,
    ) -> None:
        """
        Trust *folder* with its present content.

        *digest* is the `content_digest` of the content that the user was shown. If it is given and the content has
        changed since, `TrustError` is raised. *instructions* are the `instruction_digests` that the user was shown; by
        default the present ones.
        """
        current_digest = content_digest(folder)
        if digest is not None and digest != current_digest:
            raise TrustError(f"{_real_path(folder)} has changed since it was shown; look at it again")
        entry = {
            "sha256": current_digest,
            "trusted_at": int(time.time()),
            "instructions": dict(instruction_digests(folder) if instructions is None else instructions),
        }
        with self._hold_lock():
            folders = self._read()
            folders[_real_path(folder)] = entry
            self._write(folders)

    def covers_content(self, path: str | os.PathLike[str], content: bytes) -> bool:
        """Return whether the user trusts the single file at *path* with this *content*."""
        try:
            entry = self._read().get(_real_path(path), {})
        except TrustError:
            return False
        return entry.get("kind") == _FILE and entry["sha256"] == hashlib.sha256(content).hexdigest()

    def trust_content(self, path: str | os.PathLike[str], content: bytes) -> None:
        """Trust the single file at *path* with this *content*, which the user was shown."""
        entry = {"kind": _FILE, "sha256": hashlib.sha256(content).hexdigest(), "trusted_at": int(time.time())}
        with self._hold_lock():
            entries = self._read()
            entries[_real_path(path)] = entry
            self._write(entries)

    def revoke(self, folder: str | os.PathLike[str]) -> bool:
        """
        Trust *folder*, or a single file, no longer, and return whether it was trusted before.

        It need not exist any more.
        """
        with self._hold_lock():
            folders = self._read()
            was_trusted = folders.pop(_real_path(folder), None) is not None
            if was_trusted:
                self._write(folders)
        return was_trusted

    def folders(self) -> tuple[Path, ...]:
        """Return the folders that were trusted, in that order, including those that have changed since."""
        try:
            return tuple(Path(path) for path, entry in self._read().items() if entry.get("kind") != _FILE)
        except TrustError:
            return ()

    def files(self) -> tuple[Path, ...]:
        """Return the single files that were trusted, in that order, including those that have changed since."""
        try:
            return tuple(Path(path) for path, entry in self._read().items() if entry.get("kind") == _FILE)
        except TrustError:
            return ()

    def _read(self) -> dict[str, dict[str, Any]]:
        remedy = "look at it, then correct it or move it away, and trust your folders again"
        try:
            problem = find_foreign_writer(self.path)
            if problem is not None:
                raise TrustError(f"{self.path} trusts nothing: {problem}")
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                if os.name == "posix" and (status.st_mode & 0o022 or status.st_uid not in (os.geteuid(), 0)):
                    raise TrustError(f"{self.path} can be written by others, so it trusts nothing; {remedy}")
                data = json.loads(file.read())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            if isinstance(error, TrustError):
                raise
            raise TrustError(f"{self.path} cannot be read ({error}), so it trusts nothing; {remedy}") from None
        if not isinstance(data, dict) or data.get("version") != _VERSION:
            raise TrustError(f"{self.path} is not a trust file of version {_VERSION}, so it trusts nothing; {remedy}")
        folders = data.get("folders")
        if not isinstance(folders, dict) or not all(
            isinstance(entry, dict) and isinstance(entry.get("sha256"), str) for entry in folders.values()
        ):
            raise TrustError(f"{self.path}: `folders` does not have the right shape, so it trusts nothing; {remedy}")
        return folders

    def _write(self, folders: dict[str, dict[str, Any]]) -> None:
        text = json.dumps({"version": _VERSION, "folders": folders}, indent=2)
        target = os.path.realpath(self.path)  # A link stays a link; its target is replaced.
        try:
            # A temporary file replaces the old one in one step; only the user can read a file made by `mkstemp`.
            handle, name = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".trust-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, target)
            except BaseException:
                os.unlink(name)
                raise
        except OSError as error:
            raise TrustError(f"{self.path} cannot be written: {error}") from error

    @contextlib.contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """Hold a lock against other writers. It is a separate lock file, because the trust file itself is replaced."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise TrustError(f"{self.path} cannot be written: {error}") from error
        try:
            _lock(handle)
            yield
        finally:
            os.close(handle)


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover -- Windows has no `fcntl`, so the last of two writers wins there
        return
    fcntl.flock(handle, fcntl.LOCK_EX)


class IgnoredSetting(NamedTuple):
    """A setting of a project that does not count, and the reason. Its text is one line, whatever the project wrote."""

    what: str
    why: str

    def __str__(self) -> str:
        return make_visible(f"{self.what}: {self.why}", keep_lines=False)


def why_not_trusted(trust: Trust | None, project: str | os.PathLike[str]) -> str | None:
    """
    Return why the files of *project* do not count; return None if the user trusts the project.

    Without *trust*, no project is trusted.
    """
    state = "unknown" if trust is None else trust.state(project)
    if state == "trusted":
        return None
    problem = None if trust is None else trust.problem
    if problem is not None:
        return problem
    scripts = "".join(f" and at {make_visible(script, keep_lines=False)}" for script in find_scripts(project))
    remedy = f"look at its {PROJECT_FOLDER} folder{scripts}, then trust it"
    command = f"`toolkit trust {shlex.quote(str(project))}`"
    if state == "changed":
        return f"{project} has changed since you trusted it; {remedy} again: {command}"
    return f"you have not trusted {project}; {remedy}: {command}"


def content_digest(folder: str | os.PathLike[str]) -> str:
    """
    Return the digest over the content that trust in a project covers.

    That is everything in its `.toolkit` folder, and the files elsewhere in the project that its hooks name.

    Raises:
        TrustError: A part of the content cannot be covered: it cannot be read, a link leads out, there is too much of
            it, or it is neither a file nor a folder.
    """
    root = Path(_real_path(folder))
    if not root.is_dir():
        raise TrustError(f"{root} is not a folder; name the project's folder")
    top = root / PROJECT_FOLDER
    digest = hashlib.sha256(b"toolkit trust 1\0")
    try:
        if top.is_symlink() or (top.exists() and not top.is_dir()):
            raise TrustError(f"{top} has to be a folder, and no link; make it one")
        if top.is_dir():
            folder_digest = _FolderDigest(top, digest)
            folder_digest.add_folder(top, 0)
            for script in find_scripts(root):
                folder_digest.add_script(root, script)
    except OSError as error:
        raise TrustError(
            f"{top} cannot be read completely ({error}); make it readable, or remove what is not"
        ) from error
    return digest.hexdigest()


def instruction_digests(folder: str | os.PathLike[str], *, names: Iterable[str] = ()) -> dict[str, str]:
    """
    Return the digests of the instruction files in *folder*, by name.

    These are the files with the usual names, and with the names that the settings of the user and of the folder give.
    *names* are those that the settings have from elsewhere, such as a variable: `settings["instructions.names"]`.
    """
    root = Path(_real_path(folder))
    usual_names = find_instruction_names(configuration_folder(), root / PROJECT_FOLDER)
    return digest_instructions(root, dict.fromkeys((*usual_names, *map(check_instruction_name, names))))


class _FolderDigest:
    """One pass over a folder in a fixed order, which adds everything in it to a digest."""

    def __init__(self, top: Path, digest: Any) -> None:
        self._top = top
        self._digest = digest
        self._file_count = 0
        self._byte_count = 0

    def add_folder(self, folder: Path, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise TrustError(f"{folder} is nested too deeply; {PROJECT_FOLDER} is for rules, hooks and skills")
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda item: os.fsencode(item.name)):
                self._file_count += 1
                if self._file_count > _MAX_FILES:
                    raise TrustError(f"{self._top} holds more than {_MAX_FILES} files; keep data elsewhere")
                self._add_entry(entry, depth)

    def add_script(self, root: Path, name: str) -> None:
        """Add a file that a hook runs and that is outside the folder."""
        path = Path(os.path.realpath(root / name))
        if not path.is_relative_to(root):
            raise TrustError(f"{root / name} is a link that leads out of {root}; put a copy there instead")
        self._update_digest(b"script", os.fsencode(name), os.fsencode(path.relative_to(root)), self._digest_file(path))

    def _add_entry(self, entry: os.DirEntry[str], depth: int) -> None:
        path = Path(entry.path)
        if entry.is_symlink():
            target = os.readlink(path)
            real_path = Path(os.path.realpath(path))
            if not real_path.is_relative_to(self._top):
                raise TrustError(f"{path} is a link that leads out of {self._top}; put a copy there instead")
            self._update_digest(b"link", path, os.fsencode(target))
        elif entry.is_dir():
            self._update_digest(b"folder", path, b"")
            self.add_folder(path, depth + 1)
        elif entry.is_file():
            self._update_digest(b"file", path, self._digest_file(path))
        else:
            raise TrustError(f"{path} is neither a file nor a folder; remove it")

    def _digest_file(self, path: Path) -> bytes:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(_MAX_BYTES + 1 - self._byte_count) if stat.S_ISREG(status.st_mode) else b""
        self._byte_count += len(data)
        if self._byte_count > _MAX_BYTES:
            raise TrustError(f"{self._top} holds more than {_MAX_BYTES // 2**20} MB; keep data elsewhere")
        is_executable = b"x" if status.st_mode & 0o111 else b"-"
        return is_executable + hashlib.sha256(data).digest()

    def _update_digest(self, *parts: bytes | Path) -> None:
        for part in parts:
            data = os.fsencode(part.relative_to(self._top)) if isinstance(part, Path) else part
            # The length comes first, so that two different folders never give the same bytes.
            self._digest.update(len(data).to_bytes(8, "big") + data)


def _real_path(folder: str | os.PathLike[str]) -> str:
    try:
        return os.path.realpath(folder)
    except (ValueError, OSError) as error:
        raise TrustError(f"{os.fspath(folder)!r} is not a folder: {error}") from None
