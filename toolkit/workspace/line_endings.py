"""
Line endings: a file keeps the ones it has.
"""

from __future__ import annotations

import re

from ..errors import ToolError

__all__ = ["with_line_endings_of"]

_ENDINGS = re.compile(rb"\r\n|\r|\n")


def with_line_endings_of(old: bytes, new: str) -> bytes:
    """
    *new* as UTF-8, with the line endings of *old*.

    Models write `\\n`. A file whose lines end in `\\r\\n` gets those; one that mixes them, or has none,
    gets *new* as it is. `ToolError` for half a character.
    """
    try:
        data = new.encode(errors="surrogateescape")  # bytes that were no text when they were read stay as they were
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the text holds half a character at position {error.start} ({new[error.start]!r}), which no file can; "
            f"write the whole character"
        ) from None
    if b"\r" in data:  # whoever wrote it knows
        return data
    endings = set(_ENDINGS.findall(old))
    return data.replace(b"\n", endings.pop()) if len(endings) == 1 else data
