"""The folders that tools may touch, which are opened and written without races (`space`)."""

from typing import TYPE_CHECKING

from .._lazy_names import later as _later

if TYPE_CHECKING:
    from .entries import Entry
    from .space import Workspace
    from .writing import Written

__all__ = ["Entry", "Workspace", "Written"]

__getattr__ = _later(__name__, {"Entry": "entries", "Workspace": "space", "Written": "writing"})
