"""The schema of a tool as it is, unless it has a keyword at its top that providers refuse there."""

from __future__ import annotations

from typing import Any

from ...spec import Tool
from ..base import Note
from .merging import flattened
from .remarks import remarked

__all__ = ["shown_schema"]


def shown_schema(tool: Tool, notes: list[Note]) -> dict[str, Any]:
    """Return the schema of *tool* to send. A note is added to *notes* if the schema had to be changed."""
    flat, left_out = flattened(tool.schema)
    if not left_out:
        return tool.schema
    notes.append(Note(tool.name, f"{', '.join(left_out)} may not stand at the top of a schema; said in words"))
    return remarked(flat, left_out)
