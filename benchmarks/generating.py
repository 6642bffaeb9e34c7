"""
Examples a second: arguments that fit and arguments that do not, drawn from a schema.

Beside each stands the same shape written by hand with hypothesis' own strategies:
what a whole test costs with nothing of ours in it.
"""

from __future__ import annotations

import time
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from toolkit.testing import arguments, bad_arguments

from .subjects import FUNCTIONS
from .timing import Row

__all__ = ["rows"]

_EXAMPLES = 300

_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_ITEM = st.fixed_dictionaries(
    {"sku": st.text(), "quantity": st.integers(), "price": _FLOATS}, optional={"gift": st.booleans()}
)
_BY_HAND: dict[str, st.SearchStrategy[Any]] = {
    "two integers": st.fixed_dictionaries({"a": st.integers(), "b": st.integers()}),
    "five parameters": st.fixed_dictionaries(
        {"query": st.text()},
        optional={
            "limit": st.integers(),
            "threshold": _FLOATS,
            "exact": st.booleans(),
            "tags": st.none() | st.lists(st.text(), max_size=6),
        },
    ),
    "nested order, 20 items": st.fixed_dictionaries(
        {
            "order": st.fixed_dictionaries(
                {"customer": st.text(), "items": st.lists(_ITEM, max_size=6)}, optional={"note": st.none() | st.text()}
            )
        }
    ),
}


def rows() -> list[Row]:
    found: list[Row] = []
    for name, function in FUNCTIONS.items():
        shape = name.partition(",")[0]
        by_hand = _per_example(_BY_HAND[name])
        for what, strategy in (("fit", arguments(function)), ("do not fit", bad_arguments(function))):
            took = _per_example(strategy)
            found.append(
                (f"{shape}: arguments that {what}", took, took / by_hand, f"by hand; {1e6 / took:,.0f} a second")
            )
    return found


def _per_example(strategy: st.SearchStrategy[Any]) -> float:
    """Microseconds for one example of a test that does nothing with it; the best of three."""
    best = float("inf")
    for _ in range(3):
        seen = 0

        @seed(0)
        @settings(max_examples=_EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck))
        @given(strategy)
        def test(value: Any) -> None:
            nonlocal seen
            seen += 1

        start = time.perf_counter()
        test()
        best = min(best, (time.perf_counter() - start) / seen * 1e6)
    return best
