"""Hand-written schemas: our validator gives the verdict of plain jsonschema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.properties.written_schemas import (
    _USUAL,
    _schema,
    reference,
    schemas,
)
from toolkit.errors import BadArgs
from toolkit.spec import Tool

from .values import json_objects

_USUAL += ["required", "additionalProperties", "description", "x-note"]


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
@given(schema=schemas(), arguments=json_objects())
def test_written_schemas_get_one_verdict(validation, schema, arguments):
    """Fast, judged and plain jsonschema agree about any schema and any object."""
    tool = Tool.from_schema("written", "Made of keywords.", schema, lambda call_arguments: call_arguments)
    allowed = reference(schema, arguments)
    try:
        assert tool.check(arguments, validation=validation) == arguments
        assert allowed
    except BadArgs:
        assert not allowed


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
@given(schema=_schema(True), arguments=json_objects())
def test_a_written_schema_is_enforced_beside_the_signature(schema, arguments, validation):
    """`schema=` on a function refuses what it refuses, also if the annotations would take it."""

    def takes(**anything: Any) -> None:
        """Take anything."""

    tool = Tool.described(takes, schema=schema)
    try:
        assert tool.check(arguments, validation=validation) == arguments
        assert reference(schema, arguments)
    except BadArgs:
        assert not reference(schema, arguments)
