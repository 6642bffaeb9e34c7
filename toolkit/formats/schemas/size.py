"""The size of a schema, in the measures that providers limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...values.schemas.vocabulary import iter_subschemas
from .dialects import Dialect
from .merging import definition_name

__all__ = ["count_optional_parameters", "count_union_parameters", "find_exceeded_limits"]


def find_exceeded_limits(schema: Mapping[str, Any], dialect: Dialect) -> list[str]:
    """Return the limits of *dialect* that *schema* exceeds, in words."""
    parts = list(_parts(schema))
    names = [name for part in parts for name in part.get("properties", ())]
    choices = [value for part in parts for value in (*part.get("enum", ()), *_constant(part))]
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


def _constant(part: Mapping[str, Any]) -> list[Any]:
    return [part["const"]] if "const" in part else []


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
