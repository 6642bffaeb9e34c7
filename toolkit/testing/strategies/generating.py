"""
Make a strategy that draws values which fit a schema.

Each part of a schema is drawn from its keywords. Some keywords (`not`, `oneOf`,
multiples of a fraction) cannot be drawn from directly. Their values are drawn from
the other keywords and judged, and drawn again if they do not fit. A schema that
contains itself is followed a few times and then ends at the nearest leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...values.strictjson.checks import copied
from .arrays import arrays, identity
from .drawing import Made, one_of
from .filtering import Guard
from .lazy_hypothesis import Strategy, st
from .numbers import numbers
from .objects import objects
from .schema_parts import Flat, Part, Parts, Reading, types_of
from .texts import texts
from .unsupported import Impossible, Unsupported

__all__ = ["anything", "fitting", "nearly_fitting"]

_DEPTHS = (3, 8, 20, 48)
"""How many times references that lead back to themselves are followed. More is tried if less allows no value at all."""

_JUDGED_KEYWORDS = frozenset(["not", "oneOf", "if", "$dynamicRef"])
"""Keywords that a value may fail to fit if it is drawn from the other keywords."""


def fitting(reading: Reading, subject: str) -> Strategy:
    """
    Return a strategy for values that fit the schema of *reading*.

    Raises:
        Unsupported: No value fits, or too few of the drawn values do. The message names *subject*. It can also be
            raised while drawing.
    """
    return Guard.around(_build_strategy(reading, subject, judged=True), reading.judge, [reading.root], subject)


def nearly_fitting(reading: Reading, subject: str) -> Strategy:
    """Return the strategy of `fitting` without its judge. Where few values fit, it also draws values that do not."""
    return _build_strategy(reading, subject, judged=False)


def _build_strategy(reading: Reading, subject: str, *, judged: bool) -> Strategy:
    for depth in _DEPTHS:
        try:
            return _Generator(reading, depth, subject, judged=judged).made([reading.root], depth).strategy
        except Impossible as reason:
            if reason.is_starved and depth != _DEPTHS[-1]:
                continue
            raise Unsupported(
                f"{subject}: no value fits its schema: {reason}; mend the schema",
                keyword=reason.keyword,
                place=reason.place,
            ) from None
        except RecursionError:
            raise Unsupported(
                f"{subject}: its schema is nested too deeply to be drawn from; nest it less",
                keyword="schema",
                place="#",
            ) from None
    raise AssertionError("unreachable")  # pragma: no cover -- the last depth returns or raises


class _Generator:
    """Builds one strategy, and follows references that lead back to themselves to one depth."""

    def __init__(self, reading: Reading, depth: int, subject: str, *, judged: bool) -> None:
        self._reading = reading
        self._depth = depth
        self._subject = subject
        self._judged = judged
        # The key holds the ids of the schemas. The parts are kept with the result, so that no id is used again.
        self._known: dict[tuple[Any, ...], tuple[Parts, Made | Impossible]] = {}

    def made(self, parts: Parts, depth: int) -> Made:
        """Return what draws values that fit all of *parts*; raise `Impossible` if no value does."""
        key = (depth, *(id(part.schema) for part in parts))
        if key not in self._known:
            try:
                result: Made | Impossible = self._made(parts, depth)
            except Impossible as reason:
                result = reason
            self._known[key] = parts, result
        result = self._known[key][1]
        if isinstance(result, Impossible):
            raise result
        return result

    def _made(self, parts: Parts, depth: int) -> Made:
        flat, _ = self._reading.flattened(parts)
        if not any(part.schema for part in flat):
            return Made(anything())
        options, reasons = _try_choices(
            self._reading.alternatives(parts), lambda alternative: self._of_alternative(parts, alternative, depth)
        )
        if not options:
            raise min(reasons, key=lambda reason: not reason.is_starved)
        return self._add_guard(parts, one_of(options))

    def _of_alternative(self, parts: Parts, alternative: Flat, depth: int) -> Made:
        flat, steps = alternative
        if depth < steps:
            raise Impossible("$ref", flat[0].place, "leads back to itself without end", is_starved=True)
        constants = self._constants(parts, flat)
        if constants is not None:
            return constants
        needs_judge = any(not _JUDGED_KEYWORDS.isdisjoint(part.schema) for part in flat)
        for part in flat:
            if part.schema.get("not") in (True, {}):
                raise Impossible("not", f"{part.place}/not", "allows nothing")
        options, reasons = _try_choices(types_of(flat), lambda kind: self._of_type(kind, flat, depth - steps))
        if not options:
            raise min(reasons, key=lambda reason: not reason.is_starved)
        union = one_of(options)
        return Made(union.strategy, union.count, union.exact and not needs_judge)

    def _of_type(self, kind: str, flat: Parts, depth: int) -> Made:
        def inner(parts: list[Part]) -> Made:
            return self.made(parts, depth)

        match kind:
            case "null":
                return Made(st.none(), 1)
            case "boolean":
                return Made(st.booleans(), 2)
            case "integer" | "number":
                return numbers(flat, whole=kind == "integer")
            case "string":
                return texts(flat)
            case "array":
                return arrays(flat, inner, room=6 if depth == self._depth else 2)
            case _:
                return objects(flat, inner, self._fits)

    def _constants(self, parts: Parts, flat: Parts) -> Made | None:
        """Return what draws the constants that fit all of *parts*; None if *flat* has no `enum` and no `const`."""
        lists = [(part, "enum", part.schema["enum"]) for part in flat if "enum" in part.schema]
        lists += [(part, "const", [part.schema["const"]]) for part in flat if "const" in part.schema]
        if not lists:
            return None
        part, keyword, values = min(lists, key=lambda entry: len(entry[2]))
        differing: dict[Any, Any] = {}
        for value in values:
            differing.setdefault(identity(value), value)
        fitting = [value for value in differing.values() if all(self._fits(other, value) for other in (*parts, *flat))]
        if not fitting:
            raise Impossible(keyword, f"{part.place}/{keyword}", "has no value that fits the rest")
        return Made(st.sampled_from(fitting).map(copied), len(fitting))

    def _fits(self, part: Part, value: Any) -> bool:
        # A part cannot be judged by itself if there are `$id`s. The validator of the whole schema judges it later.
        if self._reading.has_bases:
            return True
        try:
            return self._reading.judge.evolve(schema=part.schema).is_valid(value)
        except (ArithmeticError, ValueError, RecursionError):
            return False  # jsonschema itself fails on such a value

    def _add_guard(self, parts: Parts, unguarded: Made) -> Made:
        if unguarded.exact or self._reading.has_bases or not self._judged:
            return unguarded
        return Made(Guard.around(unguarded.strategy, self._reading.judge, parts, self._subject), unguarded.count)


def _try_choices(choices: Any, make: Callable[[Any], Made]) -> tuple[list[Made], list[Impossible]]:
    """Return what *make* makes of *choices*, and the reasons why the other choices are impossible."""
    options: list[Made] = []
    reasons: list[Impossible] = []
    for choice in choices:
        try:
            options.append(make(choice))
        except Impossible as reason:
            reasons.append(reason)
    return options, reasons


def anything() -> Strategy:
    """Return a strategy for small JSON values of any type."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    )

    def deeper(inner: Strategy) -> Strategy:
        containers: Strategy = st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        return containers

    return st.recursive(leaves, deeper, max_leaves=6)
