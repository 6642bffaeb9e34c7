"""
Several schemas that all hold, or of which one has to, as one schema that says no more than they do.

What finds no room in it is given back, to be said in words. Checks never use
it. Schemas come from strangers too: whatever they refer to is looked at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["definition_name", "definition_of", "flattened", "joined", "types_of"]

_UNIONS = ("anyOf", "oneOf")
_NOT_AT_THE_TOP = ("$ref", "allOf", *_UNIONS, "enum", "const", "not", "if", "then", "else")
_PREFIX = "#/$defs/"


def definition_of(reference: Any, definitions: Mapping[str, Any]) -> Any:
    """What a `$ref` into `$defs` means; None for any other reference."""
    if not isinstance(reference, str) or not reference.startswith(_PREFIX):
        return None
    return definitions.get(definition_name(reference))


def definition_name(reference: str) -> str:
    """The key in `$defs` that *reference* names."""
    return reference.removeprefix(_PREFIX).replace("~1", "/").replace("~0", "~")


def types_of(schema: Any, definitions: Mapping[str, Any]) -> list[str]:
    """The types that *schema* states, also through references and unions; empty if it says nothing of them."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop(0)
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        if "type" in part:
            found.update(dict.fromkeys([part["type"]] if isinstance(part["type"], str) else part["type"]))
        else:
            waiting += [each for keyword in (*_UNIONS, "allOf") for each in part.get(keyword, ())]
            waiting.append(definition_of(part.get("$ref"), definitions))
    return list(found)


def joined(parts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """One schema for values that fit all of *parts*, and the keywords that found no room in it."""
    made: dict[str, Any] = {}
    unsaid: dict[str, Any] = {}
    for part in parts:
        for keyword, value in part.items():
            if keyword not in made:
                made[keyword] = value
            elif keyword == "properties":
                made[keyword] = {**value, **made[keyword]}
            elif keyword == "required":
                made[keyword] = list(dict.fromkeys((*made[keyword], *value)))
            elif keyword == "description":
                made[keyword] = made[keyword] if value in made[keyword] else f"{made[keyword]} {value}"
            elif value != made[keyword] and keyword not in ("title", "additionalProperties"):
                unsaid[keyword] = value
    return made, unsaid


def flattened(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    A schema of arguments without what providers refuse at its top, and the keywords that were left out.

    Of a union, all properties that a member declares may be given, and those that every member requires must be.
    """
    left_out = {keyword: schema[keyword] for keyword in _NOT_AT_THE_TOP if keyword in schema}
    if not left_out:
        return dict(schema), {}
    try:
        made = dict(_Flattening(schema.get("$defs", {})).of(schema))
    except RecursionError:  # references in a long row: what the schema says itself has to do
        made = {keyword: value for keyword, value in schema.items() if keyword not in left_out}
    made["type"] = "object"
    made.setdefault("properties", {})
    return made, left_out


class _Flattening:
    """Schemas on their way to being without combinations, each taken apart once."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._known: dict[int, dict[str, Any]] = {}

    def of(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        if id(schema) not in self._known:
            self._known[id(schema)] = {}  # for a schema that comes back to itself
            own = {keyword: value for keyword, value in schema.items() if keyword not in _NOT_AT_THE_TOP}
            target = definition_of(schema.get("$ref"), self._definitions)
            parts = [own, self.of(target), *map(self.of, schema.get("allOf", ()))]
            parts += [_either([self.of(each) for each in schema[union]]) for union in _UNIONS if union in schema]
            self._known[id(schema)] = joined(parts)[0]
        return self._known[id(schema)]


def _either(members: list[dict[str, Any]]) -> dict[str, Any]:
    """What is true of a value that fits one of *members*, as far as they declare its properties."""
    offered: dict[str, list[Any]] = {}
    for member in members:
        for name, schema in member.get("properties", {}).items():
            known = offered.setdefault(name, [])
            known += [] if schema in known else [schema]
    made: dict[str, Any] = {
        "properties": {name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in offered.items()}
    }
    required = [name for name in offered if all(name in member.get("required", ()) for member in members)]
    if required:
        made["required"] = required
    if members and all(member.get("additionalProperties") is False for member in members):
        made["additionalProperties"] = False
    return made
