"""The folders that tools may touch, which are opened and written without races (`space`)."""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:
    from .entries import Entry
    from .space import Workspace
    from .writing import WriteResult

__all__ = ["Entry", "Workspace", "WriteResult"]

__getattr__ = _lazy_getattr(__name__, {"Entry": "entries", "Workspace": "space", "WriteResult": "writing"})
