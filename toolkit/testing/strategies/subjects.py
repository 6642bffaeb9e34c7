"""
The subjects that a strategy can be made for: a tool, a function, or a bare schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...spec import Tool
from ...values.schemas.validator import check_schema
from .schema_parts import ParsedSchema

__all__ = ["Subject", "Testable", "subject_of"]

Testable: TypeAlias = "Tool | Callable[..., Any] | Mapping[str, Any] | bool"
"""A tool, a function that is or could be a tool, or a schema."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """
    The tool or the schema for which arguments are drawn.

    Attributes:
        name: Its name in messages.
        parsed_schema: Its schema, parsed.
        tool: The tool; None for a bare schema.
    """

    name: str
    parsed_schema: ParsedSchema
    tool: Tool | None


def subject_of(testable: Testable) -> Subject:
    """
    Return *testable* as a subject.

    Raises:
        DefinitionError: *testable* is a mapping, but not a valid schema, or a function that cannot be a tool.
        TypeError: *testable* is neither a tool nor a function nor a schema.
    """
    if isinstance(testable, (Mapping, bool)):
        check_schema(testable, "the schema")
        return Subject("the schema", ParsedSchema(testable), None)
    if not isinstance(testable, Tool):
        if not callable(testable):
            raise TypeError(f"expected a tool, a function or a schema, got {type(testable).__name__}")
        testable = Tool.of(testable)
    return Subject(f"`{testable.name}`", ParsedSchema(testable.schema), testable)
