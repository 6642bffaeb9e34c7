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
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from .._plumbing.regular_files import read_regular_file
from ..storage.shared_files import hold_lock, write_atomically
from ..values.visible import make_visible
from .file_ownership import find_foreign_writer
from .instruction_names import check_instruction_name, find_instruction_names, read_instruction_files
from .project_files import PROJECT_FOLDER, ProjectFiles, TrustError, real_path

__all__ = [
    "PROJECT_FOLDER",
    "IgnoredSetting",
    "Project",
    "Trust",
    "TrustError",
    "configuration_folder",
    "read_all_instructions",
    "why_not_trusted",
]

Project: TypeAlias = str | os.PathLike[str] | ProjectFiles
"""A folder, whose files are read now, or its files as they were read before."""

_VERSION = 1
_FILE = "file"
_MAX_BYTES = 16 * 1024 * 1024


def configuration_folder() -> Path:
    """
    Return the folder of the user's own files: `$XDG_CONFIG_HOME/toolkit`, or `~/.config/toolkit`.

    Raises:
        TrustError: The home folder has no whole path. A relative path would lie in the project.
    """
    config_home = os.environ.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(config_home):  # the XDG specification says to ignore a relative path
        return Path(config_home, "toolkit")
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise TrustError(f"the home folder {home!r} is no whole path; set HOME or XDG_CONFIG_HOME to one")
    return Path(home, ".config", "toolkit")


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

    def state(self, project: Project) -> Literal["trusted", "changed", "unknown"]:
        """
        Return one of three words that say whether the user trusts *project*.

        "trusted" means that the user trusts it with its present content, or with the content of the given files.
        "changed" means that the user trusted it with another content, or that its content cannot be checked. "unknown"
        means that it was never trusted, or that the trust file cannot be used.
        """
        try:
            files = read_project(project)
            entry = self._read().get(str(files.root))
            if entry is None:
                return "unknown"
        except (TrustError, OSError):
            return "unknown"
        try:
            return "trusted" if files.digest == entry["sha256"] else "changed"
        except TrustError:
            return "changed"

    def is_trusted(self, project: Project) -> bool:
        """Return whether the user trusts *project* with its present content."""
        return self.state(project) == "trusted"

    def covers_file(self, folder: str | os.PathLike[str], name: str, content: bytes) -> bool:
        """Return whether *folder* was trusted while its instruction file *name* had this *content*."""
        digests = self._find_entry(folder).get("instructions")
        return isinstance(digests, dict) and digests.get(name) == hashlib.sha256(content).hexdigest()

    def trust(
        self,
        folder: str | os.PathLike[str],
        *,
        digest: str | None = None,
        instructions: Mapping[str, bytes] | None = None,
    ) -> None:
        """
        Trust *folder* with its present content.

        *digest* is the digest of the `ProjectFiles` that the user was shown. If it is given and the content has
        changed since, `TrustError` is raised. *instructions* are the contents of the instruction files that the user
        was shown, by name; by default the present ones.
        """
        current_digest = ProjectFiles(folder).digest
        if digest is not None and digest != current_digest:
            raise TrustError(f"{real_path(folder)} has changed since it was shown; look at it again")
        contents = read_all_instructions(folder) if instructions is None else instructions
        entry = {
            "sha256": current_digest,
            "trusted_at": int(time.time()),
            "instructions": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        }
        with self._change() as entries:
            entries[real_path(folder)] = entry

    def covers_content(self, path: str | os.PathLike[str], content: bytes) -> bool:
        """Return whether the user trusts the single file at *path* with this *content*."""
        entry = self._find_entry(path)
        return entry.get("kind") == _FILE and entry["sha256"] == hashlib.sha256(content).hexdigest()

    def trust_content(self, path: str | os.PathLike[str], content: bytes) -> None:
        """Trust the single file at *path* with this *content*, which the user was shown."""
        entry = {"kind": _FILE, "sha256": hashlib.sha256(content).hexdigest(), "trusted_at": int(time.time())}
        with self._change() as entries:
            entries[real_path(path)] = entry

    def revoke(self, folder: str | os.PathLike[str]) -> bool:
        """Trust *folder*, or a single file, no longer, also if it is gone, and return whether it was trusted before."""
        with self._change() as entries:
            return entries.pop(real_path(folder), None) is not None

    def folders(self) -> tuple[Path, ...]:
        """Return the folders that were trusted, in that order, including those that have changed since."""
        return self._list_paths(is_file=False)

    def files(self) -> tuple[Path, ...]:
        """Return the single files that were trusted, in that order, including those that have changed since."""
        return self._list_paths(is_file=True)

    def _list_paths(self, *, is_file: bool) -> tuple[Path, ...]:
        with contextlib.suppress(TrustError):
            return tuple(Path(path) for path, entry in self._read().items() if (entry.get("kind") == _FILE) is is_file)
        return ()

    def _find_entry(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Return what is recorded about a folder or a file; it is empty if the trust file cannot be used."""
        with contextlib.suppress(TrustError):
            return self._read().get(real_path(path), {})
        return {}

    def _read(self) -> dict[str, dict[str, Any]]:
        remedy = "look at it, then correct it or move it away, and trust your folders again"
        try:
            problem = find_foreign_writer(self.path)
            if problem is not None:
                raise TrustError(f"{self.path} trusts nothing: {problem}")
            file = read_regular_file(os.path.realpath(self.path), _MAX_BYTES)
            if file is None:
                return {}
            if os.name == "posix" and (file.status.st_mode & 0o022 or file.status.st_uid not in (os.geteuid(), 0)):
                raise TrustError(f"{self.path} can be written by others, so it trusts nothing; {remedy}")
            data = json.loads(file.content)
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

    @contextlib.contextmanager
    def _change(self) -> Iterator[dict[str, dict[str, Any]]]:
        """Yield the entries, and write them afterwards if they have changed. Other processes wait meanwhile."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with hold_lock(self.path):
                entries = self._read()
                before = dict(entries)
                yield entries
                if entries != before:
                    text = json.dumps({"version": _VERSION, "folders": entries}, indent=2)
                    write_atomically(os.path.realpath(self.path), text + "\n")  # A link stays a link.
        except OSError as error:
            raise TrustError(f"{self.path} cannot be written: {error}") from error


class IgnoredSetting(NamedTuple):
    """A setting of a project that does not count, and the reason. Its text is one line, whatever the project wrote."""

    what: str
    why: str

    def __str__(self) -> str:
        return make_visible(f"{self.what}: {self.why}", keep_lines=False)


def read_project(project: Project) -> ProjectFiles:
    """Return the files of *project*, which are read later, each of them once."""
    return project if isinstance(project, ProjectFiles) else ProjectFiles(project)


def why_not_trusted(trust: Trust | None, project: Project) -> str | None:
    """Return why the files of *project* do not count; None if they do. Without *trust*, no project is trusted."""
    files = read_project(project)
    state = "unknown" if trust is None else trust.state(files)
    if state == "trusted":
        return None
    problem = None if trust is None else trust.problem
    if problem is not None:
        return problem
    scripts = "".join(f" and at {make_visible(script, keep_lines=False)}" for script in files.script_names)
    remedy = f"look at its {PROJECT_FOLDER} folder{scripts}, then trust it"
    command = f"`toolkit trust {shlex.quote(str(files.folder))}`"
    if state == "changed":
        return f"{files.folder} has changed since you trusted it; {remedy} again: {command}"
    return f"you have not trusted {files.folder}; {remedy}: {command}"


def read_all_instructions(project: Project, *, names: Iterable[str] = ()) -> dict[str, bytes]:
    """
    Return the contents of the instruction files in the folder of *project*, by name.

    These are the files with the usual names, and with the names that the settings of the user and of the project give.
    *names* are those that the settings have from elsewhere, such as a variable: `settings["instructions.names"]`.
    """
    files = read_project(project)
    usual_names = find_instruction_names(configuration_folder(), files)
    all_names = dict.fromkeys((*usual_names, *map(check_instruction_name, names)))
    # A file that cannot be read does not count anyway, and the reader of instructions says why.
    return {path.name: content for path, content in read_instruction_files(files.root, all_names)}
