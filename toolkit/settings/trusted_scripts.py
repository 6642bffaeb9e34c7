"""
The scripts of a trusted project, as private copies from which its hooks run.

The content of the project is checked before each start of a hook. Between the check and the start, another process
could put another script in the place of a checked one. So the scripts that the command names are run from copies of the
content that was checked. A file that a program finds by itself, such as a `Makefile`, is only checked.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._plumbing.forks import unlock_in_children
from ..hooks.shell.process import NotRun
from .hook_scripts import replace_scripts
from .project_files import ProjectEntry, ProjectFiles
from .toml_files import TomlFile
from .trust import Trust, why_not_trusted

__all__ = ["TrustedScripts"]


class TrustedScripts:
    """The copies of the scripts of *project*, whose hooks are in *file*. They are removed when it is no longer used."""

    def __init__(self, trust: Trust, project: Path, file: TomlFile) -> None:
        self._trust = trust
        self._project = project
        self._file = file
        self._lock = unlock_in_children(threading.Lock())
        self._folders: dict[str, Path] = {}

    def prepare(self, argv: Sequence[str]) -> list[str]:
        """Return *argv* with the copies in place of the scripts; raise `NotRun` unless the user trusts them."""
        files = ProjectFiles(self._project)
        why = why_not_trusted(self._trust, files)
        if why is None and TomlFile(self._file.path, [], read=files.read_settings).content != self._file.content:
            why = f"{self._file.path} changed since it was read; load its hooks again"
        if why is not None:
            raise NotRun(why)
        try:
            return replace_scripts(argv, files.root, files.contents, self._copy(files.contents, files.digest))
        except (OSError, ValueError) as error:
            raise NotRun(str(error)) from error

    def _copy(self, contents: Mapping[str, ProjectEntry], digest: str) -> Path:
        """Return the folder with the copies of *contents*, which is made if it does not exist yet."""
        with self._lock:
            folder = self._folders.get(digest)
            # A program that cleans the folder for temporary files may have removed some.
            if folder is None or not all(os.path.exists(folder / name) for name in contents):
                folder = self._folders[digest] = self._write(contents)
            return folder

    def _write(self, contents: Mapping[str, ProjectEntry]) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="toolkit-hooks-", dir=self._find_place()))
        weakref.finalize(self, _remove, folder, os.getpid())
        for name, entry in contents.items():
            path = folder / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(entry.data)
            path.chmod(0o500 if entry.is_executable else 0o400)
        return folder

    def _find_place(self) -> Path | None:
        """Return a folder from which programs may be run; None for the usual one."""
        is_usual = not os.statvfs(tempfile.gettempdir()).f_flag & getattr(os, "ST_NOEXEC", 0)
        return None if is_usual else self._trust.path.parent


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # A forked child has a copy of the object, and the files are its parent's.
        shutil.rmtree(folder, ignore_errors=True)
