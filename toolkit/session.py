"""
What belongs to one conversation.

State that outlives a call but not a conversation lives here and is passed
with the call; neither the catalog nor the dispatcher remembers it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from .requests import Grant

__all__ = ["Session"]


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

    @property
    def mode(self) -> str | None:
        """The permission mode of this conversation, if it has one of its own; `Permissions.set_mode` sets it."""
        return self._mode

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What a person has agreed to for the rest of it; `Permissions.grant` and `revoke` change that."""
        return self._grants
