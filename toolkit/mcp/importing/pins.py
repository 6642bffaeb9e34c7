"""
The definitions of foreign tools that have been used, so that a change is noticed.

A person who agrees to a call relies on the definition of the tool. So the definition is kept when the tool is first
used. If its server changes it later, the next call asks again, whatever rules and grants say, and shows the difference.
"""

from __future__ import annotations

import difflib
import os
import threading

from ..._plumbing.forks import unlock_in_children
from .private_json import PrivateFileError, PrivateJson
from .remote_tools import RemoteTool

__all__ = ["Pins"]

_MAX_DIFF_LINES = 200


class Pins:
    """
    The definitions that have been used, by server and tool.

    Args:
        path: The file that keeps them from one run of the program to the next. It belongs to the user alone. Without
            it they are kept in memory.

    Raises:
        PrivateFileError: The file cannot be read, or others can write it.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._file = None if path is None else PrivateJson(path, "a file of pins", "pins")
        self._lock = unlock_in_children(threading.Lock())
        self._pins: dict[str, dict[str, str]] = {} if self._file is None else _read_pins(self._file)

    def has_changed(self, identity: str, tool: RemoteTool) -> bool:
        """Return whether *tool* of the server with this *identity* differs from the definition that was used."""
        pin = self._pins.get(_key(identity, tool))
        return pin is not None and pin["digest"] != tool.digest

    def describe_change(self, identity: str, tool: RemoteTool) -> str:
        """Return the difference between the definition that was used and the present one; empty if there is none."""
        if not self.has_changed(identity, tool):
            return ""
        before = self._pins[_key(identity, tool)]["definition"].splitlines()
        after = tool.describe_definition().splitlines()
        lines = list(difflib.unified_diff(before, after, "as it was used before", "as it is now", n=2, lineterm=""))
        if len(lines) > _MAX_DIFF_LINES:
            lines = [*lines[:_MAX_DIFF_LINES], f"... and {len(lines) - _MAX_DIFF_LINES} more lines"]
        # Two definitions may differ in characters that are removed before a person reads them.
        return "\n".join(lines) or "it differs in hidden characters of its texts"

    def keep(self, identity: str, tool: RemoteTool) -> None:
        """Keep the definition of *tool*, which is about to be used."""
        key = _key(identity, tool)
        with self._lock:
            if self._pins.get(key, {}).get("digest") == tool.digest:
                return
            pin = {"digest": tool.digest, "definition": tool.describe_definition()}
            self._pins = {**self._pins, key: pin}
            if self._file is not None:
                self._file.change(lambda pins: pins.update({key: pin}))


def _key(identity: str, tool: RemoteTool) -> str:
    return f"{identity} {tool.name}"


def _read_pins(file: PrivateJson) -> dict[str, dict[str, str]]:
    pins = file.read()
    try:
        return {key: {"digest": str(pin["digest"]), "definition": str(pin["definition"])} for key, pin in pins.items()}
    except (TypeError, KeyError) as error:
        raise PrivateFileError(
            f"{file.path} cannot be read as a file of pins: a pin has another form ({error!r}); remove it to start anew"
        ) from None
