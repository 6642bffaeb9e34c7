"""How a type is tried: a tool with one parameter of it, and the three directions."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any, Optional

import pytest
from jsonschema import Draft202012Validator

from toolkit import BadArgs
from toolkit.spec import Tool
from toolkit.values.schemas.text_forms import TEXT_FORMS

DATE = {"type": "string", **TEXT_FORMS["date"].schema}
"""The schema of a date."""


def tool_for(hint: Any) -> Tool:
    """Return a tool with one parameter `value` of the type *hint*."""

    def probe(value):
        return value

    probe.__annotations__["value"] = hint
    return Tool.described(probe, name="probe", description="Probe.")


def schema_of(hint: Any) -> Any:
    """Return the schema of a value; what it refers to stands under `$defs` beside it."""
    whole = tool_for(hint).schema
    schema = whole["properties"]["value"]
    return {**schema, "$defs": whole["$defs"]} if "$defs" in whole else schema


def read(hint: Any, form: Any, validation: str = "fast") -> Any:
    """Return what a function receives for the JSON *form*."""
    return tool_for(hint).check({"value": form}, validation=validation)["value"]


def written(hint: Any, value: Any) -> Any:
    """Return the JSON form of *value*."""
    return tool_for(hint).encode({"value": value})["value"]


def problem(hint: Any, form: Any, validation: str = "fast") -> str:
    """Return what a model is told about *form*; fails if it is accepted."""
    with pytest.raises(BadArgs) as caught:
        read(hint, form, validation)
    return str(caught.value)


def three_ways(hint: Any, value: Any, form: Any, schema: Any, validation: str) -> None:
    """Check the schema, and the way from *form* to *value* and back: alone, nested and optional."""
    assert schema_of(hint) == schema
    there_and_back(hint, value, form, validation)
    there_and_back(list[hint], [value, value], [form, form], validation)
    there_and_back(dict[str, hint], {"a": value}, {"a": form}, validation)
    there_and_back(tuple[hint, int], (value, 1), [form, 1], validation)
    # Made here: `Holder[hint]` would be answered from a cache that takes `A | B` for `B | A`.
    holder: Any = dataclasses.make_dataclass("Holder", [("inside", hint), ("count", int, 0)])
    there_and_back(holder, holder(value, 2), {"inside": form, "count": 2}, validation)
    there_and_back(list[optional(hint)], [None, value], [None, form], validation)
    there_and_back(optional(hint), None, None, validation)
    there_and_back(optional(hint), value, form, validation)


def optional(hint: Any) -> Any:
    """Return the type *hint* or None."""
    return Optional[hint] if hint is None or isinstance(hint, str) else hint | None


def there_and_back(hint: Any, value: Any, form: Any, validation: str) -> None:
    """Check that *form* reads as *value*, of exactly its types, and that *value* is written as *form*."""
    tool = tool_for(hint)
    text = json.dumps(tool.schema)
    assert json.loads(text) == tool.schema
    check_schema(text)
    Draft202012Validator(tool.schema).validate({"value": form})
    assert_alike(tool.check({"value": form}, validation=validation)["value"], value)
    assert_alike(tool.encode({"value": value})["value"], form)


@functools.cache
def check_schema(text: str) -> None:
    """Hold a schema against that of all schemas; once, as many tests have the same."""
    Draft202012Validator.check_schema(json.loads(text))


def assert_alike(value: Any, other: Any) -> None:
    """Assert that both are equal, and of the same types all the way down: 1, 1.0 and True are three values."""
    assert type(value) is type(other)
    assert value == other
    if dataclasses.is_dataclass(value):
        value, other = vars_of(value), vars_of(other)
    if isinstance(value, (set, frozenset)):
        value, other = sorted(value, key=repr), sorted(other, key=repr)
    if isinstance(value, dict):
        value, other = list(value.items()), list(other.items())
    if isinstance(value, (list, tuple)):
        for mine, yours in zip(value, other, strict=True):
            assert_alike(mine, yours)


def vars_of(record: Any) -> list[Any]:
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


def record(properties, *required):
    """Return the schema of a closed object."""
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})
