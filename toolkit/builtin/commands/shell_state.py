"""
What a conversation's commands have in common: the working folder, a few variables, a private folder, and jobs.

It is kept in the session's state and ends with it: jobs are ended, and the private folder is removed.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import re
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence

from ..._forks import unlock_in_children
from ..._option_checks import several
from ...errors import ToolError
from ...sandbox.base import Sandbox
from ...session import Session
from ...workspace.space import Workspace
from .folder_removal import remove_folder
from .jobs import Jobs
from .outputs import readable

__all__ = [
    "Shell",
    "as_state",
    "checked_names",
    "end_shells",
    "environment",
    "folder_at",
    "known_shell",
    "script",
    "shell_for",
    "shell_of",
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FROM_OUTSIDE = ("PATH", "LANG", "LANGUAGE", "TZ")
_ALWAYS = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_MOST_OF_A_VALUE = 32_768
_KEY = "toolkit.shell:"
_OPENING = unlock_in_children(threading.Lock())


class Shell:
    """
    The state of one conversation in one workspace.

    Attributes:
        cwd: Where the next command starts.
        variables: What the caller wanted kept.
        private: A folder for temporary files and a home, which no other conversation sees.
        jobs: The commands in the background.
    """

    def __init__(self, root: str) -> None:
        self.cwd = root
        self.variables: dict[str, str] = {}
        self.private = os.path.realpath(tempfile.mkdtemp(prefix="toolkit-"))
        self.jobs = Jobs()
        os.mkdir(f"{self.private}/home", 0o700)
        self.close = weakref.finalize(self, _close, self.jobs, self.private, os.getpid())

    def take(self, said: bytes, workspace: Workspace, names: Sequence[str]) -> str:
        """Remember what a command *said* at its end; a note if its working folder cannot be kept, or nothing."""
        found = as_state(said, names)
        if found is None:
            return ""
        where, self.variables = found
        place = folder_at(workspace, where)
        self.cwd = place or workspace.root
        last = "the one that the command was in at its end is gone, or outside of the workspace"
        return "" if place else f"the working folder is {workspace.root} again: {last}"

    def lost(self, workspace: Workspace) -> str:
        """A note if the folder is gone that the last command was left in, or nothing."""
        if self.folder(workspace) == self.cwd:
            return ""
        return f"the working folder was {workspace.root}: {readable(self.cwd)} is gone"

    def folder(self, workspace: Workspace) -> str:
        """Where the next command starts: the root, if the folder is gone or something else is in its place."""
        return self.cwd if folder_at(workspace, self.cwd) == self.cwd else workspace.root


def folder_at(workspace: Workspace, path: str) -> str | None:
    """Where the folder *path* of *workspace* really is; None if it is none."""
    try:
        return workspace.place(path) if workspace.stat(path).kind == "folder" else None
    except ToolError:
        return None


def shell_of(session: Session | None, root: str) -> Shell:
    """The shell of *session* in the workspace at *root*; one for this call alone if there is no session."""
    if session is None:
        return Shell(root)
    with _OPENING:
        found = known_shell(session, root)
        if found is None:
            found = session.state[f"{_KEY}{root}"] = Shell(root)
        return found


def known_shell(session: Session | None, root: str) -> Shell | None:
    """The same, if there is one already."""
    found = None if session is None else session.state.get(f"{_KEY}{root}")
    return found if isinstance(found, Shell) and found.close.alive else None


@contextlib.contextmanager
def shell_for(session: Session | None, root: str) -> Iterator[Shell]:
    """The same for the length of one call: without a session it ends with the call."""
    shell = shell_of(session, root)
    try:
        yield shell
    finally:
        if session is None:
            shell.close()


def end_shells(session: Session) -> None:
    """End what belongs to *session*: its jobs, and its private folders. The end of the session does the same."""
    for key in [key for key in session.state if key.startswith(_KEY)]:
        shell = session.state.pop(key)
        if isinstance(shell, Shell):
            shell.close()


def _close(jobs: Jobs, private: str, pid: int) -> None:
    if os.getpid() != pid:
        return  # a child that was forked has copies of both, and they are not its own
    # The garbage collector may come by in the midst of something that may only read, such as a preview.
    contextvars.Context().run(_clear, jobs, private)


def _clear(jobs: Jobs, private: str) -> None:
    jobs.close()
    remove_folder(private)


def environment(
    sandbox: Sandbox, given: Mapping[str, str], private: str, variables: Mapping[str, str]
) -> dict[str, str]:
    """Everything that a command finds in its environment; of ours, only what is listed here."""
    ours = {name: os.environ[name] for name in os.environ if name in _FROM_OUTSIDE or name.startswith("LC_")}
    ours["PATH"] = _path(ours.get("PATH", os.defpath), sandbox.shows)
    return {**ours, **_ALWAYS, **sandbox.homes(private), **given, **variables}


def _path(path: str, shows: tuple[str, ...] | None) -> str:
    """The folders of *path* that can be read in the sandbox: a program that cannot be started hides those behind."""
    folders = [each for each in path.split(":") if os.path.isabs(each)]
    if shows is not None:
        tops = tuple(f"{each.rstrip('/')}/" for each in shows)
        folders = [each for each in folders if f"{os.path.realpath(each)}/".startswith(tops)]
    return ":".join(folders) or os.defpath


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """*names*, if variables can be called so."""
    listed = several(names, "keep", "variables")
    for name in listed:
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"keep: {name!r} cannot be the name of a variable")
    return tuple(dict.fromkeys(listed))


def script(names: Sequence[str]) -> str:
    """A shell script that runs its first argument, and says to descriptor 3 at its end where it is and what it kept."""
    values = "".join(f'[ -n "${{{name}+x}}" ] && printf \'{name}=%s\\0\' "${name}"; ' for name in names)
    said = f"{{ printf 'cwd=%s\\0' \"$PWD\"; {values}:; }} >&3 2>/dev/null"
    # On one line, so that what bash says about a line of the command has its right number.
    return (
        f"__toolkit_end() {{ {said}; }}; trap __toolkit_end EXIT; "
        '__toolkit_command=$1; shift; eval "$__toolkit_command"\n'
    )


def as_state(said: bytes, names: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    """
    The working folder and the kept variables that `script` said; None if it said nothing.

    Whatever the command started could write there, too: nothing is taken but what was asked for, the last of each.
    """
    found: dict[str, str] = {}
    for item in said.split(b"\0")[:-1]:
        name, is_there, value = item.partition(b"=")
        if is_there and len(value) <= _MOST_OF_A_VALUE:
            found[name.decode(errors="replace")] = os.fsdecode(value)
    where = found.get("cwd", "")
    if not os.path.isabs(where):
        return None
    return where, {name: found[name] for name in names if name in found}
