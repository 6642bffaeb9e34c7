"""The instruction files of a folder: their names, and the digests by which trust in the folder covers them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .._plumbing.regular_files import read_regular_file
from .project_files import PROJECT_FOLDER, SETTINGS_FILE, ProjectFiles
from .toml_files import TomlFile

__all__ = ["INSTRUCTION_NAMES", "check_instruction_name", "find_instruction_names", "read_instruction_files"]

INSTRUCTION_NAMES: tuple[str, ...] = ("AGENTS.md", "CLAUDE.md")
"""The usual names. Settings can give others: `instructions.names`."""

_MAX_BYTES = 1_000_000


def check_instruction_name(name: Any) -> str:
    """Return *name* if it can be the name of an instruction file; raise `ValueError` if not."""
    is_name = isinstance(name, str) and name == os.path.basename(name) and name not in ("", ".", "..")
    if not is_name or not name.isprintable() or len(name) > 255:
        raise ValueError(f'{name!r:.80} is no file name; write a name without folders, such as "AGENTS.md"')
    return str(name)


def find_instruction_names(user: Path, project: ProjectFiles) -> tuple[str, ...]:
    """
    Return the usual names, and those that the settings in the folder *user* and in *project* give.

    Settings that cannot be read give no names. The loader of settings reports that problem.
    """
    names = list(INSTRUCTION_NAMES)
    project_file = project.folder / PROJECT_FOLDER / SETTINGS_FILE
    for file in (TomlFile(user / SETTINGS_FILE, []), TomlFile(project_file, [], read=project.read_settings)):
        table = file.data.get("instructions")
        listed = table.get("names") if isinstance(table, dict) else None
        for name in listed if isinstance(listed, list) else []:
            try:
                names.append(check_instruction_name(name))
            except ValueError:
                continue
    return tuple(dict.fromkeys(names))


def read_instruction_files(
    folder: Path, names: Iterable[str], on_error: Callable[[Path, Exception], object] = lambda path, error: None
) -> Iterator[tuple[Path, bytes]]:
    """Yield the path and the content of each instruction file in *folder*, and report those that cannot be read."""
    for name in names:
        try:
            content = _read_file(folder, name)
        except (OSError, ValueError) as error:
            on_error(folder / name, error)
        else:
            if content is not None:
                yield folder / name, content


def _read_file(folder: Path, name: str) -> bytes | None:
    """Return the content of a file in *folder*; None if there is none. A link that leads out is a `ValueError`."""
    path = Path(os.path.realpath(folder / name))
    if not path.is_relative_to(os.path.realpath(folder)):
        raise ValueError(f"it is a link that leads out of {folder}; put a copy there instead")
    if os.path.islink(folder / name) and not os.path.lexists(path):
        raise ValueError("it is a link that leads nowhere")
    file = read_regular_file(path, _MAX_BYTES, follow_links=False)
    return None if file is None else file.content
