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

__all__ = ["assembled", "rewritten"]

_PREFIX = "#/$defs/"
_DATA = frozenset({"default", "const", "enum", "examples", "required", "dependentRequired"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})


def assembled(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return *schema* as one complete document."""
    if not definitions:
        return schema
    uses: Counter[str] = Counter()
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        uses[name] += 1
        if uses[name] == 1:
            waiting += _references(definitions[name])
    if not uses:
        return schema
    kept = [
        name
        for name in definitions
        if name in uses
        and (_contains_itself(name, definitions) or (uses[name] > 1 and not _is_short(definitions[name])))
    ]
    made = _written_out(schema, definitions, frozenset(kept))
    if kept:
        made["$defs"] = {name: _written_out(definitions[name], definitions, frozenset(kept)) for name in kept}
    return made


def _is_short(schema: Schema) -> bool:
    """Return whether writing *schema* twice is shorter than two references and a definition."""
    return len(json.dumps(schema)) <= 75


def _contains_itself(name: str, definitions: Mapping[str, Schema]) -> bool:
    seen: set[str] = set()
    waiting = list(_references(definitions[name]))
    while waiting:
        each = waiting.pop()
        if each == name:
            return True
        if each not in seen:
            seen.add(each)
            waiting += _references(definitions[each])
    return False


def _references(schema: Any) -> Iterator[str]:
    for key, part in _parts(schema):
        if key == "$ref" and isinstance(part, str) and part.startswith(_PREFIX):
            yield part.removeprefix(_PREFIX)
        else:
            yield from _references(part)


def _parts(schema: Any) -> Iterator[tuple[Any, Any]]:
    """
    Yield the parts of *schema* that may be schemas.

    The names of properties are not keywords, and data is not a schema.
    """
    if isinstance(schema, list):
        yield from enumerate(schema)
    elif isinstance(schema, dict):
        for key, part in schema.items():
            if key in _NAMED and isinstance(part, dict):
                yield from ((None, each) for each in part.values())
            elif key not in _DATA:
                yield key, part


def rewritten(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return *schema* with *change* applied to it and to every schema inside it."""
    if isinstance(schema, list):
        return [rewritten(each, change) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made: Schema = {}
    for key, part in change(schema).items():
        if key in _NAMED and isinstance(part, dict):
            made[key] = {name: rewritten(each, change) for name, each in part.items()}
        else:
            made[key] = part if key in _DATA else rewritten(part, change)
    return made


def _written_out(schema: Schema, definitions: Mapping[str, Schema], kept: frozenset[str]) -> Schema:
    def change(part: Schema) -> Schema:
        reference = part.get("$ref")
        while isinstance(reference, str) and reference.startswith(_PREFIX):
            name = reference.removeprefix(_PREFIX)
            if name in kept:
                break
            part = {**definitions[name], **{key: each for key, each in part.items() if key != "$ref"}}
            reference = part.get("$ref")
        return part

    made: Schema = rewritten(schema, change)
    return made
