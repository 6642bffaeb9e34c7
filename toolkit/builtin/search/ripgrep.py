"""
Use ripgrep to quickly find files that certainly do not match.

ripgrep gets the names of files, none of them protected, and says which of them do *not* match. The Python code searches
all other files itself. So no byte that ripgrep read is ever shown. A file that ripgrep could not read or did not reach
is not lost, and the answer is the same without ripgrep. ripgrep runs with a minimal environment in a sandbox that shows
only the workspace, read-only and without its secrets. It runs without a sandbox only if the caller demands ripgrep and
`bwrap` is not installed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache

from ...errors import ToolError
from ...processes.child import ChildSpec, NotStarted, run_child
from ...sandbox.base import Sandbox, SandboxOptions
from ...sandbox.bubblewrap import bubblewrap
from ...sandbox.system_paths import find_trusted_program
from ...sandbox.visible_files import visible_files_of
from ...workspace import Entry, Workspace
from ..time_limit import TimeLimit
from .grep_syntax import Query

__all__ = ["Ripgrep", "is_worth_it", "ripgrep_for"]

# With less to search, the files are searched before a sandbox has started.
_MIN_FILES = 10_000
_MIN_BYTES = 50_000_000

_OPTIONS = (
    "--no-config",
    "--files-without-match",
    "--null",
    "--text",  # we decide ourselves which files are binary
    "--no-mmap",  # a file that shrinks during the search would crash ripgrep
    "--no-messages",
    "--color=never",
)
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_MAX_PATTERN_CHARACTERS = 60_000
_GRACE_SECONDS = 1.0
# The exit codes with which xargs says that it ran ripgrep, and how that went.
_RAN_CODES = (0, 123)
_NOT_STARTED = (-1, b"")


def is_worth_it(entries: Sequence[Entry]) -> bool:
    """Return whether there is so much to search that ripgrep would be faster."""
    return len(entries) >= _MIN_FILES or sum(entry.size for entry in entries) >= _MIN_BYTES


def ripgrep_for(workspace: Workspace, use_ripgrep: bool | None, *, path: str | None = None) -> Ripgrep | None:
    """
    Return the `Ripgrep` that helps with the search, or None if Python searches alone.

    Args:
        use_ripgrep: True to use it, even without a sandbox, or raise `ValueError` if it is not installed. None to use
            it if it and `bwrap` are installed. False not to use it.
        path: Where programs are looked up; the default is `PATH`.
    """
    if use_ripgrep is False:
        return None
    programs = {name: find_trusted_program(name, workspace.folders, path) for name in ("rg", "xargs", "bwrap")}
    rg, xargs, bwrap = programs.values()
    if rg and xargs and (bwrap or use_ripgrep):
        return Ripgrep(workspace, rg=rg, xargs=xargs, bwrap=bwrap)
    if use_ripgrep:
        missing = " and ".join(f"`{name}`" for name in ("rg", "xargs") if not programs[name])
        raise ValueError(
            f"ripgrep=True, but {missing} is not on PATH outside the workspace; install it, or leave it out"
        )
    return None


class Ripgrep:
    """
    ripgrep, bound to a workspace. Without *bwrap* there is no sandbox.

    If ripgrep failed without an answer, `is_broken` is set and it is not used again. *xargs* passes as many names at a
    time to it as the system accepts.
    """

    def __init__(self, workspace: Workspace, *, rg: str, xargs: str, bwrap: str | None) -> None:
        self._workspace = workspace
        self._is_kept = lru_cache(maxsize=200_000)(workspace.is_kept)
        self._rg = rg
        self._xargs = xargs
        self._sandbox: Sandbox | None = None
        if bwrap is not None:
            options = SandboxOptions(read_only=True)
            self._sandbox = bubblewrap(visible_files_of(workspace), program=bwrap, options=options)
        self.is_broken = False

    def find_files_without_match(self, query: Query, entries: Sequence[Entry], time_limit: TimeLimit) -> set[str]:
        """Return the paths of those *entries* that certainly have no line that matches."""
        if self.is_broken or len(query.ripgrep_pattern) > _MAX_PATTERN_CHARACTERS:
            return set()
        names = {
            os.fsencode(entry.path if entry.path.startswith("/") else f"./{entry.path}"): entry.path
            for entry in entries
            if not self._is_kept(os.path.join(self._workspace.root, entry.path), "read")
        }
        argv = [self._xargs, "-0", "-r", "-s", "400000", self._rg, *_OPTIONS, "-e", query.ripgrep_pattern, "--"]
        code, output = self._run(argv, b"\0".join([*names, b""]), time_limit)
        paths = {names[name] for name in output.split(b"\0") if name in names}
        # A failure loses no match, because all files that were not cleared are searched. But ripgrep is not used again.
        self.is_broken = code not in _RAN_CODES and not paths
        return paths

    def _run(self, argv: list[str], names: bytes, time_limit: TimeLimit) -> tuple[int | None, bytes]:
        env = dict(_ENVIRONMENT)
        if self._sandbox is not None:
            try:
                argv, env = self._sandbox.command(argv, cwd=self._workspace.root, env=env, grace_seconds=0.1)
            except ToolError:
                return _NOT_STARTED  # there is more to hide than the sandbox can hide
        output = bytearray()

        def receive(name: str, data: bytes) -> None:
            time_limit.check()
            if name == "stdout":
                output.extend(data)

        spec = ChildSpec(
            argv=argv,
            env=env,
            cwd=self._workspace.root,
            on_data=receive,
            stdin=names,
            timeout_seconds=None,
            grace_seconds=_GRACE_SECONDS,
        )
        try:
            return run_child(spec).code, bytes(output)
        except NotStarted:
            return _NOT_STARTED
