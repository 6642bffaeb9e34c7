"""
The removal of nulls that strict mode forced.

In strict mode the model has to send every property, so it sends an optional property that it does not use as null. The
tool's own schema says which nulls can only mean this: those of an optional property that may not be null. Any other
null stays. Arguments that are valid without a change are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...spec import Tool
from ...values.schemas.vocabulary import UNION_KEYWORDS
from ...values.strictjson.checks import is_plain_json, loads

__all__ = ["remove_forced_nulls"]

_MAX_COMPARED_VALUES = 50_000
"""The most values that are compared with schemas. A schema with many possible readings would take endless time."""


def remove_forced_nulls(arguments: Any, tool: Tool) -> Any:
    """
    Return *arguments* without the nulls that mean "not given" in a call of *tool*.

    *arguments* are an object or JSON text. If there is nothing to remove, they are returned unchanged.
    """
    value = arguments
    if isinstance(arguments, str):
        if "null" not in arguments:
            return arguments
        try:
            value = loads(arguments)
        except ValueError:
            return arguments
    if not isinstance(value, dict) or not is_plain_json(value) or None not in _values(value):
        return arguments
    try:
        validator = tool.about.checker.validator
        if validator.is_valid(value):
            return arguments
        stripped = _NullStripper(validator).strip_nulls(value, tool.schema, validator.resolver)
    except Exception:  # noqa: BLE001 -- optional help; without it the check reports what is wrong
        return arguments
    return arguments if stripped == value else stripped


def _values(value: Any) -> Iterator[Any]:
    """Yield *value* and every value inside it."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, (dict, list)):
            waiting += item.values() if isinstance(item, dict) else item


class _NullStripper:
    """One pass over a call's arguments along a schema."""

    def __init__(self, validator: Any) -> None:
        self._validator = validator
        self._work_left = _MAX_COMPARED_VALUES

    def strip_nulls(self, value: Any, schema: Any, resolver: Any) -> Any:
        """Return *value* without the nulls that *schema* refuses in properties that it does not require."""
        if not isinstance(value, (dict, list)):
            return value
        parts = list(self._schemas_that_hold(schema, resolver))
        for part, part_resolver in parts:
            for members in (part[union] for union in UNION_KEYWORDS if union in part):
                value = self._match_union(value, members, part_resolver)
        return self._object(value, parts) if isinstance(value, dict) else self._array(value, parts)

    def _match_union(self, value: Any, members: list[Any], resolver: Any) -> Any:
        """
        Return *value* in the form that the first fitting member of a union accepts.

        Return *value* unchanged if a member accepts it as it is, or if no member accepts it with or without the nulls.
        """
        if any(self._fits(value, member) for member in members):
            return value
        for member in members:
            candidate = self.strip_nulls(value, member, resolver)
            if self._fits(candidate, member):
                return candidate
        return value

    def _object(self, value: dict[str, Any], parts: list[tuple[Mapping[str, Any], Any]]) -> dict[str, Any]:
        required = {name for part, _ in parts for name in part.get("required", ())}
        cleaned: dict[str, Any] = {}
        for key, item in value.items():
            schemas = [
                (part["properties"][key], part_resolver)
                for part, part_resolver in parts
                if key in part.get("properties", ())
            ]
            if item is None and schemas and key not in required:
                if all(self._fits(None, schema) for schema, _ in schemas):
                    cleaned[key] = None
                continue
            schemas = schemas or [(part.get("additionalProperties"), part_resolver) for part, part_resolver in parts]
            for schema, part_resolver in schemas:
                item = self.strip_nulls(item, schema, part_resolver)  # noqa: PLW2901 -- each schema removes its own nulls
            cleaned[key] = item
        return cleaned

    def _array(self, value: list[Any], parts: list[tuple[Mapping[str, Any], Any]]) -> list[Any]:
        cleaned = []
        for index, item in enumerate(value):
            for part, part_resolver in parts:
                prefix_items = part.get("prefixItems", ())
                schema = prefix_items[index] if index < len(prefix_items) else part.get("items")
                item = self.strip_nulls(item, schema, part_resolver)  # noqa: PLW2901 -- as above
            cleaned.append(item)
        return cleaned

    def _fits(self, value: Any, schema: Any) -> bool:
        self._spend(sum(1 for _ in _values(value)))
        fits: bool = self._validator.evolve(schema=schema).is_valid(value)
        return fits

    def _schemas_that_hold(self, schema: Any, resolver: Any) -> Iterator[tuple[Mapping[str, Any], Any]]:
        """Yield the schemas that all hold for one value: *schema*, the one that it refers to, and those in `allOf`."""
        self._spend(1)
        if not isinstance(schema, Mapping):
            return
        yield schema, resolver
        if isinstance(schema.get("$ref"), str):
            target = resolver.lookup(schema["$ref"])
            yield from self._schemas_that_hold(target.contents, target.resolver)
        for part in schema.get("allOf", ()):
            yield from self._schemas_that_hold(part, resolver)

    def _spend(self, work: int) -> None:
        self._work_left -= work
        if self._work_left < 0:
            raise ValueError("it would take too long")
