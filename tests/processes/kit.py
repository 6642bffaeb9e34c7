"""What became of a process."""

from __future__ import annotations

import os

__all__ = ["is_reaped"]


def is_reaped(pid: int) -> bool:
    """Return whether a child of this process is gone for good, and left no zombie."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False
