"""
Files that a command line names in its redirections: the files that the shell itself certainly reads and writes.

This module does not know what the programs in the line do with files. A target that is not known is None, which
stands for any file. A command line that cannot be read has None as its only target.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence

from ...safety.shell.parser import CannotParse, Script, parse_script

__all__ = ["find_redirected_paths"]

_FOLDER_COMMANDS = ("cd", "pushd", "popd")
# Each `cd` may succeed or fail, so the number of folders doubles with each `cd`; beyond this any folder is possible.
_MAX_FOLDERS = 64


@functools.lru_cache(maxsize=16)  # because several rules look at the same command
def find_redirected_paths(command: str, *, writes: bool) -> tuple[str | None, ...]:
    """
    Return the paths that *command* redirects to if *writes* is true, or else the paths that it redirects from.

    None stands for a path that is not known.
    """
    try:
        script = parse_script(command)
    except CannotParse:
        return (None,)
    return tuple(dict.fromkeys(_paths(script, writes)))


def _paths(script: Script, writes: bool) -> Iterator[str | None]:
    folders = _folders(script)
    for redirection in script.redirections:
        reads = "<" in redirection.operator and not redirection.operator.startswith(("<<", "<&"))
        if not (redirection.writes if writes else reads):
            continue
        if not redirection.is_literal:
            yield None
            continue
        yield redirection.target
        if not os.path.isabs(redirection.target):
            for folder in folders:
                yield None if folder is None else os.path.join(folder, redirection.target)


def _folders(script: Script) -> Sequence[str | None]:
    """
    Return the folders that relative paths may start from because of a `cd`; `[None]` if they are not known.

    A `cd` may fail, may be skipped, and may apply only inside parentheses. So each `cd` starts from every folder that
    the earlier ones may have led to.
    """
    if any(assignment.name == "CDPATH" for assignment in script.assignments):
        return [None]
    folders = {"": None}  # a dictionary, because it keeps the order
    for command in script.commands:
        if not command.words or command.name not in _FOLDER_COMMANDS:
            continue
        words = [word for word in command.words[1:] if word not in ("-P", "-L", "--")]
        is_known = len(words) == 1 and all(command.literal) and words[0] != "-"
        if not is_known or len(folders) >= _MAX_FOLDERS:
            return [None]
        folders |= {os.path.join(folder, words[0]): None for folder in folders}
    return list(folders)[1:]
