"""
Which sandboxes this machine has, and which is the strongest.

A level counts as present only after a command has run in it: a program may be installed and still not be allowed.
The trial shuts no files away, so it takes as long in a large workspace as in a small one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import ToolError
from ..workspace import Workspace
from .base import LEVELS, LevelName, Sandbox
from .bubblewrap import bubblewrap
from .grounds import Grounds, grounds_of
from .landlock import landlock, version
from .limits import Limits
from .plain import limits_only, nothing
from .programs import program

__all__ = ["best_sandbox", "sandboxes"]


def best_sandbox(
    workspace: Workspace,
    *,
    network: bool = False,
    probe: bool = True,
    level: LevelName | None = None,
    limits: Limits | None = None,
    readable: Sequence[str | os.PathLike[str]] = (),
) -> Sandbox:
    """
    The strongest sandbox that this machine has for *workspace*; never "none", unless that is the *level* asked for.

    Args:
        network: Whether commands may reach the network.
        probe: Whether to try it before trusting it.
        level: This one or none; `ToolError` with the reason if it is not there.
        limits: How much a command may use.
        readable: Folders outside the workspace that commands may read: where a language is installed, say.
    """
    if level is not None and level not in LEVELS:
        raise ValueError(f"there is no sandbox {level!r}; known are {', '.join(LEVELS)}")
    wanted = LEVELS[:-1] if level is None else (level,)
    reasons = []
    for name in wanted:
        found = _tried(name, workspace, network=network, probe=probe, limits=limits, readable=readable)
        if isinstance(found, Sandbox):
            return found
        reasons.append(f"{name}: {found}")
    raise ToolError(f"no sandbox can be used here ({'; '.join(reasons)})")


def sandboxes(
    workspace: Workspace,
    *,
    network: bool = False,
    probe: bool = True,
    limits: Limits | None = None,
    readable: Sequence[str | os.PathLike[str]] = (),
) -> dict[LevelName, Sandbox | str]:
    """Every level, the strongest first: ready to use, or the reason why it is not there."""
    return {
        name: _tried(name, workspace, network=network, probe=probe, limits=limits, readable=readable) for name in LEVELS
    }


def _tried(
    name: LevelName,
    workspace: Workspace,
    *,
    network: bool,
    probe: bool,
    limits: Limits | None,
    readable: Sequence[str | os.PathLike[str]],
) -> Sandbox | str:
    if os.name != "posix":
        return "commands need a POSIX system"
    grounds = grounds_of(workspace)
    options = (network, limits or Limits(), [os.fspath(each) for each in readable])
    found = _MAKERS[name](grounds, *options)
    if isinstance(found, str) or not probe or name == "none":
        return found
    trial = _MAKERS[name](replace(grounds, is_searched=False), *options)
    return trial if isinstance(trial, str) else _problem(trial, workspace.root) or found


def _bubblewrap(grounds: Grounds, network: bool, limits: Limits, further: list[str]) -> Sandbox | str:
    if "/" in grounds.writable:
        return "the workspace is the whole disk; choose a smaller root"
    found = program("bwrap", grounds.writable) if sys.platform == "linux" else None
    if found is None:
        return "`bwrap` is not on PATH outside the workspace; install the package bubblewrap"
    return bubblewrap(grounds, program=found, network=network, limits=limits, further=further)


def _landlock(grounds: Grounds, network: bool, limits: Limits, further: list[str]) -> Sandbox | str:
    found = version()
    if not found:
        return "this kernel has no Landlock, or it is switched off"
    if "/" in grounds.writable:
        return "the workspace is the whole disk; choose a smaller root"
    return landlock(grounds, version=found, network=network, limits=limits, further=further)


_MAKERS: dict[LevelName, Callable[[Grounds, bool, Limits, list[str]], Sandbox | str]] = {
    "bubblewrap": _bubblewrap,
    "landlock": _landlock,
    "limits": lambda grounds, network, limits, further: limits_only(limits=limits),
    "none": lambda grounds, network, limits, further: nothing(),
}


def _problem(sandbox: Sandbox, root: str) -> str | None:
    """Why nothing runs in *sandbox*; None if something does."""
    try:
        argv, env = sandbox.command(["/bin/sh", "-c", "echo $((6 * 7))"], cwd=root, env={"PATH": os.defpath})
        done = subprocess.run(  # noqa: S603 -- the argument list is ours
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, ToolError) as error:
        return f"a trial run failed: {error}"
    if done.stdout.strip() == b"42":
        return None
    said = done.stderr.decode(errors="replace").strip()[:300]
    return f"a trial run failed with exit code {done.returncode}: {said or 'it said nothing'}"
