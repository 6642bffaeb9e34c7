"""
Strategies for numbers within bounds, and for multiples.

An integer in JSON Schema is any number without a fraction. `5.0` is an integer too, and models send it. Large integers
are compared with floats exactly, as Python and jsonschema compare them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeAlias

from ...values.strictjson.checks import INT_LIMIT
from .base import Impossible, SchemaStrategy, Strategy, one_of, st, with_edges
from .schema_parts import Part, Parts

__all__ = ["numbers"]

_MAX_FLOAT = 1.7976931348623157e308
_MAX_EXACT_INTEGER = 2**53

_FLOATS_AMONG_EDGES = 3
# The first integers that 32 bits, a float and 64 bits cannot hold. Their neighbours are drawn too.
_EDGE_INTEGERS = (2**31, 2**53 + 1, 2**63, -(2**63) - 1)

Bound: TypeAlias = "tuple[int | float, bool, Part, str]"


def numbers(parts: Parts, *, whole: bool) -> SchemaStrategy:
    """Return a strategy for numbers that fit *parts*; the numbers have no fractions if *whole* is true."""
    low = _find_narrowest_bound(parts, ("minimum", "exclusiveMinimum"), max)
    high = _find_narrowest_bound(parts, ("maximum", "exclusiveMaximum"), min)
    step = _find_step(parts)
    options = [*_integers(low, high, step)]
    if step is not None and step.denominator > 1 and not whole:
        options += _fractions(low, high, step)
    elif not whole and step is None:
        options += _floats(low, high)
    if not options:
        _, _, part, keyword = low or high or (0, False, parts[0], "multipleOf")
        raise Impossible(keyword, f"{part.place}/{keyword}", "leaves no number")
    return one_of(options)


def _find_narrowest_bound(parts: Parts, keywords: tuple[str, str], narrowest: Callable[..., Any]) -> Bound | None:
    """
    Return the narrowest bound that *parts* name, which implies all others; None if they name no bound.

    The second item of the result says whether the bound itself is excluded.
    """
    bounds = [
        (part.schema[keyword], keyword.startswith("exclusive"), part, keyword)
        for part in parts
        for keyword in keywords
        if keyword in part.schema
    ]
    if not bounds:
        return None
    value = narrowest(limit for limit, *_ in bounds)
    return max((bound for bound in bounds if bound[0] == value), key=lambda bound: bound[1])


def _find_step(parts: Parts) -> Fraction | None:
    """Return the least common multiple of all `multipleOf` in *parts*; None if there is none."""
    step: Fraction | None = None
    for part in parts:
        if "multipleOf" in part.schema:
            # The fraction is read from the repr, because the author means 0.1 and not 0.1000000000000000055.
            multiple = Fraction(repr(part.schema["multipleOf"]))
            step = multiple if step is None else _find_common_multiple(step, multiple)
    return step


def _find_common_multiple(first: Fraction, second: Fraction) -> Fraction:
    return Fraction(math.lcm(first.numerator, second.numerator), math.gcd(first.denominator, second.denominator))


def _integers(low: Bound | None, high: Bound | None, step: Fraction | None) -> Iterator[SchemaStrategy]:
    factor = 1 if step is None else _find_common_multiple(step, Fraction(1)).numerator
    first = None if low is None else math.floor(low[0]) + 1 if low[1] else math.ceil(low[0])
    last = None if high is None else math.ceil(high[0]) - 1 if high[1] else math.floor(high[0])
    if (first is not None and first >= INT_LIMIT) or (last is not None and last <= -INT_LIMIT):
        return
    first = None if first is None else -(-max(first, 1 - INT_LIMIT) // factor)
    last = None if last is None else min(last, INT_LIMIT - 1) // factor
    if first is not None and last is not None and first > last:
        return
    count = None if first is None or last is None else last - first + 1
    # jsonschema divides floats in its own way, so a multiple of a fraction has to be judged.
    exact = step is None or step.denominator == 1
    # Beyond 2**53 a float cannot hold every integer, and would be another number.
    small = _MAX_EXACT_INTEGER // factor
    least, most = max(-small, -small if first is None else first), min(small, small if last is None else last)
    floats = [st.integers(least, most).map(float)] * _FLOATS_AMONG_EDGES if least <= most else []
    multiples = with_edges(st.integers(first, last), [*floats, *_build_edges(first, last, factor)])
    if factor != 1:
        multiples = multiples.map(lambda number: number * factor)
    yield SchemaStrategy(multiples, count, exact)


def _build_edges(first: int | None, last: int | None, factor: int) -> list[Strategy]:
    """Return strategies for the numbers from *first* to *last* whose product with *factor* is at an edge."""
    middles = [end for end in (first, last) if end is not None] + [edge // factor for edge in _EDGE_INTEGERS]
    least = -INT_LIMIT if first is None else first
    most = INT_LIMIT if last is None else last
    return [st.integers(max(least, middle - 1), min(most, middle + 1)) for middle in middles if least <= middle <= most]


def _fractions(low: Bound | None, high: Bound | None, step: Fraction) -> Iterator[SchemaStrategy]:
    first = -(2**40) if low is None else math.ceil(Fraction(low[0]) / step)
    last = max(first, 0) + 2**40 if high is None else math.floor(Fraction(high[0]) / step)
    if low is None:
        first = min(first, last - 2**40)
    if first <= last:
        yield SchemaStrategy(st.integers(first, last).map(lambda number: _as_float(number * step)), exact=False)


def _as_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return _MAX_FLOAT if number > 0 else -_MAX_FLOAT


def _floats(low: Bound | None, high: Bound | None) -> Iterator[SchemaStrategy]:
    least = -_MAX_FLOAT if low is None else _find_nearest_float(low[0], is_lower_bound=True, is_excluded=low[1])
    most = _MAX_FLOAT if high is None else _find_nearest_float(high[0], is_lower_bound=False, is_excluded=high[1])
    if least <= most and abs(least) != math.inf and abs(most) != math.inf:
        edges = [least, most, *(edge for edge in (math.ulp(0.0), 1e16) if least < edge < most)]
        yield SchemaStrategy(with_edges(st.floats(least, most), [st.floats(edge, edge) for edge in edges]))


def _find_nearest_float(limit: float, *, is_lower_bound: bool, is_excluded: bool) -> float:
    """Return the float that is nearest to *limit* and within it; *limit* may be an integer beyond all floats."""
    side = math.inf if is_lower_bound else -math.inf
    try:
        number = float(limit)
    except OverflowError:
        return side if (limit > 0) is is_lower_bound else -math.copysign(_MAX_FLOAT, side)
    is_wrong = (number < limit if is_lower_bound else number > limit) or (is_excluded and number == limit)
    return math.nextafter(number, side) if is_wrong else number
