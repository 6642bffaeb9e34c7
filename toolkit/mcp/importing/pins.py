"""
The definitions of foreign tools that have been used, so that a change is noticed.

A person who agrees to a call relies on the definition of the tool. So the definition is kept when the tool is first
used. If its server changes it later, the next call asks again, whatever rules and grants say, and shows the difference.
"""

from __future__ import annotations

import difflib
import json
import os
import threading
from pathlib import Path
from typing import Any

from ..._plumbing.versioned_json import split_version
from ...approvals.private_files import UnsafeFileError, check_private, make_private
from ...errors import ToolkitError
from .remote_tools import RemoteTool

__all__ = ["PinError", "Pins"]

_VERSION = 1
_MAX_DIFF_LINES = 200


class PinError(ToolkitError):
    """Raised if the file of the pins cannot be read or written."""


class Pins:
    """
    The definitions that have been used, by server and tool.

    Args:
        path: The file that keeps them from one run of the program to the next. It belongs to the user alone. Without
            it they are kept in memory.

    Raises:
        PinError: The file cannot be read, or others can write it.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path).expanduser().absolute()
        self._lock = threading.Lock()
        self._pins: dict[str, dict[str, str]] = {} if self._path is None else _read_file(self._path)

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
            self._pins = {**self._pins, key: {"digest": tool.digest, "definition": tool.describe_definition()}}
            if self._path is not None:
                _write_file(self._path, self._pins)


def _key(identity: str, tool: RemoteTool) -> str:
    return f"{identity} {tool.name}"


def _read_file(path: Path) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    try:
        check_private(str(path))
        _, data = split_version(json.loads(path.read_text(encoding="utf-8")), "a file of pins", (_VERSION,))
        pins: Any = data["pins"]
        return {
            str(key): {"digest": str(pin["digest"]), "definition": str(pin["definition"])} for key, pin in pins.items()
        }
    except UnsafeFileError as error:
        raise PinError(f"{path} {error}") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise PinError(
            f"{path} cannot be read as a file of pins: {error}; restore it, or remove it to start anew"
        ) from None


def _write_file(path: Path, pins: dict[str, dict[str, str]]) -> None:
    temporary = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        make_private(str(temporary))
        temporary.write_text(json.dumps({"version": _VERSION, "pins": pins}, indent=1), encoding="utf-8")
        temporary.replace(path)
    except (OSError, UnsafeFileError) as error:
        raise PinError(f"{path} cannot be written: {error}; give Pins another path") from None
