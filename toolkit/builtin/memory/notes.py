"""A note, the store that keeps notes, the names that notes may have, and the texts that they should not hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...errors import BadArgs, Problem

__all__ = ["MemoryNote", "MemoryStore", "check_note_name", "is_note_name"]

_MAX_NAME_CHARS = 64
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
# Windows opens a device for these names, also with a suffix.
_DEVICE = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNote:
    """
    One thing that a model remembers.

    Attributes:
        name: Lower-case letters, digits, `-` and `_`; a store can use it as the name of a file.
        text: Markdown.
        changed_at: When the note was last written, in seconds since 1970; None if the store does not know.
    """

    name: str
    text: str
    changed_at: float | None = None


class MemoryStore(Protocol):
    """
    Where notes are kept.

    Every method gets the principal on whose behalf the model acts, and must use the notes of that principal only. None
    is a principal of its own. The methods may block; they are called in a thread, and several threads and processes may
    call them at once.
    """

    def notes(self, principal: str | None) -> Sequence[MemoryNote]:
        """Return all notes of *principal*."""

    def save(self, principal: str | None, note: MemoryNote) -> None:
        """
        Write *note*, in place of the note of the same name if there is one.

        Raises:
            ToolError: The note is too long, or there are too many. The model reads the message.
        """

    def delete(self, principal: str | None, name: str) -> bool:
        """Delete the note called *name*, and return whether there was one."""


def is_note_name(name: str) -> bool:
    """Return whether a note may be called *name*."""
    return _NAME.fullmatch(name) is not None and _DEVICE.fullmatch(name) is None


def check_note_name(name: str) -> str:
    """Return *name*, or raise `BadArgs`, which suggests another name, if no note may be called that."""
    if is_note_name(name):
        return name
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_MAX_NAME_CHARS].strip("-")
    hint = f", such as {plain!r}" if is_note_name(plain) else ""
    raise BadArgs(
        [
            Problem(
                f"{name[:80]!r} cannot be the name of a note; use 1 to 64 of a-z 0-9 - _, and a letter or digit "
                f"first{hint}",
                ["name"],
            )
        ]
    )
