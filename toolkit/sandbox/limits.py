"""The limits on how much of the machine one command may use."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

__all__ = ["Limits"]


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
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"Limits: `{field.name}` has to be a whole number above 0, got {value!r}")

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
