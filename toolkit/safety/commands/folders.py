"""
The folders that the commands of a line may run in.

Which `cd` holds for which command depends on which commands succeed, on loops and on subshells. So every folder that
the line may go to counts for every command. This may give too many readings, but it misses none.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable

from ..shell.records import SimpleCommand
from .options import Args

__all__ = ["TooManyFolders", "folders_of"]

_MAX_FOLDERS = 100
# Options with which a program changes to another folder before it does anything.
_FOLDER_OPTIONS = {
    "env": "-C --chdir",
    "sudo": "-D --chdir -R --chroot",
    "systemd-run": "--working-directory",
    "make": "-C --directory",
    "gmake": "-C --directory",
    "ninja": "-C",
    "uv": "--directory --project",
    "pnpm": "-C --dir",
    "npm": "--prefix",
    "yarn": "--cwd",
    "poetry": "-C --directory -P --project",
    "hg": "--cwd -R",
    "go": "-C",
    "cargo": "-C",
    "terraform": "-chdir",
    "tofu": "-chdir",
    "emacs": "--chdir",
    "ruby": "-C -X",
    "fd": "--base-directory",
    "parallel": "--workdir --wd",
    "just": "-d --working-directory",
    "start-stop-daemon": "-d --chdir",
    "flatpak": "--cwd",
}
# The first operand of these programs is the folder.
_FOLDER_OPERANDS = frozenset({"cd", "pushd", "chdir", "z", "chroot", "direnv"})


class TooManyFolders(ValueError):  # noqa: N818 -- the name says what happened
    """The error for a line that goes to more folders than can be checked."""


def folders_of(commands: Iterable[SimpleCommand], fill_in: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    """
    Return every folder that a command may run in. The first is "", the folder in which the line starts.

    Args:
        commands: The commands of the line, in order.
        fill_in: Returns the texts that a word may become when its variables are filled in.

    Raises:
        TooManyFolders: There are more folders than can be checked.
    """
    folders = [""]
    for command in commands:
        targets = dict.fromkeys(name for word in _folder_targets(command) for name in fill_in(word))
        folders += [_change_folder(folder, target) for target in targets for folder in folders]
        folders = list(dict.fromkeys(folders))
        if len(folders) > _MAX_FOLDERS:
            raise TooManyFolders("goes to more folders than can be looked at")
    return tuple(folders)


def _folder_targets(command: SimpleCommand) -> list[str]:
    if command.name in _FOLDER_OPERANDS:
        words = [word for word in command.plain[1:] if word == "-" or not word.startswith(("-", "+"))]
        # `cd -` goes back to a folder that is already in the list.
        return ["~"] if not words and command.name == "cd" else [word for word in words[:1] if word not in ("-", ".")]
    options = _FOLDER_OPTIONS.get(command.name)
    return Args(command).values(*options.split()) if options else []


def _change_folder(folder: str, target: str) -> str:
    if not folder or target.startswith(("/", "~", "$")):
        return target
    return posixpath.normpath(f"{folder}/{target}")
