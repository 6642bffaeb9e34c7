"""
Make a strategy that draws values which fit a schema.

Each part of a schema is drawn from its keywords. Some keywords (`not`, `oneOf`, multiples of a fraction) cannot be
drawn from directly. Their values are drawn from the other keywords and judged, and drawn again if they do not fit. A
schema that contains itself is followed a few times and then ends at the nearest leaf.

Hypothesis would throw away values that do not fit silently and for ever, so they are counted here. If none of a hundred
different values, or of thirty examples, has fitted, `Unsupported` is raised. It names the keyword that refused most of
the values.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from ...values.schemas.keywords import equality_key
from ...values.strictjson.checks import copy_json
from .arrays import arrays
from .base import Impossible, SchemaStrategy, Strategy, Unsupported, hypothesis, one_of, st
from .numbers import numbers
from .objects import objects
from .schema_parts import FlatParts, ParsedSchema, Part, Parts, types_of
from .texts import texts

__all__ = ["Guard", "Objection", "anything", "build_failed_check_class", "fitting_values", "nearly_fitting_values"]

_DEPTHS = (3, 8, 20, 48)
"""How many times references that lead back to themselves are followed. More is tried if less allows no value at all."""

_JUDGED_KEYWORDS = frozenset(["not", "oneOf", "if", "$dynamicRef"])
"""Keywords that a value may fail to fit if it is drawn from the other keywords."""

_MAX_DRAWS = 20
"""How many times a value is drawn before hypothesis is told to reject the example."""

_MAX_REFUSED_VALUES = 100
_MAX_FAILED_EXAMPLES = 30
"""How many different values, and how many examples, may fail before the guard gives up, if no value has ever fitted."""


class Objection(NamedTuple):
    """Which keyword refuses a value, its place in the schema, and for a check that no keyword states, what it says."""

    keyword: str
    place: str
    reason: str = ""


"""The keyword that refuses a value, and the keyword's place in the schema."""


def fitting_values(parsed_schema: ParsedSchema, subject: str) -> Strategy:
    """
    Return a strategy for values that fit the schema of *parsed_schema*. Messages name *subject*.

    If no value fits, or too few of the drawn values do, `Unsupported` is raised here or while drawing.
    """
    strategy = _build_strategy(parsed_schema, subject, with_guards=True)
    return Guard.restrict_to_parts(strategy, parsed_schema.validator, [parsed_schema.root], subject)


def nearly_fitting_values(parsed_schema: ParsedSchema, subject: str) -> Strategy:
    """Return the strategy of `fitting_values` without its judge: where few values fit, it also draws others."""
    return _build_strategy(parsed_schema, subject, with_guards=False)


def _build_strategy(parsed_schema: ParsedSchema, subject: str, *, with_guards: bool) -> Strategy:
    for depth in _DEPTHS:
        try:
            builder = _StrategyBuilder(parsed_schema, depth, subject, with_guards=with_guards)
            return builder.build([parsed_schema.root], depth).strategy
        except Impossible as reason:
            if reason.is_starved and depth != _DEPTHS[-1]:
                continue
            message = f"{subject}: no value fits its schema: {reason}; mend the schema"
            raise Unsupported(message, keyword=reason.keyword, place=reason.place) from None
        except RecursionError:
            message = f"{subject}: its schema is nested too deeply to be drawn from; nest it less"
            raise Unsupported(message, keyword="schema", place="#") from None
    raise AssertionError("unreachable")  # pragma: no cover -- the last depth returns or raises


