"""Questions about one schema: its types, its size; and the change that makes an optional property nullable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..._plumbing.graphs import find_reachable
from ...values.schemas.vocabulary import KEYWORDS_FOR_SAME_VALUE, iter_subschemas, stated_types
from .dialects import Dialect
from .merging import definition_name, definition_of, iter_definition_names

__all__ = [
    "count_optional_parameters",
    "count_union_parameters",
    "find_conditional_properties",
    "find_exceeded_limits",
    "find_recursive_definition",
    "infer_types",
    "make_nullable",
]

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
    uses = {name: set(iter_definition_names(schema)) for name, schema in definitions.items()}
    return next((name for name in uses if name in find_reachable(uses[name], lambda use: uses.get(use, ()))), None)


def find_exceeded_limits(schema: Mapping[str, Any], dialect: Dialect) -> list[str]:
    """Return the limits of *dialect* that *schema* exceeds, in words."""
    parts = list(_parts(schema))
    names = [name for part in parts for name in part.get("properties", ())]
    choices = [value for part in parts for value in _list_choices(part)]
    texts = [*names, *schema.get("$defs", ()), *(value for value in choices if isinstance(value, str))]
    length = sum(map(len, texts))
    levels = _count_levels(schema, schema.get("$defs", {}), {})
    measured = (
        ("has {:,} properties in all, {:,} are allowed", len(names), dialect.max_properties),
        ("nests {:,} levels deep, {:,} are allowed", levels, dialect.max_levels),
        ("has {:,} choices in all, {:,} are allowed", len(choices), dialect.max_choices),
        ("has names and choices of {:,} characters, {:,} are allowed", length, dialect.max_name_chars),
    )
    problems = [words.format(size, most) for words, size, most in measured if most is not None and size > most]
    if dialect.large_enum_limits is not None:
        large_count, most = dialect.large_enum_limits
        for part in parts:
            texts = [value for value in part.get("enum", ()) if isinstance(value, str)]
            if len(texts) > large_count and (length := sum(map(len, texts))) > most:
                problems.append(
                    f"has a choice of {length:,} characters; {most:,} are allowed for more than {large_count} values"
                )
    return [f"the whole {problem}" for problem in problems]


def count_optional_parameters(schema: Mapping[str, Any]) -> int:
    """Return the number of properties at any depth that are not required."""
    return sum(name not in part.get("required", ()) for part in _parts(schema) for name in part.get("properties", ()))


def count_union_parameters(schema: Mapping[str, Any]) -> int:
    """Return the number of schemas at any depth that have several types."""
    return sum("anyOf" in part or isinstance(part.get("type"), list) for part in _parts(schema))


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield *schema* and every schema inside it."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting += [subschema for _, subschema in iter_subschemas(part)]


def _list_choices(part: Mapping[str, Any]) -> list[Any]:
    return [*part.get("enum", ()), *([part["const"]] if "const" in part else [])]


def _count_levels(part: Any, definitions: Mapping[str, Any], levels_by_reference: dict[str, int]) -> int:
    """Return how many levels deep *part* nests. A schema that contains itself is counted once."""
    if not isinstance(part, Mapping):
        return 0
    reference = part.get("$ref")
    if reference is not None:
        if reference not in levels_by_reference:
            levels_by_reference[reference] = 0  # for a schema that refers to itself
            levels_by_reference[reference] = _count_levels(
                definitions.get(definition_name(reference)), definitions, levels_by_reference
            )
        return levels_by_reference[reference]
    inner = [*part.get("properties", {}).values(), part.get("items"), *part.get("prefixItems", ())]
    below = max((_count_levels(subschema, definitions, levels_by_reference) for subschema in inner), default=0)
    members = max(
        (_count_levels(subschema, definitions, levels_by_reference) for subschema in part.get("anyOf", ())), default=0
    )
    is_container = "properties" in part or "items" in part or "prefixItems" in part
    return max(below + is_container, members)
