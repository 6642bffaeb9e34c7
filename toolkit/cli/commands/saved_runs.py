"""
Keep an agent's run in a file, so that another command can continue it.
"""

from __future__ import annotations

from typing import TypeAlias

from ...agent import Run
from .saved_files import SavedFile, SavedKind

__all__ = ["RUN", "SavedRun"]

RUN: SavedKind[Run] = SavedKind("run", Run.loads, Run.dumps)
SavedRun: TypeAlias = SavedFile[Run]
