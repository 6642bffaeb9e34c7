"""
Sandboxes: what a command is started in, so that it cannot do all that its user can.

`best_sandbox(workspace)` is the strongest that this machine has; `describe()` says what it does and does not do.
"""

from __future__ import annotations

from .base import LEVELS, LevelName, Sandbox
from .limits import Limits
from .selection import best_sandbox, sandboxes

__all__ = ["LEVELS", "LevelName", "Limits", "Sandbox", "best_sandbox", "sandboxes"]
