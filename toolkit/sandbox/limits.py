"""
How much of the machine one command may use.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    Bounds that the system holds a command to.

    Attributes:
        cpu_seconds: Of each process.
        file_bytes: The largest file that may be written.
        memory_bytes: What a process may write to, shared memory aside. Address space is not bounded: programs
            reserve far more of it than they use.
        processes: How many more there may be. Root is held to it by a control group, or by counting.
        open_files: Of each process.
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

    def as_wish(self) -> dict[str, object]:
        """The same, as the launcher is told."""
        limits = {
            "CPU": self.cpu_seconds,
            "FSIZE": self.file_bytes,
            "DATA": self.memory_bytes,
            "NPROC": self.processes,
            "NOFILE": self.open_files,
            "CORE": 0,
        }
        if os.geteuid() == 0:
            return {"limits": limits, "crowd": self.processes}
        return {"limits": limits}
