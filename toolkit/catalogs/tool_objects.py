"""
Objects that are tools by their shape: they have `name`, `description`, `schema` and `call`.

Attributes with the names of facts (`destructive = True`) are the facts of such a tool.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from ..facts import FACT_NAMES
from ..functions.object_options import read_attribute, read_stated_options
from ..spec import Tool

__all__ = ["build_object_tool", "is_tool_object"]

_TOOL_ATTRIBUTES = ("name", "description", "schema", "call")
_ABSENT = object()


def is_tool_object(source: Any) -> bool:
    """Return whether *source* has the attributes of a tool. Attributes that it only makes up do not count."""
    if type(source) is FunctionType:  # nearly all tools are functions, whose own attributes are all in one dictionary
        return all(name in source.__dict__ for name in _TOOL_ATTRIBUTES)
    return all(inspect.getattr_static(source, name, _ABSENT) is not _ABSENT for name in _TOOL_ATTRIBUTES)


def build_object_tool(source: Any) -> Tool:
    """Return the tool that *source* is, with the facts that its attributes state."""
    name, description, schema = (read_attribute(source, name) for name in _TOOL_ATTRIBUTES[:3])
    subject = f"{type(source).__module__}.{type(source).__qualname__}, the tool `{name}`"
    options = read_stated_options(source, FACT_NAMES, subject, ignored=_TOOL_ATTRIBUTES)
    return Tool.from_schema(name, description, schema, source.call, **options)
