"""
The metadata of a call, copied from a mapping of the caller's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .attempt import has_to_pass
from .rendering import described
from .results import ToolResult

__all__ = ["UnreadableMetadata", "copy_metadata"]


class UnreadableMetadata(dict[str, Any]):
    """
    Stands for metadata that could not be read; the call is answered with `describe()`.

    Attributes:
        error: What the mapping raised.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def describe(self) -> ToolResult:
        """Return the result of a call whose metadata cannot be read."""
        message = f"the metadata of the call cannot be read: {described(self.error)}"
        return ToolResult.error("internal", message, cause=self.error)


def copy_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of *metadata*; a mapping that fails gives `UnreadableMetadata`."""
    if type(metadata) is UnreadableMetadata:
        return metadata
    try:
        return dict(metadata)
    except BaseException as error:
        if has_to_pass(error):
            raise
        return UnreadableMetadata(error)
