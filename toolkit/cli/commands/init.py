"""
`toolkit init`: write a small project to start from.
"""

from __future__ import annotations

import os
import shlex

import click
from rich.text import Text

from ..command import subcommand
from ..output import Output, to_safe_text
from .new_project import make_project

__all__ = ["command"]


@subcommand("init")
@click.argument("folder", default=".", type=click.Path(file_okay=False))
@click.option("--name", help="The name of the project; without it, the name of its folder.")
def command(output: Output, folder: str, name: str | None) -> None:
    """Write a small project to start from.

    A tool, a test, settings and a README are written into FOLDER. The project
    passes its own tests as it is. No file is overwritten: if one of the files exists,
    nothing is written.

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
