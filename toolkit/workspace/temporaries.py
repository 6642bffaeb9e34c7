"""
Files that are being written, and what a killed process left of them.

Their names are told from all others. No listing shows them, and no tool may write one.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress

__all__ = ["TEMPORARY", "swept", "temporary_name"]

TEMPORARY = re.compile(r"\.toolkit-[0-9a-f]{16}\.tmp")


def temporary_name() -> str:
    """A name that nobody has, nor can guess."""
    return f".toolkit-{secrets.token_hex(8)}.tmp"


def swept(folder: int, before: float) -> list[str]:
    """Remove the temporary files of an open folder that nobody wrote to since *before*; gives their names."""
    with os.scandir(folder) as names:
        found = sorted(each.name for each in names if TEMPORARY.fullmatch(each.name))
    gone = []
    for name in found:
        with suppress(OSError):  # somebody else removed it, or it may not be removed
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_mtime <= before:
                os.unlink(name, dir_fd=folder)
                gone.append(name)
    return gone
