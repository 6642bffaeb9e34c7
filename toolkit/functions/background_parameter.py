"""
The parameter `background`, which the fact of the same name adds to a tool.

A model sets it to have the call run in the background. The function never gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from inspect import Parameter
from typing import Annotated, Any

from ..errors import DefinitionError
from ..values.codecs.base import Schema
from .signature import NOTHING_INJECTED, Binder, BoundArguments, refuse_taken_name

__all__ = ["BACKGROUND", "BACKGROUND_PARAMETER", "add_background_property", "drop_background"]

BACKGROUND = "background"
_TEXT = "Return at once, with the name of a job for `job_output` and `job_stop`."

BACKGROUND_PARAMETER = Parameter(BACKGROUND, Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, _TEXT])

_CLOSED_KEYWORDS = (
    *("$ref", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "const", "enum"),
    *("patternProperties", "propertyNames", "unevaluatedProperties", "minProperties", "maxProperties"),
)
"""The keywords of an object that can refuse a further property, or count it."""


def drop_background(bind: Binder) -> Binder:
    """Return a binder that leaves the parameter out, and otherwise does what *bind* does."""

    def bind_others(values: dict[str, Any], injected: Mapping[str, Any] = NOTHING_INJECTED) -> BoundArguments:
        others = copy(values)  # it may hold the record of which the values are the fields
        others.pop(BACKGROUND, None)
        return bind(others, injected)

    return bind_others


def add_background_property(schema: Schema, subject: str) -> Schema:
    """
    Return *schema*, which its author wrote, with the property that a model sets.

    Raises:
        DefinitionError: The schema has such a property, or a keyword that might refuse it.
    """
    properties = schema.get("properties", {})
    refuse_taken_name(BACKGROUND, properties, subject)
    unfit = [keyword for keyword in _CLOSED_KEYWORDS if keyword in schema]
    if unfit:
        raise DefinitionError(
            f"{subject}: `background=True` adds a property `{BACKGROUND}` to the schema, which its keyword "
            f"`{unfit[0]}` might refuse; put the object that `{unfit[0]}` describes into a property of its own, "
            f"or leave the fact out"
        )
    added = {"type": "boolean", "default": False, "description": _TEXT}
    return {**schema, "properties": {**properties, BACKGROUND: added}}
