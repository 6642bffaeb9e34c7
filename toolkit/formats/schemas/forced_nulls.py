"""
Nulls that strict mode forced, taken out again.

Where every property has to be sent, an optional one is sent as null. The tool's
own schema says which nulls can only mean that: those of an optional property
that may not be null. Any other null stays, and arguments that fit as they came
are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...spec import Tool
from ...values.strictjson.checks import is_plain, loads

__all__ = ["without_forced_nulls"]

_MOST_WORK = 50_000
"""How many values are held against schemas: one that can be read in many ways would be looked at without end."""


def without_forced_nulls(arguments: Any, tool: Tool) -> Any:
    """*arguments*, an object or JSON text, without the nulls that stand for "not given" in a call of *tool*."""
    given = arguments
    if isinstance(arguments, str):
        if "null" not in arguments:
            return arguments
        try:
            given = loads(arguments)
        except ValueError:
            return arguments
    if not isinstance(given, dict) or not is_plain(given) or None not in _values(given):
        return arguments
    try:
        judge = tool.about.checker.judge
        if judge.is_valid(given):
            return arguments
        stripped = _Stripping(judge).of(given, tool.schema, judge.resolver)
    except Exception:  # noqa: BLE001 -- a courtesy; without it the check words what is wrong
        return arguments
    return arguments if stripped == given else stripped


def _values(value: Any) -> Iterator[Any]:
    """Everything that is not a container, and `...` for each container."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list)):
            waiting += each.values() if isinstance(each, dict) else each
            yield ...
        else:
            yield each


class _Stripping:
    """One call's arguments on their way through a schema."""

    def __init__(self, judge: Any) -> None:
        self._judge = judge
        self._left = _MOST_WORK

    def of(self, value: Any, schema: Any, resolver: Any) -> Any:
        """*value* without the nulls that *schema* refuses where it could do without the property."""
        if not isinstance(value, (dict, list)):
            return value
        parts = list(self._beside(schema, resolver))
        for part, inside in parts:
            for members in (part[union] for union in ("anyOf", "oneOf") if union in part):
                value = self._by_members(value, members, inside)
        return self._object(value, parts) if isinstance(value, dict) else self._array(value, parts)

    def _by_members(self, value: Any, members: list[Any], resolver: Any) -> Any:
        """*value* as the first member of a union wants it; as it is if one takes that, or none takes it either way."""
        if any(self._fits(value, member) for member in members):
            return value
        for member in members:
            candidate = self.of(value, member, resolver)
            if self._fits(candidate, member):
                return candidate
        return value

    def _object(self, value: dict[str, Any], parts: list[tuple[Mapping[str, Any], Any]]) -> dict[str, Any]:
        required = {name for part, _ in parts for name in part.get("required", ())}
        made: dict[str, Any] = {}
        for key, each in value.items():
            schemas = [(part["properties"][key], inside) for part, inside in parts if key in part.get("properties", ())]
            if each is None and schemas and key not in required:
                if all(self._fits(None, schema) for schema, _ in schemas):
                    made[key] = None
                continue
            schemas = schemas or [(part.get("additionalProperties"), inside) for part, inside in parts]
            for schema, inside in schemas:
                each = self.of(each, schema, inside)  # noqa: PLW2901 -- each schema takes its own nulls out
            made[key] = each
        return made

    def _array(self, value: list[Any], parts: list[tuple[Mapping[str, Any], Any]]) -> list[Any]:
        made = []
        for index, each in enumerate(value):
            for part, inside in parts:
                first = part.get("prefixItems", ())
                schema = first[index] if index < len(first) else part.get("items")
                each = self.of(each, schema, inside)  # noqa: PLW2901 -- as above
            made.append(each)
        return made

    def _fits(self, value: Any, schema: Any) -> bool:
        self._spend(sum(1 for _ in _values(value)))
        fits: bool = self._judge.evolve(schema=schema).is_valid(value)
        return fits

    def _beside(self, schema: Any, resolver: Any) -> Iterator[tuple[Mapping[str, Any], Any]]:
        """The schemas that all hold for one value: *schema*, what it refers to, what stands in its `allOf`."""
        self._spend(1)
        if not isinstance(schema, Mapping):
            return
        yield schema, resolver
        if isinstance(schema.get("$ref"), str):
            found = resolver.lookup(schema["$ref"])
            yield from self._beside(found.contents, found.resolver)
        for each in schema.get("allOf", ()):
            yield from self._beside(each, resolver)

    def _spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise ValueError("it would take too long")
