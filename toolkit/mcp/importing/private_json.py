"""A JSON file that belongs to the user alone, and that several processes may change."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..._plumbing.versioned_json import remove_version
from ...errors import ToolkitError
from ...storage.private_files import UnsafeFileError, check_folder, check_private
from ...storage.shared_files import hold_lock, write_atomically

__all__ = ["PrivateFileError", "PrivateJson"]

_VERSION = 1


class PrivateFileError(ToolkitError):
    """A file that cannot be read or written, or that others could have written."""


class PrivateJson:
    """
    A file that holds one JSON object under *key*, beside the version. It is made when it is first written.

    Messages call it *what*, such as "a file of logins".
    """

    def __init__(self, path: str | os.PathLike[str], what: str, key: str) -> None:
        self.path = Path(path).expanduser().absolute()
        self._what = what
        self._key = key

    def read(self) -> dict[str, Any]:
        """Return the object; an empty one if there is no file. Raise `PrivateFileError` if the file cannot be used."""
        try:
            check_private(str(self.path))
            data = remove_version(json.loads(self.path.read_text(encoding="utf-8")), self._what, _VERSION)
            content = data[self._key]
        except FileNotFoundError:
            return {}
        except UnsafeFileError as error:
            raise PrivateFileError(f"{self.path} {error}") from None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._refuse(error) from None
        if not isinstance(content, dict):
            raise self._refuse(f"`{self._key}` is not an object")
        return content

    def change(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Apply *change* to the object and write it. Other processes wait meanwhile."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_folder(self.path.parent)
            with hold_lock(self.path):
                content = self.read()
                change(content)
                write_atomically(self.path, json.dumps({"version": _VERSION, self._key: content}, indent=1))
        except (OSError, UnsafeFileError) as error:
            raise PrivateFileError(f"{self.path} cannot be written: {error}; give another path") from None

    def _refuse(self, reason: object) -> PrivateFileError:
        return PrivateFileError(
            f"{self.path} cannot be read as {self._what}: {reason}; restore it, or remove it to start anew"
        )
