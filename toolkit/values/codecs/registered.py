"""The codecs that programs have registered for their own types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["REGISTERED_BASES", "REGISTERED_FACTORIES", "find_registered_factory", "has_registered_codec"]

REGISTERED_FACTORIES: dict[type, Callable[..., Any]] = {}
"""The factories that `register_codec` added. They come before all rules."""

REGISTERED_BASES: dict[type, Callable[..., Any]] = {}
"""Those of `REGISTERED_FACTORIES` that are also for the subclasses of their class."""


def find_registered_factory(kind: Any) -> Callable[..., Any] | None:
    """Return the factory that was registered for the class *kind*, or for its nearest base that covers subclasses."""
    factory = REGISTERED_FACTORIES.get(kind)
    if factory is None and REGISTERED_BASES and isinstance(kind, type):
        factory = next((REGISTERED_BASES[base] for base in kind.__mro__ if base in REGISTERED_BASES), None)
    return factory


def has_registered_codec(kind: type) -> bool:
    """Return whether `register_codec` was called for *kind*, or for a base of it together with its subclasses."""
    return find_registered_factory(kind) is not None