class _StrategyBuilder:
    """Builds one strategy, and follows references that lead back to themselves to one depth."""

    def __init__(self, parsed_schema: ParsedSchema, depth: int, subject: str, *, with_guards: bool) -> None:
        self._parsed_schema = parsed_schema
        self._depth = depth
        self._subject = subject
        self._with_guards = with_guards
        # The key holds the ids of the schemas. The parts are kept with the result, so that no id is used again.
        self._cache: dict[tuple[Any, ...], tuple[Parts, SchemaStrategy | Impossible]] = {}

    def build(self, parts: Parts, depth: int) -> SchemaStrategy:
        """Return what draws values that fit all of *parts*; raise `Impossible` if no value does."""
        key = (depth, *(id(part.schema) for part in parts))
        if key not in self._cache:
            try:
                result: SchemaStrategy | Impossible = self._build_uncached(parts, depth)
            except Impossible as reason:
                result = reason
            self._cache[key] = parts, result
        result = self._cache[key][1]
        if isinstance(result, Impossible):
            raise result
        return result

    def _build_uncached(self, parts: Parts, depth: int) -> SchemaStrategy:
        flat, _ = self._parsed_schema.flatten(parts)
        if not any(part.schema for part in flat):
            return SchemaStrategy(anything())
        options, reasons = _try_choices(
            self._parsed_schema.find_alternatives(parts),
            lambda alternative: self._build_alternative(parts, alternative, depth),
        )
        if not options:
            raise min(reasons, key=lambda reason: not reason.is_starved)
        return self._add_guard(parts, one_of(options))

    def _build_alternative(self, parts: Parts, alternative: FlatParts, depth: int) -> SchemaStrategy:
        flat, steps = alternative
        if depth < steps:
            raise Impossible("$ref", flat[0].place, "leads back to itself without end", is_starved=True)
        constants = self._build_constants(parts, flat)
        if constants is not None:
            return constants
        needs_judge = any(not _JUDGED_KEYWORDS.isdisjoint(part.schema) for part in flat)
        for part in flat:
            if part.schema.get("not") in (True, {}):
                raise Impossible("not", f"{part.place}/not", "allows nothing")
        options, reasons = _try_choices(types_of(flat), lambda kind: self._build_type(kind, flat, depth - steps))
        if not options:
            raise min(reasons, key=lambda reason: not reason.is_starved)
        union = one_of(options)
        return SchemaStrategy(union.strategy, union.count, union.exact and not needs_judge)

    def _build_type(self, kind: str, flat: Parts, depth: int) -> SchemaStrategy:
        def build_inner(parts: list[Part]) -> SchemaStrategy:
            return self.build(parts, depth)

        match kind:
            case "null":
                return SchemaStrategy(st.none(), 1)
            case "boolean":
                return SchemaStrategy(st.booleans(), 2)
            case "integer" | "number":
                return numbers(flat, whole=kind == "integer")
            case "string":
                return texts(flat)
            case "array":
                return arrays(flat, build_inner, max_extra_items=6 if depth == self._depth else 2)
            case _:
                return objects(flat, build_inner, self._fits)

    def _build_constants(self, parts: Parts, flat: Parts) -> SchemaStrategy | None:
        """Return what draws the constants that fit all of *parts*; None if *flat* has no `enum` and no `const`."""
        lists = [(part, "enum", part.schema["enum"]) for part in flat if "enum" in part.schema]
        lists += [(part, "const", [part.schema["const"]]) for part in flat if "const" in part.schema]
        if not lists:
            return None
        part, keyword, values = min(lists, key=lambda entry: len(entry[2]))
        differing: dict[Any, Any] = {}
        for value in values:
            differing.setdefault(equality_key(value), value)
        fitting = [value for value in differing.values() if all(self._fits(other, value) for other in (*parts, *flat))]
        if not fitting:
            raise Impossible(keyword, f"{part.place}/{keyword}", "has no value that fits the rest")
        return SchemaStrategy(st.sampled_from(fitting).map(copy_json), len(fitting))

    def _fits(self, part: Part, value: Any) -> bool:
        # A part cannot be judged by itself if there are `$id`s. The validator of the whole schema judges it later.
        if self._parsed_schema.has_nested_ids:
            return True
        try:
            return self._parsed_schema.validator.evolve(schema=part.schema).is_valid(value)
        except (ArithmeticError, ValueError, RecursionError):
            return False  # jsonschema itself fails on such a value

    def _add_guard(self, parts: Parts, unguarded: SchemaStrategy) -> SchemaStrategy:
        if unguarded.exact or self._parsed_schema.has_nested_ids or not self._with_guards:
            return unguarded
        return SchemaStrategy(
            Guard.restrict_to_parts(unguarded.strategy, self._parsed_schema.validator, parts, self._subject),
            unguarded.count,
        )


