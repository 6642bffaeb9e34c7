"""
Name the keywords of JSON Schema draft 2020-12 by what they are for.

A module that looks into a schema asks here where subschemas stand, which keywords only inform people, and which types
the schema states. This module imports nothing else of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

__all__ = [
    "ANNOTATION_KEYWORDS",
    "JSON_TYPES",
    "KEYWORDS_FOR_ANY_TYPE",
    "KEYWORDS_FOR_CHILDREN",
    "KEYWORDS_FOR_SAME_VALUE",
    "KEYWORDS_WITH_MAPPING",
    "SUBSCHEMA_KEYWORDS",
    "UNION_KEYWORDS",
    "is_mapping",
    "iter_subschemas",
    "map_subschemas",
    "scalar_key",
    "stated_types",
]

JSON_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
"""The types that `type` may name, the simplest first."""

UNION_KEYWORDS = ("anyOf", "oneOf")
"""The keywords that list alternatives for one value."""

ANNOTATION_KEYWORDS = frozenset(
    ["$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"]
)
"""The keywords that inform people and programs, and refuse no value."""

KEYWORDS_FOR_SAME_VALUE = frozenset(["allOf", "anyOf", "dependentSchemas", "else", "if", "not", "oneOf", "then"])
"""The keywords whose subschemas are about the value itself."""

KEYWORDS_FOR_CHILDREN = frozenset(
    [
        *("properties", "additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"),
        *("items", "prefixItems", "contains", "unevaluatedItems"),
    ]
)
"""The keywords whose subschemas are about a property, a name or an item of the value."""

_UNUSED_SUBSCHEMA_KEYWORDS = frozenset(["$defs", "contentSchema", "definitions", "dependencies"])
# `$defs` and `definitions` hold subschemas for references. `contentSchema` is about the content of a text, which the
# draft does not check. `dependencies` is of an older draft, and has no effect in this one.

SUBSCHEMA_KEYWORDS = KEYWORDS_FOR_SAME_VALUE | KEYWORDS_FOR_CHILDREN | _UNUSED_SUBSCHEMA_KEYWORDS
"""All keywords under which a schema contains other schemas."""

_KEYWORDS_WITH_LIST = frozenset(["allOf", "anyOf", "oneOf", "prefixItems"])
KEYWORDS_WITH_MAPPING = frozenset(
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"]
)
"""The keywords under which subschemas stand by name."""

KEYWORDS_FOR_ANY_TYPE = ("$ref", "allOf", *UNION_KEYWORDS, "enum", "const", "not", "if", "then", "else")
"""The keywords that can refuse values of every type. Any other keyword ignores values that are not of its own type."""


_SCALARS = frozenset([str, bool, int, float, type(None), list])


def is_mapping(value: Any) -> bool:
    """Return whether *value* is a mapping. For the classes of JSON this is much quicker than to ask `Mapping`."""
    kind = type(value)
    return kind is dict or (kind not in _SCALARS and isinstance(value, Mapping))


def iter_subschemas(
    schema: Any,
    *,
    lists: frozenset[str] = _KEYWORDS_WITH_LIST,
    mappings: frozenset[str] = KEYWORDS_WITH_MAPPING,
    values: frozenset[str] = SUBSCHEMA_KEYWORDS,
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """
    Yield each schema directly inside *schema*, with the steps that lead to it, such as `("anyOf", 0)`.

    A subschema is a mapping, true or false. The values under an unknown keyword are data. An older draft has schemas
    in other *lists* and *mappings*, and as other *values*.
    """
    for keyword, value in schema.items() if is_mapping(schema) else ():
        places: Iterable[tuple[tuple[str | int, ...], Any]] = ()
        if keyword in lists and isinstance(value, (list, tuple)):
            places = (((keyword, index), item) for index, item in enumerate(value))
        elif keyword in mappings and is_mapping(value):
            places = (((keyword, name), item) for name, item in value.items())
        elif keyword in values:
            places = [((keyword,), value)]
        # A value of `dependencies` may also be a list of names.
        for place in places:
            if is_mapping(place[1]) or isinstance(place[1], bool):
                yield place


def map_subschemas(schema: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a copy of *schema* with each schema inside it changed. *change* returns what is no schema as it is."""
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _KEYWORDS_WITH_LIST:
            result[keyword] = [change(item) for item in value]
        elif keyword in KEYWORDS_WITH_MAPPING and isinstance(value, Mapping):
            result[keyword] = {name: change(item) for name, item in value.items()}
        else:
            result[keyword] = change(value) if keyword in SUBSCHEMA_KEYWORDS else value
    return result


def scalar_key(value: Any) -> tuple[bool, Any]:
    """Return a key for a text, a number, a boolean or null. In Python, 1 and True are the same key; in JSON not."""
    return type(value) is bool, value


def stated_types(schema: Mapping[str, Any]) -> list[str]:
    """Return the types that the keyword `type` of *schema* names. The list is empty without the keyword."""
    types = schema.get("type") or ()
    return [types] if isinstance(types, str) else list(types)
