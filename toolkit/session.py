"""
What belongs to one conversation.

State that outlives a call but not a conversation lives here and is passed
with the call; neither the catalog nor the dispatcher remembers it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from ._forks import unlock_in_children
from .decisions import Grant

__all__ = ["Session"]

_VERSION = 1
_loading = unlock_in_children(threading.Lock())


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """
    One conversation with one model.

    Attributes:
        id: Random unless given; what caches, limits and records go by.
        principal: On whose behalf the conversation acts.
        state: Whatever tools and hooks keep for the length of it.
    """

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    principal: str | None = None
    state: dict[str, Any] = field(default_factory=dict)
    _mode: str | None = field(default=None, init=False, repr=False)
    _grants: tuple[Grant, ...] = field(default=(), init=False, repr=False)
    _loaded: tuple[str, ...] = field(default=(), init=False, repr=False)

    @property
    def mode(self) -> str | None:
        """The permission mode of this conversation, if it has one of its own; `Permissions.set_mode` sets it."""
        return self._mode

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What a person has agreed to for the rest of it; `Permissions.grant` and `revoke` change that."""
        return self._grants

    @property
    def loaded(self) -> tuple[str, ...]:
        """The deferred tools that were found so far, in the order they were found: definitions append them."""
        return self._loaded

    def load(self, *names: str) -> None:
        """Have the deferred tools *names* among the definitions from now on."""
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise TypeError(f"load wants the names of tools, got {type(wrong[0]).__name__}")
        with _loading:
            self._loaded = tuple(dict.fromkeys((*self._loaded, *names)))

    def to_json(self) -> dict[str, Any]:
        """
        What of it may be kept as plain data: the id and the loaded tools.

        Mode, grants and principal are authority, and `state` is anybody's: they are not in it.
        """
        return {"version": _VERSION, "id": self.id, "loaded": list(self._loaded)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, principal: str | None = None) -> Self:
        """The conversation that *data* was written of, now on behalf of *principal*; `ValueError` if it is none."""
        if not isinstance(data, Mapping) or data.get("version") != _VERSION:
            found = data.get("version") if isinstance(data, Mapping) else type(data).__name__
            raise ValueError(f"a saved session has version {_VERSION}, got {found!r}")
        key, loaded = data.get("id"), data.get("loaded")
        if not isinstance(key, str) or not key:
            raise ValueError("a saved session has an `id`, a text that is not empty")
        if not isinstance(loaded, list) or not all(isinstance(name, str) for name in loaded):
            raise ValueError("a saved session has a list of names in `loaded`")
        session = cls(id=key, principal=principal)
        session.load(*loaded)
        return session