def _try_choices(choices: Any, build: Callable[[Any], SchemaStrategy]) -> tuple[list[SchemaStrategy], list[Impossible]]:
    """Return what *build* makes of *choices*, and the reasons why the other choices are impossible."""
    options: list[SchemaStrategy] = []
    reasons: list[Impossible] = []
    for choice in choices:
        try:
            options.append(build(choice))
        except Impossible as reason:
            reasons.append(reason)
    return options, reasons


def anything() -> Strategy:
    """Return a strategy for small JSON values of any type."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)

    def build_containers(inner: Strategy) -> Strategy:
        return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)

    return st.recursive(leaves | st.text(max_size=8), build_containers, max_leaves=6)


class Guard:
    """Filters drawn values, and gives up if none ever fits. *subject* is the name of the tool or schema in messages."""

    def __init__(self, find_objection: Callable[[Any], Objection | None], subject: str) -> None:
        self._find_objection = find_objection
        self._subject = subject
        self._has_fitted = False
        # The refusals are kept by value, because hypothesis draws the simplest value again and again.
        self._objections: dict[Any, Objection] = {}
        self._failed_examples = 0

    @classmethod
    def restrict_to_parts(cls, strategy: Strategy, schema_validator: Any, parts: Parts, subject: str) -> Strategy:
        """Return *strategy*, restricted to values that fit all of *parts*."""
        judges = [(schema_validator.evolve(schema=part.schema), part.place) for part in parts]

        def find_objection(value: Any) -> Objection | None:
            for validator, place in judges:
                try:
                    error = next(validator.iter_errors(value), None)
                except (ArithmeticError, ValueError, RecursionError):
                    return Objection(
                        "schema", place
                    )  # jsonschema itself fails on the value, so no call would be accepted
                if error is not None:
                    return Objection(str(error.validator), "/".join([place, *map(str, error.schema_path)]))
            return None

        return cls(find_objection, subject).restrict(strategy)

    def restrict(self, strategy: Strategy) -> Strategy:
        """Return *strategy*, restricted to values that have no objection."""

        @st.composite
        def draw_fitting_value(draw: st.DrawFn) -> Any:
            for _ in range(_MAX_DRAWS):
                value = draw(strategy)
                refusal = self._find_objection(value)
                if refusal is None:
                    self._has_fitted = True
                    self._objections.clear()
                    return value
                if not self._has_fitted:
                    self._objections[equality_key(value)] = refusal
            # If there are few choices, hypothesis would have tried them all, and end before the guard gives up.
            draw(st.integers())
            self._give_up_if_hopeless()
            return hypothesis.reject()

        return draw_fitting_value()

    def _give_up_if_hopeless(self) -> None:
        self._failed_examples += 1
        is_hopeless = self._failed_examples >= _MAX_FAILED_EXAMPLES or len(self._objections) >= _MAX_REFUSED_VALUES
        if self._has_fitted or not is_hopeless:
            return
        objections = self._objections.values()
        (keyword, place), _ = Counter((keyword, place) for keyword, place, _ in objections).most_common(1)[0]
        blame, remedy = f"`{keyword}` at {place} refused most of them", "Write the schema"
        if reason := next(reason for *key, reason in objections if key == [keyword, place]):
            blame = f"most of them were refused by {keyword}, as here: {reason}"
            remedy = "Give the tool `examples=`, write the schema"
        raise build_failed_check_class()(
            f"{self._subject}: none of the values that were drawn fits; {blame}. "
            f"{remedy} so that values can be drawn from it, or make them yourself",
            keyword=keyword,
            place=place,
        )


@functools.cache
def build_failed_check_class() -> type[Unsupported]:
    """
    Return a subclass of `Unsupported` that hypothesis takes for a failed health check.

    Hypothesis would take any other exception for a bug in the test, and shrink the example.
    """

    class FailedCheck(Unsupported, hypothesis.errors.FailedHealthCheck):
        pass

    FailedCheck.__name__ = FailedCheck.__qualname__ = Unsupported.__name__
    return FailedCheck
