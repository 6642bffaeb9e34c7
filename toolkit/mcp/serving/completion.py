"""
Completion: the values that an argument of a prompt or of a resource template may have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...skills.records import Skill
from ...spec import Tool

__all__ = ["build_completion", "list_choices"]

_MAX_VALUES = 100
"""The protocol allows no more."""


def list_choices(subject: Tool | Skill | None, argument: str) -> list[str]:
    """Return the values that *argument* of *subject* may have; none if any value is allowed."""
    if subject is None:
        return []
    if isinstance(subject, Skill):
        return [str(choice) for item in subject.arguments if item.name == argument for choice in item.choices]
    definitions = subject.schema.get("$defs", {})
    schema: Mapping[str, Any] = subject.schema.get("properties", {}).get(argument, {})
    if "$ref" in schema:
        schema = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
    if schema.get("type") == "boolean":
        return ["true", "false"]
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return [str(choice) for choice in choices]


def build_completion(choices: Sequence[str], text: str) -> dict[str, Any]:
    """Return the result of `completion/complete`: the *choices* that begin with *text*, whatever its case."""
    values = [choice for choice in choices if choice.casefold().startswith(text.casefold())]
    completion = {"values": values[:_MAX_VALUES], "total": len(values), "hasMore": len(values) > _MAX_VALUES}
    return {"resultType": "complete", "completion": completion}
