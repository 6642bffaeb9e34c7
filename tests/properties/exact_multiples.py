"""Plain jsonschema, except that rounding does not spoil its multiples."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from jsonschema import ValidationError, validators


def with_exact_multiples(validator_class: Any) -> Any:
    """Return a class of validators that also take what is a multiple by the digits of both numbers, such as 0.3."""
    divide = validator_class.VALIDATORS["multipleOf"]

    def check(validator: Any, factor: Any, instance: Any, schema: Any) -> Any:
        try:
            errors = list(divide(validator, factor, instance, schema) or ())
        except OverflowError:  # an integer is beyond every float
            errors = [ValidationError(f"{instance!r} is not a multiple of {factor!r}")]
        for error in errors:
            if Fraction(repr(instance)) % Fraction(repr(factor)):
                yield error

    return validators.extend(validator_class, {"multipleOf": check})
