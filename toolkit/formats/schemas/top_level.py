"""The schema of a tool as it is, unless it has a keyword at its top that providers refuse there."""

from __future__ import annotations

from typing import Any

from ...spec import Tool
from ..base import Note
from .merging import flatten_top_level
from .remarks import add_remarks

__all__ = ["prepare_schema"]


def prepare_schema(tool: Tool, notes: list[Note]) -> dict[str, Any]:
    """Return the schema of *tool* to send. A note is added to *notes* if the schema had to be changed."""
    flat, left_out = flatten_top_level(tool.schema)
    if not left_out:
        return tool.schema
    notes.append(Note(tool.name, f"{', '.join(left_out)} may not stand at the top of a schema; said in words"))
    return add_remarks(flat, left_out)
