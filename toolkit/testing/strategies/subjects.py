"""
The subjects that a strategy can be made for: a tool, a function, or a bare schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...spec import Tool
from ...values.schemas.validator import check_schema
from .schema_parts import Reading

__all__ = ["Subject", "Testable", "subject_of"]

Testable: TypeAlias = "Tool | Callable[..., Any] | Mapping[str, Any] | bool"
"""A tool, a function that is or could be a tool, or a schema."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """
    The tool or the schema for which arguments are drawn.

    Attributes:
        name: Its name in messages.
        reading: Its schema, after reading.
        tool: The tool; None for a bare schema.
    """

    name: str
    reading: Reading
    tool: Tool | None


def subject_of(thing: Testable) -> Subject:
    """
    Return *thing* as a subject.

    Raises:
        DefinitionError: *thing* is a mapping, but not a valid schema.
        TypeError: *thing* is neither a tool nor a function nor a schema.
    """
    if isinstance(thing, (Mapping, bool)):
        check_schema(thing, "the schema")
        return Subject("the schema", Reading(thing), None)
    if not isinstance(thing, Tool):
        if not callable(thing):
            raise TypeError(f"expected a tool, a function or a schema, got {type(thing).__name__}")
        thing = Tool.of(thing)
    return Subject(f"`{thing.name}`", Reading(thing.schema), thing)
