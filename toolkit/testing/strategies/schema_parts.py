"""
Split a schema into the parts that one value has to fit, all at the same time.

A value has to fit a list of `Part`s. `flatten` follows references and `allOf`, so that every part a value has to fit is
in the list. `find_alternatives` takes one option of every `anyOf`, `oneOf`, `if` and `dependentSchemas`, so that no
choice is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from ..._plumbing.graphs import find_reachable
from ...values.schemas.validator import compile_schema
from ...values.schemas.vocabulary import JSON_TYPES, UNION_KEYWORDS, stated_types
from .base import Impossible

__all__ = ["FlatParts", "ParsedSchema", "Part", "Parts", "find_limits", "types_of"]

_MAX_ALTERNATIVES = 64
_MAX_STEPS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """
    A schema that a value has to fit.

    Attributes:
        schema: The schema: a mapping, or true or false.
        resolver: The object that resolves the references in the schema.
        place: The place of the schema, from the root: "#/properties/name".
    """

    schema: Any
    resolver: Any
    place: str

    def below(self, *steps: str | int) -> Part:
        """Return the schema inside this one that *steps* lead to."""
        schema = self.schema
        for step in steps:
            schema = schema[step]
        return Part(schema, self.inner_resolver, "/".join([self.place, *map(str, steps)]))

    @property
    def inner_resolver(self) -> Any:
        """The resolver of the references in the schemas inside this one."""
        if not isinstance(self.schema.get("$id"), str):
            return self.resolver
        from referencing.jsonschema import DRAFT202012

        return self.resolver.in_subresource(DRAFT202012.create_resource(self.schema))


Parts: TypeAlias = Sequence[Part]
FlatParts: TypeAlias = tuple[list[Part], int]
"""Parts with every reference and `allOf` followed, and 1 if one of the references leads back to itself, otherwise 0."""


def types_of(parts: Parts) -> list[str]:
    """Return the JSON types that all of *parts* allow, the simplest first; raise `Impossible` if there is none."""
    remaining = set(JSON_TYPES) - {"integer"}
    for part in parts:
        allowed = set(stated_types(part.schema))
        if allowed:
            if "number" in remaining and "integer" in allowed and "number" not in allowed:
                remaining = (remaining - {"number"}) | {"integer"}
            remaining &= allowed | ({"integer"} if "number" in allowed else set())
        negated = part.schema.get("not")
        if isinstance(negated, Mapping) and negated.keys() == {"type"}:
            forbidden = set(stated_types(negated))
            remaining -= forbidden | ({"integer"} if "number" in forbidden else set())
        if not remaining:
            raise Impossible("type", part.place, "leaves no type of value")
    # An example shrinks to the simplest type.
    return [kind for kind in JSON_TYPES if kind in remaining]


def find_limits(parts: Parts, noun: str) -> tuple[int, int | None]:
    """Return the narrowest limits of *parts* for "Length", "Items" or "Properties"; None if there is no upper one."""
    least = max((part.schema.get(f"min{noun}", 0) for part in parts), default=0)
    most = min((part.schema[f"max{noun}"] for part in parts if f"max{noun}" in part.schema), default=None)
    return int(least), None if most is None else int(most)


class ParsedSchema:
    """
    A schema that was read once, so that values can be drawn from its parts.

    Attributes:
        validator: The validator of the schema.
        root: The whole schema, as a part.
        has_nested_ids: Whether `$id`s inside the schema change what references mean there. If they do, a part cannot be
            judged by itself.
    """

    def __init__(self, schema: Any) -> None:
        self.validator = compile_schema(schema)
        self.root = Part(schema, self.validator.resolver, "#")
        self.has_nested_ids = False
        self._recursive_ids = self._find_recursive_ids()

    def flatten(self, parts: Parts) -> FlatParts:
        """
        Return *parts* and all parts that their references and `allOf` lead to, without those that have the schema true.

        No schema comes twice. A part with the schema false raises `Impossible`.
        """
        flat: list[Part] = []
        visited: set[int] = set()
        steps = 0
        waiting = list(reversed(parts))
        while waiting:
            part = waiting.pop()
            if part.schema is False:
                raise Impossible("false", part.place, "allows nothing")
            if part.schema is True or id(part.schema) in visited:
                continue
            visited.add(id(part.schema))
            flat.append(part)
            beside = [part.below("allOf", index) for index in range(len(part.schema.get("allOf", ())))]
            for target in _iter_reference_targets(part):
                beside.append(target)
                steps |= id(target.schema) in self._recursive_ids
            waiting += reversed(beside)
        return flat, steps

    def find_alternatives(self, parts: Parts) -> list[FlatParts]:
        """
        Return the possible ways to make every choice in *parts*, each as `flatten` returns it.

        The number of ways and the steps to find them are bounded. If no way is found, `Impossible` is raised.
        """
        reasons: list[Impossible] = []
        ways = self._iter_alternatives(tuple(parts), frozenset(), reasons, [_MAX_STEPS])
        first_ways = list(islice(ways, _MAX_ALTERNATIVES))
        if not first_ways:
            raise reasons[0] if reasons else Impossible("anyOf", parts[0].place, "has too many ways to try")
        return first_ways

    def _iter_alternatives(
        self,
        parts: tuple[Part, ...],
        decided: frozenset[tuple[int, str]],
        reasons: list[Impossible],
        steps_left: list[int],
    ) -> Iterator[FlatParts]:
        steps_left[0] -= 1
        if steps_left[0] < 0:
            return
        try:
            flat, steps = self.flatten(parts)
            types_of(flat)
        except Impossible as reason:
            reasons.append(reason)
            return
        for part in flat:
            for key, options in _iter_choices(part):
                if (id(part.schema), key) not in decided:
                    for option in sorted(options, key=self._rank):
                        yield from self._iter_alternatives(
                            (*parts, *option), decided | {(id(part.schema), key)}, reasons, steps_left
                        )
                    return
        yield flat, steps

    def _rank(self, option: tuple[Part, ...]) -> tuple[int, int]:
        """Return how simple the simplest value of an option is: by its type, then by its required properties."""
        try:
            flat, _ = self.flatten(option)
            return JSON_TYPES.index(types_of(flat)[0]), sum(len(part.schema.get("required", ())) for part in flat)
        except Impossible:
            return len(JSON_TYPES), 0

    def _find_recursive_ids(self) -> frozenset[int]:
        """
        Return the ids of the schemas from which references lead back to the same schema.

        Set `has_nested_ids` on the way.
        """
        direct: dict[int, set[int]] = {}
        waiting = [self.root]
        while waiting:
            holder = waiting.pop()
            if id(holder.schema) in direct:
                continue
            targets = direct[id(holder.schema)] = set()
            inner = [holder]
            while inner:
                part = inner.pop()
                if isinstance(part.schema, list):
                    inner += [Part(child, part.resolver, "") for child in part.schema]
                elif isinstance(part.schema, Mapping):
                    self.has_nested_ids |= (
                        isinstance(part.schema.get("$id"), str) and part.schema is not self.root.schema
                    )
                    resolver = part.inner_resolver
                    inner += [Part(child, resolver, "") for child in part.schema.values()]
                    for target in _iter_reference_targets(part, skip_unresolvable=True):
                        targets.add(id(target.schema))
                        waiting.append(target)
        return frozenset(start for start in direct if start in find_reachable(direct[start], direct.__getitem__))


def _iter_reference_targets(part: Part, *, skip_unresolvable: bool = False) -> Iterator[Part]:
    """
    Yield the schemas that the references of *part* lead to.

    If *part* may be no schema, its `$ref` may be no reference. Then *skip_unresolvable* skips what cannot be resolved.
    """
    from referencing.exceptions import Unresolvable

    for keyword in ("$ref", "$dynamicRef"):
        reference = part.schema.get(keyword)
        if isinstance(reference, str):
            try:
                resolved = part.inner_resolver.lookup(reference)
            except (Unresolvable, LookupError, ValueError):
                if not skip_unresolvable:
                    raise
            else:
                place = reference if reference.startswith("#") else f"{part.place}/{keyword}"
                yield Part(resolved.contents, resolved.resolver, place)


def _iter_choices(part: Part) -> Iterator[tuple[str, list[tuple[Part, ...]]]]:
    """Yield each choice that *part* leaves: the key of the choice, and the parts that each option adds."""
    schema = part.schema
    for keyword in UNION_KEYWORDS:
        if keyword in schema:
            yield keyword, [(part.below(keyword, index),) for index in range(len(schema[keyword]))]
    if "if" in schema and ("then" in schema or "else" in schema):
        met = (part.below("if"), part.below("then")) if "then" in schema else (part.below("if"),)
        yield "if", [met, (part.below("else"),) if "else" in schema else ()]
    for name in schema.get("dependentSchemas", ()):
        place = f"{part.place}/dependentSchemas/{name}"
        without = Part({"properties": {name: False}}, part.resolver, place)
        beside = Part({"type": "object", "required": [name]}, part.resolver, place)
        yield f"dependentSchemas/{name}", [(without,), (beside, part.below("dependentSchemas", name))]
