"""
The `Session`, which holds the state of one conversation.

State that outlives a call but not the conversation belongs here. The caller passes the session with the call; neither
the catalog nor the dispatcher stores it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

from ._option_checks import OptionTypes, check_option_types, describe_type
from ._plumbing.forks import unlock_in_children
from ._plumbing.records import record

if TYPE_CHECKING:  # not loaded here, because most conversations need no grant
    from .decisions import Grant

__all__ = ["Session", "check_session"]

_VERSION = 1
_OPTION_TYPES: OptionTypes = {
    "id": ((str,), "a text"),
    "principal": ((str, type(None)), "a text, or None"),
    "state": ((dict,), "a dictionary"),
    "unload_after": ((int, type(None)), "a whole number of turns, or None"),
}
_load_lock = unlock_in_children(threading.Lock())


@record(slots=True, kw_only=True, eq=False)
class Session:
    """
    One conversation with one model.

    Attributes:
        id: The key for caches, limits and records. It is random unless given.
        principal: On whose behalf the conversation acts.
        state: Data that tools and hooks store for the length of the conversation.
        unload_after: The number of turns without a call after which a loaded tool leaves the definitions. A tool leaves
            only from the end, so that the definitions before it stay the same. None keeps all loaded tools.
        last_prompt: What the user asked for last, if an agent has the conversation. `tool_search` counts its words too.
    """

    id: str = field(default_factory=lambda: os.urandom(8).hex())
    principal: str | None = None
    state: dict[str, Any] = field(default_factory=dict)
    unload_after: int | None = None
    last_prompt: str | None = field(default=None, init=False, repr=False)
    _mode: str | None = field(default=None, init=False, repr=False)
    _grants: tuple[Grant, ...] = field(default=(), init=False, repr=False)
    _loaded: tuple[str, ...] = field(default=(), init=False, repr=False)
    _idle_turns: dict[str, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        # A request for approval is stored with the id and the principal, and could not be read back with other types.
        is_usual = self.principal is None and self.unload_after is None
        if is_usual and self.id.__class__ is str and self.state.__class__ is dict and self.id:
            return  # the checks below take longer than making the session
        check_option_types({option: getattr(self, option) for option in _OPTION_TYPES}, _OPTION_TYPES)
        if not self.id:
            raise ValueError("the id of a session cannot be empty; leave it out, and it is random")
        if self.unload_after is not None and self.unload_after < 1:
            raise ValueError(f"unload_after has to be at least 1 turn, or None; got {self.unload_after}")

    @property
    def mode(self) -> str | None:
        """The permission mode of this conversation, if it has one of its own; `Permissions.set_mode` sets it."""
        return self._mode

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What a person has agreed to for the rest of the conversation. `Permissions.grant` and `revoke` change it."""
        return self._grants

    @property
    def loaded(self) -> tuple[str, ...]:
        """The deferred tools found so far, in the order in which they were found. Definitions list them at the end."""
        return self._loaded

    def load(self, *names: str) -> None:
        """Include the deferred tools *names* in the definitions from now on."""
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise TypeError(f"load wants the names of tools, got {type(wrong[0]).__name__}")
        with _load_lock:
            self._loaded = tuple(dict.fromkeys((*self._loaded, *names)))

    def end_turn(self, *called: str) -> None:
        """
        Count a turn of the model in which it called the tools *called*, and unload as `unload_after` says.

        The agent does this after each reply.
        """
        if self.unload_after is None:
            return
        with _load_lock:
            turns = {name: 0 if name in called else self._idle_turns.get(name, 0) + 1 for name in self._loaded}
            kept = list(self._loaded)
            while kept and turns[kept[-1]] >= self.unload_after:
                del turns[kept.pop()]
            self._loaded, self._idle_turns = tuple(kept), turns

    @property
    def unloading(self) -> dict[str, Any]:
        """`unload_after`, and for how many turns each tool was not called, as JSON; empty if no tool is unloaded."""
        if self.unload_after is None:
            return {}
        return {"unload_after": self.unload_after, "idle_turns": dict(self._idle_turns)}

    def restore_unloading(self, data: Mapping[str, Any]) -> None:
        """Continue to count as in *data*, which `unloading` returned, or raise `ValueError`."""
        after, turns = data.get("unload_after"), data.get("idle_turns", {})
        if after is not None and (type(after) is not int or after < 1):
            raise ValueError(f"a saved session has a number of turns in `unload_after`, got {after!r:.80}")
        if not isinstance(turns, Mapping) or not all(type(number) is int for number in turns.values()):
            raise ValueError("a saved session has numbers of turns by name in `idle_turns`")
        self.unload_after, self._idle_turns = after, dict(turns)

    def to_json(self) -> dict[str, Any]:
        """
        Return the fields that may be stored as plain data: the id, the loaded tools and when they are unloaded.

        Mode, grants and principal are left out because they are authority. `state` is left out because tools and hooks
        may put any object in it.
        """
        return {"version": _VERSION, "id": self.id, "loaded": list(self._loaded), **self.unloading}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, principal: str | None = None) -> Self:
        """
        Return the conversation that *data* describes, acting on behalf of *principal*.

        Raises:
            ValueError: *data* is not a saved session.
        """
        if not isinstance(data, Mapping) or data.get("version") != _VERSION:
            version = data.get("version") if isinstance(data, Mapping) else type(data).__name__
            raise ValueError(f"a saved session has version {_VERSION}, got {version!r}")
        key, loaded = data.get("id"), data.get("loaded")
        if not isinstance(key, str) or not key:
            raise ValueError("a saved session has an `id`, a text that is not empty")
        if not isinstance(loaded, list) or not all(isinstance(name, str) for name in loaded):
            raise ValueError("a saved session has a list of names in `loaded`")
        session = cls(id=key, principal=principal)
        session.load(*loaded)
        session.restore_unloading(data)
        return session


def check_session(session: object) -> None:
    """Raise `TypeError` unless *session*, which was given with a call, is a `Session` or None."""
    if session is not None and not isinstance(session, Session):
        example = f"id={session[:40]!r}" if isinstance(session, str) else ""
        raise TypeError(
            f"session cannot be {describe_type(session)}; write session=Session({example}), and give the same object "
            f"with every call of the conversation"
        )
