"""Small questions about one schema, and the change that makes an optional property nullable for strict mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...values.schemas.vocabulary import KEYWORDS_FOR_SAME_VALUE, iter_subschemas, stated_types
from .merging import definition_name, definition_of

__all__ = ["find_conditional_properties", "find_recursive_definition", "infer_types", "make_nullable"]

_OBJECT_KEYWORDS = frozenset(["properties", "additionalProperties", "patternProperties", "unevaluatedProperties"])
_NULL = {"type": "null"}
_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (type(None), "null"),
)


def infer_types(schema: Mapping[str, Any]) -> list[str]:
    """Return the types that *schema* states. Without a `type`, they follow from its other keywords."""
    if "type" in schema:
        return stated_types(schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum", ())
    if values:
        named = [next((name for kind, name in _TYPES if isinstance(value, kind)), "") for value in values]
        return list(dict.fromkeys(named)) if all(named) else []
    if not _OBJECT_KEYWORDS.isdisjoint(schema):
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else []


def make_nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """
    Return *schema* changed so that it also accepts null.

    An optional property has this form where the model has to send every property.
    """
    if "$ref" in schema:
        return {"anyOf": [schema, _NULL]}
    if "anyOf" in schema:
        takes_null = any("null" in infer_types(member) for member in schema["anyOf"])
        return schema if takes_null else {**schema, "anyOf": [*schema["anyOf"], _NULL]}
    result = dict(schema)
    if "const" in result:
        result["enum"] = [result.pop("const")]
    if "enum" in result and None not in result["enum"]:
        result["enum"] = [*result["enum"], None]
    types = infer_types(schema)
    if types and "null" not in types:
        result["type"] = [*types, "null"]
    return result


def find_conditional_properties(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    """
    Return the properties that only the conditions of *schema* declare.

    If the schema were closed, the model could not send these properties.
    """
    names: dict[str, None] = {}
    visited: set[int] = set()
    waiting = list(_conditions(schema))
    while waiting:
        part = waiting.pop(0)
        if not isinstance(part, Mapping) or id(part) in visited:
            continue
        visited.add(id(part))
        names.update(dict.fromkeys(part.get("properties", ())))
        waiting += [definition_of(part.get("$ref"), definitions), *_conditions(part)]
    return [name for name in names if name not in schema.get("properties", ())]


def _conditions(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the schemas that hold, or may hold, for the same value as *schema*."""
    for steps, subschema in iter_subschemas(schema):
        # A property in `not` is one that the value must not have.
        if steps[0] in KEYWORDS_FOR_SAME_VALUE and steps[0] != "not":
            yield subschema


def find_recursive_definition(definitions: Mapping[str, Any]) -> str | None:
    """Return the name of a definition that contains itself at any depth, or None if there is none."""
    uses = {name: set(_references(schema)) for name, schema in definitions.items()}
    for name in uses:
        reached, waiting = set[str](), [name]
        while waiting:
            new_names = uses.get(waiting.pop(), set()) - reached
            if name in new_names:
                return name
            reached |= new_names
            waiting += new_names
    return None


def _references(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            if isinstance(part.get("$ref"), str):
                yield definition_name(part["$ref"])
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
