"""The weak levels: limits on what a command uses, and no sandbox at all."""

from __future__ import annotations

from collections.abc import Sequence

from .base import Sandbox
from .launcher.messages import LaunchRequest
from .limits import Limits

__all__ = ["limits_only", "no_sandbox"]

_NOT_PREVENTED = (
    "it reads and writes everything that the user may, protected files included; as root, also the kernel's settings",
    "it reaches the network, and by unix sockets the services of this machine",
    "it can signal the user's other processes, the launcher too, and so leave a process behind",
)


def limits_only(*, limits: Limits | None = None) -> Sandbox:
    """Return a sandbox that limits what a command uses. The command may do everything that its user may do."""
    bounds = limits or Limits()

    def plan(argv: Sequence[str], cwd: str, private: str | None) -> LaunchRequest:
        return {
            "argv": list(argv),
            "cwd": cwd,
            "limits": bounds.resource_limits(),
            "max_processes": bounds.counted_processes,
        }

    return Sandbox(
        name="limits",
        network=True,
        does=("CPU time, memory, file sizes and the number of processes are bounded", "what it starts ends with it"),
        does_not=_NOT_PREVENTED,
        plan=plan,
    )


def no_sandbox() -> Sandbox:
    """Return a sandbox without limits. Only the caller's own limits on time and output apply."""

    def plan(argv: Sequence[str], cwd: str, private: str | None) -> LaunchRequest:
        return {"argv": list(argv), "cwd": cwd}

    return Sandbox(name="none", network=True, does=("what it starts ends with it",), does_not=_NOT_PREVENTED, plan=plan)
