"""
Draw values again until one fits.

Hypothesis would throw away values that do not fit silently and for ever, so they
are counted here. If none of a hundred different values, or of thirty examples, has
fitted, `Unsupported` is raised. It names the keyword that refused most of the values.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

from .arrays import equality_key
from .base import Strategy, Unsupported, hypothesis, st
from .schema_parts import Parts

__all__ = ["Guard", "Objection", "build_failed_check_class"]

_MAX_DRAWS = 20
"""How many times a value is drawn before hypothesis is told to reject the example."""

_MAX_REFUSED_VALUES = 100
_MAX_FAILED_EXAMPLES = 30
"""How many different values, and how many examples, may fail before the guard gives up, if no value has ever fitted."""

Objection = tuple[str, str]
"""The keyword that refuses a value, and the keyword's place in the schema."""


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
                    return "schema", place  # jsonschema itself fails on the value, so no call would be accepted
                if error is not None:
                    return str(error.validator), "/".join([place, *map(str, error.schema_path)])
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
        (keyword, place), _ = Counter(self._objections.values()).most_common(1)[0]
        raise build_failed_check_class()(
            f"{self._subject}: none of the values that were drawn fits; `{keyword}` at {place} refused most of "
            f"them. Write the schema so that values can be drawn from it, or make them yourself",
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
