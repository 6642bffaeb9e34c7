"""Safety checks (`checks`) on the paths, protected files, commands and hosts that a call is about to touch."""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:
    from .checks import Check, SafetyChecks

__all__ = ["Check", "SafetyChecks"]

__getattr__ = _lazy_getattr(__name__, dict.fromkeys(__all__, "checks"))
