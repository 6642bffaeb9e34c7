"""
Check schemas against the meta-schema of draft 2020-12, most of them without jsonschema.

jsonschema follows the meta-schema keyword by keyword, which takes milliseconds for each schema. The meta-schema says
little more than which type the value of each keyword has, so a table says the same. The table accepts a schema or is
not sure. If it is not sure, jsonschema decides, and words the error. `tests/values/schemas/test_metaschema.py` holds
the table to jsonschema's verdict.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from .vocabulary import JSON_TYPES

__all__ = ["check_against_metaschema", "is_surely_valid"]

_MAX_DEPTH = 30
_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*\Z")
_ID = re.compile(r"[^#]*#?\Z")


def check_against_metaschema(schema: Any) -> None:
    """Raise jsonschema's `SchemaError` unless *schema* is a schema of draft 2020-12. Patterns are not compiled."""
    if is_surely_valid(schema):
        return
    from jsonschema.exceptions import SchemaError

    for error in _metaschema_validator().iter_errors(schema):
        raise SchemaError.create_from(error)


@functools.cache
def _metaschema_validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(Draft202012Validator.META_SCHEMA)


def is_surely_valid(schema: Any, depth: int = _MAX_DEPTH) -> bool:
    """Return whether the table accepts *schema*. False means that the table is not sure."""
    if schema is True or schema is False:
        return True
    if type(schema) is not dict or not depth:
        return False
    for keyword, value in schema.items():
        check = _CHECKS.get(keyword)
        # jsonschema ignores an unknown keyword, and so does the table.
        if check is not None and not check(value, depth - 1):
            return False
    return True


def _is(*kinds: type, where: Callable[[Any], object] = lambda value: True) -> Callable[[Any, int], bool]:
    """Return the check that a value is exactly of one of *kinds*, and that *where* holds for it."""
    return lambda value, depth: type(value) in kinds and bool(where(value))


def _are_distinct_texts(value: Any, depth: int = 0) -> bool:
    return type(value) is list and all(type(item) is str for item in value) and len(set(value)) == len(value)


def _is_type(value: Any, depth: int) -> bool:
    return (_are_distinct_texts(value) and bool(value) and all(name in JSON_TYPES for name in value)) or (
        type(value) is str and value in JSON_TYPES
    )


def _are_schemas(value: Any, depth: int) -> bool:
    return type(value) is list and bool(value) and all(is_surely_valid(item, depth) for item in value)


def _are_named_schemas(value: Any, depth: int) -> bool:
    return type(value) is dict and all(is_surely_valid(item, depth) for item in value.values())


def _are_dependencies(value: Any, depth: int) -> bool:
    return type(value) is dict and all(
        is_surely_valid(item, depth) or _are_distinct_texts(item) for item in value.values()
    )


_SIZE = _is(int, where=lambda size: size >= 0)

_CHECKS: dict[str, Callable[[Any, int], bool]] = {
    "$id": _is(str, where=_ID.match),
    "$vocabulary": _is(),  # jsonschema decides
    **dict.fromkeys(("$anchor", "$dynamicAnchor", "$recursiveAnchor"), _is(str, where=_ANCHOR.match)),
    **dict.fromkeys(("$schema", "$ref", "$dynamicRef", "$recursiveRef", "$comment"), _is(str)),
    **dict.fromkeys(("title", "description", "pattern", "format", "contentEncoding", "contentMediaType"), _is(str)),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), _is(bool)),
    **dict.fromkeys(("enum", "examples"), _is(list)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is(int, float)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _SIZE),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _SIZE),
    "multipleOf": _is(int, float, where=lambda factor: factor > 0),
    "type": _is_type,
    "required": _are_distinct_texts,
    "dependentRequired": _is(dict, where=lambda names: all(map(_are_distinct_texts, names.values()))),
    "dependencies": _are_dependencies,
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _are_schemas),
    **dict.fromkeys(
        ("$defs", "definitions", "properties", "patternProperties", "dependentSchemas"), _are_named_schemas
    ),
    **dict.fromkeys(("items", "contains", "additionalProperties", "propertyNames", "not"), is_surely_valid),
    **dict.fromkeys(("if", "then", "else", "unevaluatedItems", "unevaluatedProperties"), is_surely_valid),
    "contentSchema": is_surely_valid,
}
"""The check of the value of each keyword, with the depth that is left."""
