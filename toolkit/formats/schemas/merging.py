"""
Functions that merge several schemas into one, if all of them hold or one of them has to hold.

The merged schema says no more than the schemas did. Keywords that do not fit into it are returned, so that the caller
can put them in words. Checks never use the merged schema. Schemas may come from outside the program, so each referenced
schema is visited only once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...values.schemas.engine import iter_mappings
from ...values.schemas.vocabulary import KEYWORDS_FOR_ANY_TYPE, UNION_KEYWORDS, stated_types

__all__ = [
    "definition_name",
    "definition_of",
    "flatten_top_level",
    "iter_definition_names",
    "merge_schemas",
    "types_of",
]

_PREFIX = "#/$defs/"


def definition_of(reference: Any, definitions: Mapping[str, Any]) -> Any:
    """Return the schema that a `$ref` into `$defs` refers to, or None for any other reference."""
    if not isinstance(reference, str) or not reference.startswith(_PREFIX):
        return None
    return definitions.get(definition_name(reference))


def definition_name(reference: str) -> str:
    """Return the key in `$defs` that *reference* names."""
    return reference.removeprefix(_PREFIX).replace("~1", "/").replace("~0", "~")


def iter_definition_names(schema: Any) -> Iterator[str]:
    """Yield the keys in `$defs` that *schema* refers to, at any depth."""
    for part in iter_mappings(schema):
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith(_PREFIX):
            yield definition_name(reference)


def types_of(schema: Any, definitions: Mapping[str, Any]) -> list[str]:
    """Return the types that *schema* states, also through references and unions; an empty list if it states none."""
    types: dict[str, None] = {}
    visited: set[int] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop(0)
        if not isinstance(part, Mapping) or id(part) in visited:
            continue
        visited.add(id(part))
        types.update(dict.fromkeys(stated_types(part)))
        if "type" not in part:
            waiting += [member for keyword in (*UNION_KEYWORDS, "allOf") for member in part.get(keyword, ())]
            waiting.append(definition_of(part.get("$ref"), definitions))
    return list(types)


def merge_schemas(parts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return one schema for values that fit all of *parts*, and the keywords that did not fit into it."""
    merged: dict[str, Any] = {}
    dropped: dict[str, Any] = {}
    for part in parts:
        for keyword, value in part.items():
            if keyword not in merged:
                merged[keyword] = value
            elif keyword == "properties":
                merged[keyword] = {**value, **merged[keyword]}
            elif keyword == "required":
                merged[keyword] = list(dict.fromkeys((*merged[keyword], *value)))
            elif keyword == "description":
                merged[keyword] = merged[keyword] if value in merged[keyword] else f"{merged[keyword]} {value}"
            elif value != merged[keyword] and keyword not in ("title", "additionalProperties"):
                dropped[keyword] = value
    return merged, dropped


def flatten_top_level(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    Return a schema of arguments without the keywords that providers refuse at its top, and these keywords.

    For a union, the result has all properties that any member declares, and requires those that every member requires.
    """
    left_out = {keyword: schema[keyword] for keyword in KEYWORDS_FOR_ANY_TYPE if keyword in schema}
    if not left_out:
        return dict(schema), {}
    try:
        flat = dict(_Flattener(schema.get("$defs", {})).flatten(schema))
    except RecursionError:  # too long a chain of references: only the schema's own keywords are kept
        flat = {keyword: value for keyword, value in schema.items() if keyword not in left_out}
    flat["type"] = "object"
    flat.setdefault("properties", {})
    return flat, left_out


class _Flattener:
    """A conversion that removes combinations from schemas, and converts each schema only once."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._flat_schemas: dict[int, dict[str, Any]] = {}

    def flatten(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        if id(schema) not in self._flat_schemas:
            self._flat_schemas[id(schema)] = {}  # for a schema that refers to itself
            own = {keyword: value for keyword, value in schema.items() if keyword not in KEYWORDS_FOR_ANY_TYPE}
            target = definition_of(schema.get("$ref"), self._definitions)
            parts = [own, self.flatten(target), *map(self.flatten, schema.get("allOf", ()))]
            parts += [
                _merge_members([self.flatten(member) for member in schema[union]])
                for union in UNION_KEYWORDS
                if union in schema
            ]
            self._flat_schemas[id(schema)] = merge_schemas(parts)[0]
        return self._flat_schemas[id(schema)]


def _merge_members(members: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a schema that is true of every value that fits one of *members*, as far as they declare its properties."""
    schemas_by_name: dict[str, list[Any]] = {}
    for member in members:
        for name, schema in member.get("properties", {}).items():
            schemas = schemas_by_name.setdefault(name, [])
            schemas += [] if schema in schemas else [schema]
    merged: dict[str, Any] = {
        "properties": {
            name: choices[0] if len(choices) == 1 else {"anyOf": choices} for name, choices in schemas_by_name.items()
        }
    }
    required = [name for name in schemas_by_name if all(name in member.get("required", ()) for member in members)]
    if required:
        merged["required"] = required
    if members and all(member.get("additionalProperties") is False for member in members):
        merged["additionalProperties"] = False
    return merged
