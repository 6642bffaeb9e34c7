"""What the caller wants of a sandbox, and how much of the machine one command may use."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields

__all__ = ["Limits", "SandboxOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    The limits that the system enforces on a command.

    Attributes:
        cpu_seconds: The most CPU time of each process.
        file_bytes: The largest file that a process may write.
        memory_bytes: The most memory that a process may write to, without shared memory. Address space is not limited,
            because programs reserve far more of it than they use.
        processes: The most processes that the command may have, in addition to those that the user already has. For
            root, a control group or a count of the processes enforces this limit.
        open_files: The most open files of each process.
    """

    cpu_seconds: int = 3600
    file_bytes: int = 4 << 30
    memory_bytes: int = 8 << 30
    processes: int = 1000
    open_files: int = 4096

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"Limits: `{limit.name}` has to be a whole number above 0, got {value!r}")

    @property
    def counted_processes(self) -> int | None:
        """The most processes that the launcher has to count; None if the system enforces the limit by itself."""
        return self.processes if os.geteuid() == 0 else None

    def resource_limits(self) -> dict[str, int]:
        """Return the limits that the system enforces, by their names without `RLIMIT_`."""
        return {
            "CPU": self.cpu_seconds,
            "FSIZE": self.file_bytes,
            "DATA": self.memory_bytes,
            "NPROC": self.processes,
            "NOFILE": self.open_files,
            "CORE": 0,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """
    The wishes of the caller, which are the same for every level.

    Attributes:
        network: Whether a command may reach the network.
        limits: How much a command may use.
        extra_folders: Folders that a command can read, besides the workspace and the system's folders.
        read_only: Whether a command in bubblewrap can write nothing in the workspace.
        local_sockets: Whether a command in bubblewrap can open unix sockets: its own, and those of other programs in
            the workspace.
        machine: The machine whose system calls are filtered, by default this one.
    """

    network: bool = False
    limits: Limits = field(default_factory=Limits)
    extra_folders: tuple[str, ...] = ()
    read_only: bool = False
    local_sockets: bool = False
    machine: str | None = None
