"""
Strategies for objects: which properties there are, which ones must come together, and which further ones may be added.

The smallest object has the required properties and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...values.patterns import compile_pattern
from .drawing import Made, one_of
from .lazy_hypothesis import Strategy, st
from .pattern_texts import matching
from .schema_parts import Part, Parts
from .unsupported import Impossible

__all__ = ["objects"]

Inner = Callable[[list[Part]], Made]
_MOST_EXTRAS = 2
_MOST_TRIES = 8


def objects(parts: Parts, inner: Inner, fits: Callable[[Part, Any], bool]) -> Made:
    """
    Return a strategy for objects that fit *parts*.

    Args:
        parts: The schemas that the object has to fit.
        inner: A function that returns what draws a value that fits some parts.
        fits: A function that returns whether the name of a property fits a part.

    Raises:
        Impossible: No object fits.
    """
    return _Object(parts, inner, fits).made()


class _Object:
    """Builds the strategy for one kind of object: its known properties, and the way to find names of further ones."""

    def __init__(self, parts: Parts, inner: Inner, fits: Callable[[Part, Any], bool]) -> None:
        self._parts = parts
        self._inner = inner
        self._fits = fits
        self._further: dict[tuple[int, ...], Strategy | None] = {}
        self._least = int(max((part.schema.get("minProperties", 0) for part in parts), default=0))
        most = min((part.schema["maxProperties"] for part in parts if "maxProperties" in part.schema), default=None)
        self._most = None if most is None else int(most)
        self._together = _together(parts)
        self._required = self._with_others(_required(parts))
        self._known: dict[str, Strategy] = {}
        self._counts: dict[str, int | None] = {}
        self._forbidden: set[str] = set()
        self._is_exact = not any("unevaluatedProperties" in part.schema for part in parts)

    def made(self) -> Made:
        for name in self._names():
            self._learn(name)
        optional = [name for name in self._known if name not in self._required]
        optional = [name for name in optional if self._forbidden.isdisjoint(self._with_others([name]))]
        if self._most is not None and len(self._required) > self._most:
            raise self._impossible("maxProperties", f"is less than the {len(self._required)} that are required")
        keys = self._keys()
        if keys is None and len(self._required) + len(optional) < self._least:
            raise self._impossible("minProperties", f"is more than the {len(self._known)} properties there are")
        if self._least > len(self._required) or (self._most is not None and self._together):
            self._is_exact = False  # the number of properties in a drawn object depends on chance
        count = self._count(optional) if keys is None else None
        return Made(self._build_object_strategy(optional, keys), count, self._is_exact)

    def _count(self, optional: list[str]) -> int | None:
        """Return how many objects of known properties there are at most; None if the number is unknown."""
        total = 1
        for name in [*self._required, *optional]:
            count = self._counts[name]
            if count is None:
                return None
            total *= count + (name in optional)
        return total

    def _names(self) -> Iterable[str]:
        """
        Return every name that the schema mentions, in the order of the schema.

        Names without an entry in `properties` come last: those that are required, alone or together with others.
        """
        property_names = [name for part in self._parts for name in part.schema.get("properties", ())]
        return dict.fromkeys([*property_names, *self._required, *self._with_others(self._together)])

    def _learn(self, name: str) -> None:
        try:
            values = self._property_values(name)
        except Impossible:
            if name in self._required:
                raise
            self._forbidden.add(name)
            return
        self._known[name] = values.strategy
        self._counts[name] = values.count
        self._is_exact = self._is_exact and values.exact

    def _property_values(self, name: str) -> Made:
        for part in self._named():
            if not self._fits(part, name):
                raise Impossible("propertyNames", part.place, f"does not allow the name {name!r}")
        return self._inner(self._at(name))

    def _named(self) -> list[Part]:
        return [part.below("propertyNames") for part in self._parts if "propertyNames" in part.schema]

    def _at(self, name: str) -> list[Part]:
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

    def _keys(self) -> Strategy | None:
        """Return a strategy for the names of further properties; None if there can be none."""
        patterns = {source: part for part in self._parts for source in part.schema.get("patternProperties", ())}
        strategies = [matching(source, 0, None) for source in patterns]
        closing = [part.schema.get("additionalProperties") for part in self._parts]
        if not any(schema is False for schema in closing):
            strategies.append(self._any_key())
        usable = [Made(strategy) for strategy in strategies if strategy is not None]
        if not usable:
            return None
        self._is_exact = False
        return one_of(usable).strategy

    def _any_key(self) -> Strategy | None:
        text = Part({"type": "string", "maxLength": 12}, None, "")
        try:
            if not self._named():
                return self._inner([text]).strategy
            return self._inner([Part({"type": "string"}, None, ""), *self._named()]).strategy
        except Impossible:
            return None

    def _value(self, name: str) -> Strategy | None:
        """Return what draws the value of a further property; None if no further property can have this name."""
        if name in self._known or name in self._forbidden or not all(self._fits(part, name) for part in self._named()):
            return None
        parts = self._at(name)
        key = tuple(id(part.schema) for part in parts)
        if key not in self._further:
            try:
                self._further[key] = self._inner(parts).strategy
            except Impossible:
                self._further[key] = None
        return self._further[key]

    # How an object is drawn.

    def _build_object_strategy(self, optional: list[str], keys: Strategy | None) -> Strategy:
        strategies, required, least = self._known, self._required, self._least
        most = 10**9 if self._most is None else self._most
        truth = st.booleans()

        def choose(draw: st.DrawFn) -> dict[str, Strategy]:
            chosen = dict.fromkeys(required)
            for index, name in enumerate(optional):
                together = dict.fromkeys([*chosen, *self._with_others([name])])
                remaining = sum(candidate not in chosen for candidate in optional[index:])
                is_needed = keys is None and len(chosen) + remaining <= least
                if len(together) <= most and (is_needed or draw(truth)):
                    chosen = together
            return {name: strategies[name] for name in [*strategies, *chosen] if name in chosen}

        def further(count: int) -> Strategy:
            missing = max(0, least - count)
            return st.integers(missing, max(missing, min(most - count, missing + _MOST_EXTRAS)))

        @st.composite
        def drawn(draw: st.DrawFn) -> dict[str, Any]:
            chosen = choose(draw)
            if keys is not None:
                for _ in range(draw(further(len(chosen)))):
                    self._add(draw, chosen, keys)
            return {name: draw(strategy) for name, strategy in chosen.items()}

        return drawn()

    def _add(self, draw: st.DrawFn, chosen: dict[str, Strategy], keys: Strategy) -> None:
        """Add a further property to *chosen*, if a name for one is found."""
        for _ in range(_MOST_TRIES):
            name = draw(keys)
            strategy = None if name in chosen else self._value(name)
            if strategy is not None:
                chosen[name] = strategy
                return

    def _with_others(self, names: Iterable[str]) -> dict[str, None]:
        """Return *names* and the names of all properties that must come with them."""
        all_names = dict.fromkeys(names)
        waiting = list(all_names)
        while waiting:
            for other in self._together.get(waiting.pop(), ()):
                if other not in all_names:
                    all_names[other] = None
                    waiting.append(other)
        return all_names

    def _impossible(self, keyword: str, why: str) -> Impossible:
        part = next(part for part in self._parts if keyword in part.schema)
        return Impossible(keyword, f"{part.place}/{keyword}", why)


def _required(parts: Parts) -> list[str]:
    return [name for part in parts for name in part.schema.get("required", ())]


def _together(parts: Parts) -> Mapping[str, list[str]]:
    """Return for each name the properties that must come with it."""
    companions: dict[str, list[str]] = {}
    for part in parts:
        for name, others in part.schema.get("dependentRequired", {}).items():
            companions.setdefault(name, []).extend(others)
    return companions
