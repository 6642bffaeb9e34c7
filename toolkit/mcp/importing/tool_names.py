"""
The names that the tools of servers get: prefixed by server, made legal, and never one that another tool holds.

A name that a tool has had stays with that tool and its server for as long as the program runs. So no other server can
take it later, when people and models know what it stands for.
"""

from __future__ import annotations

import hashlib
import re

from ...catalogs.foreign_names import fold_name, reason_against

__all__ = ["NameBook", "make_legal_name"]

_MAX_CHARS = 64
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_HASH_CHARS = 6


def make_legal_name(name: str, prefix: str = "") -> str:
    """
    Return *name*, a text of printable ASCII, as a legal name with *prefix*.

    Characters that a name cannot have become `_`. A name that is too long is cut, and ends with a digest of the whole.
    """
    legal = prefix + _ILLEGAL.sub("_", name)
    if not re.match(r"[A-Za-z_]", legal):
        legal = f"_{legal}"
    if len(legal) <= _MAX_CHARS:
        return legal
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_CHARS]
    return f"{legal[: _MAX_CHARS - _HASH_CHARS - 1]}_{digest}"


class NameBook:
    """Which tool of which server holds a name. Names are compared without case and separators."""

    def __init__(self) -> None:
        self._holders: dict[str, tuple[str, str]] = {}

    def claim(self, server: str, tool: str, *, prefix: str | None = None) -> tuple[str, str | None]:
        """
        Return the name for *tool* of *server*, and why it cannot have that name; None if it can.

        The name begins with *prefix*; by default with the name of the server.
        """
        if not tool.isascii() or not tool.isprintable() or not tool.strip():
            return repr(tool)[:100], "its name has characters that can be mistaken for others; use printable ASCII"
        name = make_legal_name(tool, f"{server}_" if prefix is None else prefix)
        reason = reason_against(name)
        if reason is None:
            holder = self._holders.setdefault(fold_name(name), (server, tool))
            if holder != (server, tool):
                reason = (
                    f"`{name}`, or a name that looks like it, belongs to `{holder[1][:80]}` of the server {holder[0]}"
                )
        return name, reason
