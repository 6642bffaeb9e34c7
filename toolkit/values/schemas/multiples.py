"""Tell whether a number is a multiple of another, as JSON writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._lazy_names import LazyModule

if TYPE_CHECKING:
    import fractions
else:
    fractions = LazyModule("fractions")

__all__ = ["is_multiple"]


def is_multiple(value: float, factor: float) -> bool:
    """
    Return whether *value* is a multiple of *factor*.

    What jsonschema's division finds to be a multiple is one. Where rounding may have spoiled the quotient, as in
    19.99 / 0.01, and where a number is beyond every float, the digits of the two numbers decide.
    """
    try:
        if isinstance(factor, int):
            return not value % factor
        if (value / factor).is_integer():
            return True
    except OverflowError:  # an integer has no float
        pass
    return (_as_written(value) / _as_written(factor)).denominator == 1


def _as_written(number: float) -> fractions.Fraction:
    return fractions.Fraction(float.__repr__(number) if isinstance(number, float) else number)
