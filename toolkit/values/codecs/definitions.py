"""
Put a schema and its definitions together in one document.

A definition stays under `$defs` only if it is needed there: if it contains itself, or if it is used more than once and
is not short. Any other definition is written in the place where it is used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .base import Schema

__all__ = ["assemble_schema", "rewrite_schema"]

_PREFIX = "#/$defs/"
_DATA_KEYWORDS = frozenset({"default", "const", "enum", "examples", "required", "dependentRequired"})
_KEYWORDS_WITH_MAPPING = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})


def assemble_schema(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return *schema* as one complete document."""
    if not definitions:
        return schema
    uses: Counter[str] = Counter()
    waiting = list(_iter_references(schema))
    while waiting:
        name = waiting.pop()
        uses[name] += 1
        if uses[name] == 1:
            waiting += _iter_references(definitions[name])
    if not uses:
        return schema
    kept_names = [
        name
        for name in definitions
        if name in uses
        and (_contains_itself(name, definitions) or (uses[name] > 1 and not _is_short(definitions[name])))
    ]
    document = _inline_definitions(schema, definitions, frozenset(kept_names))
    if kept_names:
        document["$defs"] = {
            name: _inline_definitions(definitions[name], definitions, frozenset(kept_names)) for name in kept_names
        }
    return document


def _is_short(schema: Schema) -> bool:
    """Return whether writing *schema* twice is shorter than two references and a definition."""
    return len(json.dumps(schema)) <= 75


def _contains_itself(name: str, definitions: Mapping[str, Schema]) -> bool:
    visited: set[str] = set()
    waiting = list(_iter_references(definitions[name]))
    while waiting:
        other = waiting.pop()
        if other == name:
            return True
        if other not in visited:
            visited.add(other)
            waiting += _iter_references(definitions[other])
    return False


def _iter_references(schema: Any) -> Iterator[str]:
    for key, part in _iter_parts(schema):
        if key == "$ref" and isinstance(part, str) and part.startswith(_PREFIX):
            yield part.removeprefix(_PREFIX)
        else:
            yield from _iter_references(part)


def _iter_parts(schema: Any) -> Iterator[tuple[Any, Any]]:
    """
    Yield the parts of *schema* that may be schemas.

    The names of properties are not keywords, and data is not a schema.
    """
    if isinstance(schema, list):
        yield from enumerate(schema)
    elif isinstance(schema, dict):
        for key, part in schema.items():
            if key in _KEYWORDS_WITH_MAPPING and isinstance(part, dict):
                yield from ((None, subschema) for subschema in part.values())
            elif key not in _DATA_KEYWORDS:
                yield key, part


def rewrite_schema(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return *schema* with *change* applied to it and to every schema inside it."""
    if isinstance(schema, list):
        return [rewrite_schema(subschema, change) for subschema in schema]
    if not isinstance(schema, dict):
        return schema
    result: Schema = {}
    for key, part in change(schema).items():
        if key in _KEYWORDS_WITH_MAPPING and isinstance(part, dict):
            result[key] = {name: rewrite_schema(subschema, change) for name, subschema in part.items()}
        else:
            result[key] = part if key in _DATA_KEYWORDS else rewrite_schema(part, change)
    return result


def _inline_definitions(schema: Schema, definitions: Mapping[str, Schema], kept_names: frozenset[str]) -> Schema:
    def change(part: Schema) -> Schema:
        reference = part.get("$ref")
        while isinstance(reference, str) and reference.startswith(_PREFIX):
            name = reference.removeprefix(_PREFIX)
            if name in kept_names:
                break
            part = {**definitions[name], **{key: value for key, value in part.items() if key != "$ref"}}
            reference = part.get("$ref")
        return part

    result: Schema = rewrite_schema(schema, change)
    return result
