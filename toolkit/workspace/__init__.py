"""
The folders that tools may touch, opened and written without races (`space`).
"""

from typing import TYPE_CHECKING

from ..later import later as _later

if TYPE_CHECKING:
    from .entries import Entry
    from .line_endings import with_line_endings_of
    from .space import Workspace
    from .writing import Written

__all__ = ["Entry", "Workspace", "Written", "with_line_endings_of"]

__getattr__ = _later(
    __name__,
    {"Entry": "entries", "Workspace": "space", "Written": "writing", "with_line_endings_of": "line_endings"},
)
