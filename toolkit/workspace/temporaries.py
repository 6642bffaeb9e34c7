"""
Temporary files for writes, and the removal of those that a killed process left behind.

Their names differ from all other names. No listing shows them, and no tool may write one.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import suppress

__all__ = ["TEMPORARY_NAME", "make_temporary_name", "remove_stale_temporaries"]

TEMPORARY_NAME = re.compile(r"\.toolkit-[0-9a-f]{16}\.tmp")


def make_temporary_name() -> str:
    """Return a name that no other file has and that cannot be guessed."""
    return f".toolkit-{secrets.token_hex(8)}.tmp"


def remove_stale_temporaries(folder: int, before: float) -> list[str]:
    """Remove the temporary files of an open folder that were not written to since *before*. Return their names."""
    with os.scandir(folder) as names:
        temporary_names = sorted(entry.name for entry in names if TEMPORARY_NAME.fullmatch(entry.name))
    removed = []
    for name in temporary_names:
        with suppress(OSError):  # another process removed it, or it may not be removed
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_mtime <= before:
                os.unlink(name, dir_fd=folder)
                removed.append(name)
    return removed
