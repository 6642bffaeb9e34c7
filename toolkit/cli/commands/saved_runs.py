"""
An agent's run in a file, so that another command can go on with it.

The file is data and no authority: what the run waits for, and who has answered,
is in a store beside it, which tools are kept away from.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...agent import Run
from ...approvals import SQLiteApprovals
from ..atomic_files import write_whole
from ..failures import Failure

__all__ = ["SavedRun"]


class SavedRun:
    """The run in the file at *path*."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def new(self) -> SavedRun:
        """Itself, if nothing is there yet."""
        if os.path.lexists(self.path):
            raise Failure(f"{self.path} is there already; go on with it with --resume, or choose another file")
        if not self.path.parent.is_dir():
            raise Failure(f"{self.path.parent} is no folder; make it first, or choose another file")
        return self

    def read(self) -> Run:
        """The run as it was written last."""
        try:
            return Run.loads(self.path.read_bytes())
        except OSError as error:
            raise Failure(f"{self.path} cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            raise Failure(f"{self.path} holds no run: {error}; name a file that --save has written") from error

    def write(self, run: Run) -> None:
        """Keep *run* in place of what was there."""
        try:
            write_whole(self.path, run.dumps())
        except OSError as error:
            raise Failure(f"{self.path} cannot be written: {error.strerror or error}") from error

    def store(self) -> SQLiteApprovals:
        """Where the requests of the run are, and their answers."""
        # Safety checks know files by this ending.
        return SQLiteApprovals(self.path.with_name(f"{self.path.name}.approvals.sqlite"))
