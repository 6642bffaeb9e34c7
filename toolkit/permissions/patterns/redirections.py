"""
The files that a command line names in its redirections: what it certainly reads and writes by itself.

What the programs in it do with files is not known here. A target that cannot be told is None, which may be any
file; so may be everything in a command line that cannot be read.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence

from ...safety.shell.parser import CannotParse, Script, parsed

__all__ = ["redirected_paths"]

_GOES = ("cd", "pushd", "popd")
# Each `cd` may succeed or fail, so their number doubles with each; beyond this any folder is possible.
_MOST_FOLDERS = 64


@functools.lru_cache(maxsize=16)  # several rules look at one command
def redirected_paths(command: str, *, writes: bool) -> tuple[str | None, ...]:
    """Return the paths that *command* *writes*, or reads, by redirections; None stands for one that is not known."""
    try:
        script = parsed(command)
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
    Return where relative paths may start from after each `cd`; None if that is not known.

    A `cd` may fail, may be skipped, and may hold inside parentheses only. So each one starts from every folder
    that the ones before it may have led to.
    """
    if any(assignment.name == "CDPATH" for assignment in script.assignments):
        return [None]
    folders = {"": None}  # a dictionary, for the order
    for command in script.commands:
        if not command.words or command.name not in _GOES:
            continue
        words = [word for word in command.words[1:] if word not in ("-P", "-L", "--")]
        is_known = len(words) == 1 and all(command.literal) and words[0] != "-"
        if not is_known or len(folders) >= _MOST_FOLDERS:
            return [None]
        folders |= {os.path.join(folder, words[0]): None for folder in folders}
    return list(folders)[1:]
