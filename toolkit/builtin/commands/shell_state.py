"""
The state that the commands of a conversation share: the working folder, some variables, a private folder, and jobs.

The state is kept in the session and ends with it. Then the jobs are ended and the private folder is removed.
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

from ..._option_checks import require_list
from ..._plumbing.forks import unlock_in_children
from ...calls.background.jobs import CallJob, SessionJobs, end_session_jobs, jobs_of
from ...errors import ToolError
from ...sandbox.base import Sandbox
from ...session import Session
from ...workspace.space import Workspace
from .folder_removal import remove_folder
from .jobs import BackgroundJob
from .outputs import make_readable

__all__ = [
    "Shell",
    "build_environment",
    "build_script",
    "check_variable_names",
    "end_shells",
    "find_folder",
    "find_shell",
    "parse_state",
    "shell_for",
    "shell_of",
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INHERITED_VARIABLES = ("PATH", "LANG", "LANGUAGE", "TZ")
_FIXED_VARIABLES = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_MAX_VALUE_BYTES = 32_768
_STATE_KEY = "toolkit.shell:"
_SHELL_LOCK = unlock_in_children(threading.Lock())


class Shell:
    """
    The state of one conversation in one workspace.

    Attributes:
        cwd: The folder in which the next command starts.
        variables: The values of the variables that the caller wants to keep.
        private_folder: A folder for temporary files and a home folder, which no other conversation sees.
    """

    def __init__(self, root: str, calls: SessionJobs[CallJob] | None = None) -> None:
        self.cwd = root
        self.variables: dict[str, str] = {}
        self.private_folder = os.path.realpath(tempfile.mkdtemp(prefix="toolkit-"))
        self.jobs = SessionJobs[BackgroundJob](calls)
        os.mkdir(f"{self.private_folder}/home", 0o700)
        self.close = weakref.finalize(self, _close, self.jobs, self.private_folder, os.getpid())

    def remember_state(self, report: bytes, workspace: Workspace, names: Sequence[str]) -> str:
        """Store the state in *report*, and return a note if the working folder of the command cannot be kept."""
        state = parse_state(report, names)
        if state is None:
            return ""
        path, self.variables = state
        folder = find_folder(workspace, path)
        self.cwd = folder or workspace.root
        reason = "the one that the command was in at its end is gone, or outside of the workspace"
        return "" if folder else f"the working folder is {workspace.root} again: {reason}"

    def explain_lost_folder(self, workspace: Workspace) -> str:
        """Return a note if the folder in which the last command ended is gone, else an empty string."""
        if self.find_start_folder(workspace) == self.cwd:
            return ""
        return f"the working folder was {workspace.root}: {make_readable(self.cwd)} is gone"

    def find_start_folder(self, workspace: Workspace) -> str:
        """Return the folder in which the next command starts: the root if the last one is gone or was replaced."""
        return self.cwd if find_folder(workspace, self.cwd) == self.cwd else workspace.root


def find_folder(workspace: Workspace, path: str) -> str | None:
    """Return the real path of the folder *path* in *workspace*, or None if there is no such folder."""
    try:
        return workspace.place(path) if workspace.stat(path).kind == "folder" else None
    except ToolError:
        return None


def shell_of(session: Session | None, root: str) -> Shell:
    """Return the shell of *session* in the workspace at *root*. Make it if there is none, or if there is no session."""
    if session is None:
        return Shell(root)
    with _SHELL_LOCK:
        shell = find_shell(session, root)
        if shell is None:
            # Calls in the background are jobs too, so the names of all jobs come from one place.
            shell = session.state[f"{_STATE_KEY}{root}"] = Shell(root, jobs_of(session))
        return shell


def find_shell(session: Session | None, root: str) -> Shell | None:
    """Return the shell of *session* in the workspace at *root*, or None if there is none yet."""
    shell = None if session is None else session.state.get(f"{_STATE_KEY}{root}")
    return shell if isinstance(shell, Shell) and shell.close.alive else None


@contextlib.contextmanager
def shell_for(session: Session | None, root: str) -> Iterator[Shell]:
    """Yield the shell of *session* in the workspace at *root*. Without a session the shell ends with the call."""
    shell = shell_of(session, root)
    try:
        yield shell
    finally:
        if session is None:
            shell.close()


def end_shells(session: Session) -> None:
    """
    End the jobs of *session*, both commands and calls, and remove its private folders.

    The end of the session does the same, but a call in the background keeps its session alive until it has ended.
    """
    end_session_jobs(session)
    for key in [key for key in session.state if key.startswith(_STATE_KEY)]:
        shell = session.state.pop(key)
        if isinstance(shell, Shell):
            shell.close()


def _close(jobs: SessionJobs[BackgroundJob], private: str, pid: int) -> None:
    if os.getpid() != pid:
        return  # a forked child has copies of both, but the parent owns them
    # The garbage collector may call this during a call that may only read, such as a preview, so a new context is used.
    context = contextvars.Context()
    context.run(jobs.end)
    context.run(remove_folder, private)


def build_environment(
    sandbox: Sandbox, env: Mapping[str, str], private: str, variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a command. It has few variables of this process: see `_INHERITED_VARIABLES`."""
    inherited = {
        name: os.environ[name] for name in os.environ if name in _INHERITED_VARIABLES or name.startswith("LC_")
    }
    inherited["PATH"] = _filter_path(inherited.get("PATH", os.defpath), sandbox.shows)
    return {**inherited, **_FIXED_VARIABLES, **sandbox.homes(private), **env, **variables}


def _filter_path(path: str, shows: tuple[str, ...] | None) -> str:
    """Return *path* with only the folders that can be read in the sandbox, because others would hide later programs."""
    folders = [folder for folder in path.split(":") if os.path.isabs(folder)]
    if shows is not None:
        tops = tuple(f"{folder.rstrip('/')}/" for folder in shows)
        folders = [folder for folder in folders if f"{os.path.realpath(folder)}/".startswith(tops)]
    return ":".join(folders) or os.defpath


def check_variable_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return *names* without repetitions. Raise `ValueError` for one that cannot be the name of a variable."""
    listed = require_list(names, "keep", "variables")
    for name in listed:
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"keep: {name!r} cannot be the name of a variable")
    return tuple(dict.fromkeys(listed))


def build_script(names: Sequence[str]) -> str:
    """Return a script that runs its first argument, and at its end writes the folder and *names* to descriptor 3."""
    values = "".join(f'[ -n "${{{name}+x}}" ] && printf \'{name}=%s\\0\' "${name}"; ' for name in names)
    report = f"{{ printf 'cwd=%s\\0' \"$PWD\"; {values}:; }} >&3 2>/dev/null"
    # The script is one line, so that the line numbers in messages from bash are those of the command.
    return (
        f"__toolkit_end() {{ {report}; }}; trap __toolkit_end EXIT; "
        '__toolkit_command=$1; shift; eval "$__toolkit_command"\n'
    )


def parse_state(report: bytes, names: Sequence[str]) -> tuple[str, dict[str, str]] | None:
    """
    Return the working folder and the kept variables that `build_script` wrote, or None if it wrote none.

    Every process that the command started could write there too. So only the folder and the variables in *names* are
    taken, and the last value of each counts.
    """
    values: dict[str, str] = {}
    for item in report.split(b"\0")[:-1]:
        name, is_there, value = item.partition(b"=")
        if is_there and len(value) <= _MAX_VALUE_BYTES:
            values[name.decode(errors="replace")] = os.fsdecode(value)
    folder = values.get("cwd", "")
    if not os.path.isabs(folder):
        return None
    return folder, {name: values[name] for name in names if name in values}
