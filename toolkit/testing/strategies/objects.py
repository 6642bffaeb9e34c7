"""
Strategies for objects: which properties there are, which ones must come together, and which further ones may be added.

The smallest object has the required properties and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..._plumbing.graphs import find_reachable
from ...values.patterns import compile_pattern
from .base import Impossible, SchemaStrategy, Strategy, st
from .schema_parts import Part, Parts, find_limits
from .texts import texts_matching

__all__ = ["objects"]

BuildValue = Callable[[list[Part]], SchemaStrategy]
_MAX_EXTRA_PROPERTIES = 2
_MAX_NAME_DRAWS = 8


def objects(parts: Parts, build_value: BuildValue, fits: Callable[[Part, Any], bool]) -> SchemaStrategy:
    """
    Return a strategy for objects that fit *parts*; raise `Impossible` if no object does.

    *build_value* returns what draws a value that fits some parts. *fits* returns whether a name fits a part.
    """
    return _ObjectBuilder(parts, build_value, fits).build()


class _ObjectBuilder:
    """Builds the strategy for one kind of object: its known properties, and the way to find names of further ones."""

    def __init__(self, parts: Parts, build_value: BuildValue, fits: Callable[[Part, Any], bool]) -> None:
        self._parts = parts
        self._build_value = build_value
        self._fits = fits
        self._further_strategies: dict[tuple[int, ...], Strategy | None] = {}
        self._min_properties, self._max_properties = find_limits(parts, "Properties")
        self._dependent_names = _collect_dependent_names(parts)
        self._required = self._with_dependents(name for part in parts for name in part.schema.get("required", ()))
        self._known_strategies: dict[str, Strategy] = {}
        self._value_counts: dict[str, int | None] = {}
        self._forbidden: set[str] = set()
        self._is_exact = not any("unevaluatedProperties" in part.schema for part in parts)

    def build(self) -> SchemaStrategy:
        for name in self._mentioned_names():
            self._add_known_property(name)
        optional = [name for name in self._known_strategies if name not in self._required]
        optional = [name for name in optional if self._forbidden.isdisjoint(self._with_dependents([name]))]
        if self._max_properties is not None and len(self._required) > self._max_properties:
            raise self._build_impossible("maxProperties", f"is less than the {len(self._required)} that are required")
        keys = self._build_further_names()
        if keys is None and len(self._required) + len(optional) < self._min_properties:
            raise self._build_impossible(
                "minProperties", f"is more than the {len(self._known_strategies)} properties there are"
            )
        if self._min_properties > len(self._required) or (self._max_properties is not None and self._dependent_names):
            self._is_exact = False  # the number of properties in a drawn object depends on chance
        count = self._count_objects(optional) if keys is None else None
        return SchemaStrategy(self._build_object_strategy(optional, keys), count, self._is_exact)

    def _count_objects(self, optional: list[str]) -> int | None:
        """Return how many objects of known properties there are at most; None if the number is unknown."""
        total = 1
        for name in [*self._required, *optional]:
            count = self._value_counts[name]
            if count is None:
                return None
            total *= count + (name in optional)
        return total

    def _mentioned_names(self) -> Iterable[str]:
        """Return every name that the schema mentions; those without an entry in `properties` come last."""
        property_names = [name for part in self._parts for name in part.schema.get("properties", ())]
        return dict.fromkeys([*property_names, *self._required, *self._with_dependents(self._dependent_names)])

    def _add_known_property(self, name: str) -> None:
        try:
            values = self._property_values(name)
        except Impossible:
            if name in self._required:
                raise
            self._forbidden.add(name)
            return
        self._known_strategies[name] = values.strategy
        self._value_counts[name] = values.count
        self._is_exact = self._is_exact and values.exact

    def _property_values(self, name: str) -> SchemaStrategy:
        for part in self._name_parts():
            if not self._fits(part, name):
                raise Impossible("propertyNames", part.place, f"does not allow the name {name!r}")
        return self._build_value(self._value_parts(name))

    def _name_parts(self) -> list[Part]:
        return [part.below("propertyNames") for part in self._parts if "propertyNames" in part.schema]

    def _value_parts(self, name: str) -> list[Part]:
        """Return the schemas that the value of the property *name* has to fit."""
        value_parts: list[Part] = []
        is_evaluated = False
        for part in self._parts:
            local_parts = [part.below("properties", name)] if name in part.schema.get("properties", ()) else []
            local_parts += [
                part.below("patternProperties", source)
                for source in part.schema.get("patternProperties", ())
                if compile_pattern(source).search(name)
            ]
            if not local_parts and "additionalProperties" in part.schema:
                local_parts = [part.below("additionalProperties")]
            is_evaluated = is_evaluated or bool(local_parts)
            value_parts += local_parts
        if not is_evaluated:
            value_parts += [
                part.below("unevaluatedProperties") for part in self._parts if "unevaluatedProperties" in part.schema
            ]
        return value_parts

    # Names that the schema does not mention.

    def _build_further_names(self) -> Strategy | None:
        """Return a strategy for the names of further properties; None if there can be none."""
        patterns = dict.fromkeys(source for part in self._parts for source in part.schema.get("patternProperties", ()))
        strategies = [texts_matching(source, 0, None) for source in patterns]
        if not any(part.schema.get("additionalProperties") is False for part in self._parts):
            strategies.append(self._build_any_name())
        usable = [strategy for strategy in strategies if strategy is not None]
        if not usable:
            return None
        self._is_exact = False
        return st.one_of(usable)

    def _build_any_name(self) -> Strategy | None:
        name_parts = self._name_parts()
        text = {"type": "string"} if name_parts else {"type": "string", "maxLength": 12}
        try:
            return self._build_value([Part(text, None, ""), *name_parts]).strategy
        except Impossible:
            return None

    def _build_further_value(self, name: str) -> Strategy | None:
        """Return what draws the value of a further property; None if no further property can have this name."""
        if (
            name in self._known_strategies
            or name in self._forbidden
            or not all(self._fits(part, name) for part in self._name_parts())
        ):
            return None
        parts = self._value_parts(name)
        key = tuple(id(part.schema) for part in parts)
        if key not in self._further_strategies:
            try:
                self._further_strategies[key] = self._build_value(parts).strategy
            except Impossible:
                self._further_strategies[key] = None
        return self._further_strategies[key]

    # How an object is drawn.

    def _build_object_strategy(self, optional: list[str], further_names: Strategy | None) -> Strategy:
        strategies, required, least = self._known_strategies, self._required, self._min_properties
        most = 10**9 if self._max_properties is None else self._max_properties
        truth = st.booleans()

        def choose(draw: st.DrawFn) -> dict[str, Strategy]:
            chosen = dict.fromkeys(required)
            for index, name in enumerate(optional):
                together = dict.fromkeys([*chosen, *self._with_dependents([name])])
                remaining = sum(candidate not in chosen for candidate in optional[index:])
                is_needed = further_names is None and len(chosen) + remaining <= least
                if len(together) <= most and (is_needed or draw(truth)):
                    chosen = together
            return {name: strategies[name] for name in [*strategies, *chosen] if name in chosen}

        def further_counts(count: int) -> Strategy:
            missing = max(0, least - count)
            return st.integers(missing, max(missing, min(most - count, missing + _MAX_EXTRA_PROPERTIES)))

        @st.composite
        def draw_object(draw: st.DrawFn) -> dict[str, Any]:
            chosen = choose(draw)
            if further_names is not None:
                for _ in range(draw(further_counts(len(chosen)))):
                    self._add_further_property(draw, chosen, further_names)
            return {name: draw(strategy) for name, strategy in chosen.items()}

        return draw_object()

    def _add_further_property(self, draw: st.DrawFn, chosen: dict[str, Strategy], further_names: Strategy) -> None:
        """Add a further property to *chosen*, if a name for one is found."""
        for _ in range(_MAX_NAME_DRAWS):
            name = draw(further_names)
            strategy = None if name in chosen else self._build_further_value(name)
            if strategy is not None:
                chosen[name] = strategy
                return

    def _with_dependents(self, names: Iterable[str]) -> dict[str, None]:
        """Return *names* and the names of all properties that must come with them."""
        return find_reachable(names, lambda name: self._dependent_names.get(name, ()))

    def _build_impossible(self, keyword: str, why: str) -> Impossible:
        part = next(part for part in self._parts if keyword in part.schema)
        return Impossible(keyword, f"{part.place}/{keyword}", why)


def _collect_dependent_names(parts: Parts) -> Mapping[str, list[str]]:
    """Return for each name the properties that must come with it."""
    companions: dict[str, list[str]] = {}
    for part in parts:
        for name, others in part.schema.get("dependentRequired", {}).items():
            companions.setdefault(name, []).extend(others)
    return companions
