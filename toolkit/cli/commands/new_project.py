"""
`toolkit init`: write a small project to start from.

It is a few files that work together. Existing files are never overwritten.
"""

from __future__ import annotations

import keyword
import os
import re
import shlex
import sys
from pathlib import Path

import click
from rich.text import Text

from ..._plumbing.distribution import INSTALL, INSTALL_PLACE
from ...errors import ToolkitError
from ..command import subcommand
from ..output import Output, to_safe_text
from ..project_templates import FILES

__all__ = ["ProjectError", "command", "make_project", "package_name"]

_RESERVED_NAMES = frozenset({"toolkit", "tests", "test", "pytest", "hypothesis", *sys.stdlib_module_names})


@subcommand("init")
@click.argument("folder", default=".", type=click.Path(file_okay=False))
@click.option("--name", help="The name of the project; without it, the name of its folder.")
def command(output: Output, folder: str, name: str | None) -> None:
    """Write a small project to start from.

    A tool, a test, settings and a README are written into FOLDER. The project passes its own tests as it is. No file is
    overwritten: if one of the files exists, nothing is written.

    \b
    Examples:
      toolkit init shop
      cd shop
      python -m pytest
    """
    paths = make_project(folder, name=name)
    if output.is_json:
        output.json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        output.show(Text.assemble(("+ ", "green"), to_safe_text(os.path.relpath(path))))
    relative_folder = os.path.relpath(folder)
    step = "" if relative_folder == "." else f"cd {shlex.quote(relative_folder)} && "
    output.show(Text.assemble("next: ", to_safe_text(f"{step}python -m pytest", "bold")))


class ProjectError(ToolkitError):
    """A project cannot be written into that folder, or under that name."""


def package_name(title: str) -> str:
    """
    Return the name of the package in a project called *title*: `my_shop` for `my-shop`.

    Raises:
        ProjectError: *title* gives no name for a package, or the package would hide another one.
    """
    name = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ProjectError(f"{title!r} gives no name for a package; give one with --name, of letters and digits")
    if name in _RESERVED_NAMES:
        raise ProjectError(f"a package called {name!r} would hide another one; give another name with --name")
    return name


def make_project(folder: str | os.PathLike[str], *, name: str | None = None) -> list[Path]:
    """
    Write a project into *folder*, and return the files that were written.

    No file is overwritten. If one of the files is there already, no file is written at all.

    Args:
        folder: The folder of the project, which need not exist.
        name: The name of the project. The default is the name of the folder.

    Raises:
        ProjectError: The name cannot be used, a file is there already, or a file cannot be written.
    """
    root = Path(folder).resolve()
    title = name or root.name
    package = package_name(title)
    names = {
        "package": package,
        "title": package.replace("_", "-"),
        "install": INSTALL.format(extras="testing,cli"),
        "install_place": INSTALL_PLACE,
    }
    files = {root / path.format(**names): text.format(**names) for path, text in FILES.items()}
    _refuse_existing_files(root, list(files))
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


def _refuse_existing_files(root: Path, files: list[Path]) -> None:
    existing = [path for path in files if os.path.lexists(path)]
    # If a folder were a link, the files would be written to another place.
    existing += [folder for folder in {path.parent for path in files} - {root} if folder.is_symlink()]
    if root.exists() and not root.is_dir():
        existing = [root]
    if existing:
        names = ", ".join(str(path) for path in sorted(existing))
        raise ProjectError(f"nothing was written, because this exists already: {names}; choose another folder")
