"""
Check schemas against the meta-schema of draft 2020-12, most of them without jsonschema.

jsonschema follows the meta-schema keyword by keyword, which takes milliseconds for each schema. The meta-schema says
little more than which type the value of each keyword has, so a table says the same. The table accepts a schema or is
not sure. If it is not sure, jsonschema decides, and words the error. `tests/values/schemas/test_metaschema.py` holds
the table to jsonschema's verdict.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._lazy_names import lazy_pattern
from .vocabulary import JSON_TYPES

__all__ = ["check_against_metaschema", "is_surely_valid"]

_MAX_DEPTH = 30
_ANCHOR = lazy_pattern(r"[A-Za-z_][-A-Za-z0-9._]*\Z")
_ID = lazy_pattern(r"[^#]*#?\Z")


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


def _is_text(value: Any, _: int) -> bool:
    return type(value) is str


def _is_bool(value: Any, _: int) -> bool:
    return type(value) is bool


def _is_list(value: Any, _: int) -> bool:
    return type(value) is list


def _is_number(value: Any, _: int) -> bool:
    return type(value) is int or type(value) is float


def _is_positive(value: Any, _: int) -> bool:
    return (type(value) is int or type(value) is float) and value > 0


def _is_size(value: Any, _: int) -> bool:
    return type(value) is int and value >= 0


def _is_type(value: Any, _: int) -> bool:
    if type(value) is str:
        return value in JSON_TYPES
    return _are_distinct_texts(value, 0) and bool(value) and all(name in JSON_TYPES for name in value)


def _are_distinct_texts(value: Any, _: int) -> bool:
    return type(value) is list and all(type(item) is str for item in value) and len(set(value)) == len(value)


def _are_schemas(value: Any, depth: int) -> bool:
    return type(value) is list and bool(value) and all(is_surely_valid(item, depth) for item in value)


def _are_named_schemas(value: Any, depth: int) -> bool:
    return type(value) is dict and all(is_surely_valid(item, depth) for item in value.values())


def _are_named_texts(value: Any, _: int) -> bool:
    return type(value) is dict and all(_are_distinct_texts(item, 0) for item in value.values())


def _are_dependencies(value: Any, depth: int) -> bool:
    return type(value) is dict and all(
        is_surely_valid(item, depth) or _are_distinct_texts(item, 0) for item in value.values()
    )


def _is_anchor(value: Any, _: int) -> bool:
    return type(value) is str and _ANCHOR.match(value) is not None


def _is_id(value: Any, _: int) -> bool:
    return type(value) is str and _ID.match(value) is not None


def _is_unsure(value: Any, _: int) -> bool:
    return False


_CHECKS: dict[str, Callable[[Any, int], bool]] = {
    "$id": _is_id,
    "$vocabulary": _is_unsure,
    **dict.fromkeys(("$anchor", "$dynamicAnchor", "$recursiveAnchor"), _is_anchor),
    **dict.fromkeys(("$schema", "$ref", "$dynamicRef", "$recursiveRef", "$comment"), _is_text),
    **dict.fromkeys(("title", "description", "pattern", "format", "contentEncoding", "contentMediaType"), _is_text),
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly", "uniqueItems"), _is_bool),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_size),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_size),
    "multipleOf": _is_positive,
    "type": _is_type,
    "required": _are_distinct_texts,
    "dependentRequired": _are_named_texts,
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
