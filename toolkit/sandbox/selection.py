"""
The selection of the strongest sandbox that this machine has.

A level counts as present only after a command has run in it, because a program may be installed but not allowed. In
bubblewrap that command is a probe that tries to escape. If the probe escapes somewhere, bubblewrap is still chosen,
because it is stronger than the other levels. It then does not count as contained, and `describe()` says what the probe
reached. The trial does not search the workspace, so its duration does not depend on the size of the workspace.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import ToolError
from ..workspace import Workspace
from .base import LEVELS, LevelName, Limits, Sandbox, SandboxOptions
from .bubblewrap import bubblewrap
from .landlock import find_landlock_version, landlock
from .launcher.messages import LaunchRequest
from .probe import ProbeError, probe_sandbox, run_trial
from .system_paths import find_trusted_program
from .visible_files import VisibleFiles, visible_files_of

__all__ = ["best_sandbox", "sandboxes"]

_NOT_PREVENTED = (
    "it reads and writes everything that the user may, protected files included; as root, also the kernel's settings",
    "it reaches the network, and by unix sockets the services of this machine",
    "it can signal the user's other processes, the launcher too, and so leave a process behind",
)


def best_sandbox(
    workspace: Workspace,
    *,
    network: bool = False,
    probe: bool = True,
    level: LevelName | None = None,
    limits: Limits | None = None,
    readable: Sequence[str | os.PathLike[str]] = (),
    local_sockets: bool = False,
) -> Sandbox:
    """
    Return the strongest sandbox that this machine has for *workspace*.

    The level "none" is returned only if the caller asks for it with *level*.

    Args:
        workspace: The folders that commands may use.
        network: Whether commands may reach the network.
        probe: Whether to try the sandbox before it is trusted. Without a probe, no sandbox counts as contained.
        level: The only level to try.
        limits: How much a command may use.
        readable: Folders outside the workspace that commands may read, for example the folder where a language is
            installed.
        local_sockets: Whether commands in bubblewrap may open unix sockets. Some programs need them, such as
            `ssh-agent` and `multiprocessing.Manager`. A command can then also reach the services of this machine whose
            sockets it sees.

    Raises:
        ToolError: No level, or not the wanted *level*, can be used here. The message says why.
        ValueError: There is no such *level*.
    """
    if level is not None and level not in LEVELS:
        raise ValueError(f"there is no sandbox {level!r}; known are {', '.join(LEVELS)}")
    options = _build_options(network, limits, readable, local_sockets)
    reasons = []
    for name in LEVELS[:-1] if level is None else (level,):
        outcome = _try_level(name, workspace, options, probe=probe)
        if isinstance(outcome, Sandbox):
            return outcome
        reasons.append(f"{name}: {outcome}")
    raise ToolError(f"no sandbox can be used here ({'; '.join(reasons)})")


def sandboxes(
    workspace: Workspace,
    *,
    network: bool = False,
    probe: bool = True,
    limits: Limits | None = None,
    readable: Sequence[str | os.PathLike[str]] = (),
    local_sockets: bool = False,
) -> dict[LevelName, Sandbox | str]:
    """
    Return every level, the strongest first: a sandbox that is ready to use, or the reason why it is not available.

    `best_sandbox` describes the options.
    """
    options = _build_options(network, limits, readable, local_sockets)
    return {name: _try_level(name, workspace, options, probe=probe) for name in LEVELS}


def _build_options(
    network: bool, limits: Limits | None, readable: Sequence[str | os.PathLike[str]], local_sockets: bool
) -> SandboxOptions:
    folders = tuple(os.fspath(folder) for folder in readable)
    return SandboxOptions(
        network=network, limits=limits or Limits(), extra_folders=folders, local_sockets=local_sockets
    )


def _try_level(name: LevelName, workspace: Workspace, options: SandboxOptions, *, probe: bool) -> Sandbox | str:
    """Return the sandbox of the level after a trial, or the reason why it is not available."""
    if os.name != "posix":
        return "commands need a POSIX system"
    visible_files = visible_files_of(workspace)
    sandbox = _BUILDERS[name](visible_files, options)
    if isinstance(sandbox, str) or not probe or name == "none":
        return sandbox
    try:
        if name == "bubblewrap":
            return sandbox.with_findings(_describe_escapes(visible_files, options))
        trial = _BUILDERS[name](replace(visible_files, search_roots=()), options)
        if isinstance(trial, Sandbox):
            run_trial(trial, workspace.root)
    except ProbeError as error:
        return str(error)
    return sandbox


def _describe_escapes(visible_files: VisibleFiles, options: SandboxOptions) -> list[str]:
    """Return how a probe escapes from bubblewrap, in sentences."""
    escapes = probe_sandbox(lambda probe_files: _build_bubblewrap(probe_files, options), visible_files)
    reached = {name.replace("_", " "): ", ".join(places) for name, places in escapes.items() if places}
    return [f"a probe could {attempt}: {places}" for attempt, places in reached.items()]


def _build_bubblewrap(visible_files: VisibleFiles, options: SandboxOptions) -> Sandbox | str:
    if problem := _problem_of(visible_files):
        return problem
    path = find_trusted_program("bwrap", visible_files.writable) if sys.platform == "linux" else None
    if path is None:
        return "`bwrap` is not on PATH outside the workspace; install the package bubblewrap"
    return bubblewrap(visible_files, program=path, options=options)


def _build_landlock(visible_files: VisibleFiles, options: SandboxOptions) -> Sandbox | str:
    abi = find_landlock_version()
    if not abi:
        return "this kernel has no Landlock, or it is switched off"
    return _problem_of(visible_files) or landlock(visible_files, version=abi, options=options)


_BUILDERS: dict[LevelName, Callable[[VisibleFiles, SandboxOptions], Sandbox | str]] = {
    "bubblewrap": _build_bubblewrap,
    "landlock": _build_landlock,
    "limits": lambda visible_files, options: _build_unconfined(options.limits),
    "none": lambda visible_files, options: _build_unconfined(None),
}


def _problem_of(visible_files: VisibleFiles) -> str | None:
    """Return the reason why no sandbox can confine a command in *visible_files*, or None if one can."""
    for folder in visible_files.writable:
        if folder == "/":
            return "the workspace is the whole disk; choose a smaller root"
        if f"{folder}/".startswith(("/proc/", "/sys/", "/dev/")) and not f"{folder}/".startswith("/dev/shm/"):  # noqa: S108 -- it is compared
            return f"{folder} belongs to the kernel, and writing there changes the machine; choose another root"
    return None


def _build_unconfined(limits: Limits | None) -> Sandbox:
    """Return a sandbox in which a command may do everything that its user may, within *limits* if there are some."""

    def plan(argv: Sequence[str], cwd: str, private: str | None) -> LaunchRequest:
        request: LaunchRequest = {"argv": list(argv), "cwd": cwd}
        if limits is not None:
            request["limits"] = limits.resource_limits()
            request["max_processes"] = limits.counted_processes
        return request

    bounds = "CPU time, memory, file sizes and the number of processes are bounded"
    return Sandbox(
        name="none" if limits is None else "limits",
        network=True,
        does=(*([] if limits is None else [bounds]), "what it starts ends with it"),
        does_not=_NOT_PREVENTED,
        plan=plan,
    )
