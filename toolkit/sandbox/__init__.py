"""
Sandboxes, in which a command cannot do everything that its user can.

`best_sandbox(workspace)` returns the strongest sandbox that this machine has. Its `describe()` says what it does and
does not do.
"""

from __future__ import annotations

from .base import LEVELS, LevelName, Limits, Sandbox
from .selection import best_sandbox, sandboxes

__all__ = ["LEVELS", "LevelName", "Limits", "Sandbox", "best_sandbox", "sandboxes"]
