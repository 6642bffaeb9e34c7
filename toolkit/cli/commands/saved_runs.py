"""
Keep an agent's run in a file, so that another command can continue it.

The file is only data, and approves nothing. The requests that the run waits for, and
the answers to them, are in a store beside the file. The safety checks keep tools away
from the store.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...agent import Run
from ...approvals import SQLiteApprovals
from ..atomic_files import write_atomically
from ..failures import Failure

__all__ = ["SavedRun"]


class SavedRun:
    """The run in the file at *path*."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def require_new(self) -> SavedRun:
        """
        Return this saved run, if its file does not exist yet.

        Raises:
            Failure: The file exists, or its folder does not.
        """
        if os.path.lexists(self.path):
            raise Failure(f"{self.path} exists already; continue it with --resume, or choose another file")
        if not self.path.parent.is_dir():
            raise Failure(f"{self.path.parent} is no folder; make it first, or choose another file")
        return self

    def read(self) -> Run:
        """Read the run as it was written last; raise `Failure` if the file cannot be read or holds no run."""
        try:
            return Run.loads(self.path.read_bytes())
        except OSError as error:
            raise Failure(f"{self.path} cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise Failure(f"{self.path} holds no run: {error}; name a file that --save has written") from error

    def write(self, run: Run) -> None:
        """Write *run* to the file, and replace the run that was there."""
        try:
            write_atomically(self.path, run.dumps())
        except OSError as error:
            raise Failure(f"{self.path} cannot be written: {error.strerror or error}") from error

    def store(self) -> SQLiteApprovals:
        """Return the store of the run's requests and their answers."""
        # The safety checks protect files with this ending.
        return SQLiteApprovals(self.path.with_name(f"{self.path.name}.approvals.sqlite"))
