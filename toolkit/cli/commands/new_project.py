"""
A new project: a few files that work together, written where nothing is.
"""

from __future__ import annotations

import keyword
import os
import re
import sys
from pathlib import Path

from ...errors import ToolkitError
from ...safety.shell.parser import DISTRIBUTION
from .templates import FILES

__all__ = ["ProjectError", "make_project", "package_name"]

_TAKEN = frozenset({"toolkit", "tests", "test", "pytest", "hypothesis", *sys.stdlib_module_names})


class ProjectError(ToolkitError):
    """A project cannot be made there, or under that name."""


def package_name(title: str) -> str:
    """The package that a project called *title* has: `my-shop` has `my_shop`."""
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ProjectError(f"{title!r} gives no name for a package; give one with --name, of letters and digits")
    if name in _TAKEN:
        raise ProjectError(f"a package called {name!r} would hide another one; give another name with --name")
    return name


def make_project(folder: str | os.PathLike[str], *, name: str | None = None) -> list[Path]:
    """
    Write a project into *folder*, which need not exist; the files that were written.

    Nothing is overwritten: if a file is there already, nothing is written at all.

    Args:
        name: What it is called; as the folder unless given.
    """
    root = Path(folder).resolve()
    title = name or root.name
    package = package_name(title)
    names = {"package": package, "title": package.replace("_", "-"), "distribution": DISTRIBUTION}
    files = {root / path.format(**names): text.format(**names) for path, text in FILES.items()}
    _refuse_what_is_there(root, list(files))
    written = []
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise ProjectError(f"{path} cannot be written: {error.strerror or error}") from error
        written.append(path)
    return written


def _refuse_what_is_there(root: Path, files: list[Path]) -> None:
    taken = [path for path in files if os.path.lexists(path)]
    # A folder that is a link would have the files written somewhere else.
    taken += [folder for folder in {path.parent for path in files} - {root} if folder.is_symlink()]
    if root.exists() and not root.is_dir():
        taken = [root]
    if taken:
        listed = ", ".join(str(path) for path in sorted(taken))
        raise ProjectError(f"nothing was written, because this is there already: {listed}; choose another folder")
