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

from ..schemas.vocabulary import iter_subschemas, map_subschemas
from .base import Schema

__all__ = ["assemble_schema", "rewrite_schema"]

_PREFIX = "#/$defs/"


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
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if isinstance(reference, str) and reference.startswith(_PREFIX):
        yield reference.removeprefix(_PREFIX)
    for _, subschema in iter_subschemas(schema):
        yield from _iter_references(subschema)


def rewrite_schema(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return *schema* with *change* applied to it and to every schema inside it."""
    if not isinstance(schema, dict):
        return schema
    return map_subschemas(change(schema), lambda subschema: rewrite_schema(subschema, change))


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
