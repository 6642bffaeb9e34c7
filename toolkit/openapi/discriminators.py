"""
The values of a discriminator: what the property that tells alternatives apart has to be in each of them.

A document often gives them only in `discriminator`, which no schema of draft 2020-12 has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values.schemas.vocabulary import is_mapping, stated_types
from .documents import ApiDocument, split_pointer

__all__ = ["find_value_schema"]


def find_value_schema(
    document: ApiDocument, discriminator: Any, alternative: Any, left_out: str
) -> dict[str, Any] | None:
    """
    Return a schema for *alternative* with the legal values of its *discriminator*.

    None stands for an alternative that is no reference, that states a value itself, or whose values are not known.
    Properties that are marked *left_out* do not exist.
    """
    name = discriminator.get("propertyName") if is_mapping(discriminator) else None
    reference = alternative.get("$ref") if is_mapping(alternative) else None
    if not isinstance(name, str) or not isinstance(reference, str):
        return None
    schema = document.follow(alternative)
    values = _list_values(discriminator, reference)
    if not is_mapping(schema) or (not values and any(key in schema for key in ("oneOf", "anyOf", "discriminator"))):
        return None  # an alternative that has alternatives itself leaves the value to them
    values = values or split_pointer(reference)[-1:]
    parts = document.iter_parts(schema, ("allOf",))
    owners = [part["properties"] for part in parts if is_mapping(part.get("properties"))]
    for item in (document.follow(owner[name]) for owner in owners if name in owner):
        if not is_mapping(item):
            continue
        if item.get(left_out) is True or ("type" in item and "string" not in stated_types(item)):
            return None
        if "const" in item or isinstance(item.get("enum"), list):
            stated = [item["const"]] if "const" in item else item["enum"]
            values = [value for value in values if value in stated] if len(stated) > 1 else []
    if not values or (schema.get("additionalProperties") is False and name not in schema.get("properties", {})):
        return None
    return {"properties": {name: {"const": values[0]} if len(values) == 1 else {"enum": values}}}


def _list_values(discriminator: Mapping[str, Any], reference: str) -> list[str]:
    """Return the values that the mapping of *discriminator* has for *reference*, or for the name of its schema."""
    mapping = discriminator.get("mapping")
    names = (reference, split_pointer(reference)[-1:])
    items = mapping.items() if isinstance(mapping, Mapping) else ()
    return [value for value, target in items if target == names[0] or [target] == names[1]]
