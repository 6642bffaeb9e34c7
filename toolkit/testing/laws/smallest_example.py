"""
Find the smallest value that shows a fault. The same seed finds the same value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..strategies.base import Strategy, Unsupported, hypothesis

__all__ = ["draw_values", "find_smallest"]

T = TypeVar("T")


class _FaultFound(Exception, Generic[T]):  # noqa: N818 -- hypothesis needs an exception, but this one is no error
    """Raised to tell hypothesis that a value has a fault."""

    def __init__(self, value: Any, fault: T) -> None:
        super().__init__()
        self.value = value
        self.fault = fault


def find_smallest(
    strategy: Strategy, find_fault: Callable[[Any], T | None], *, examples: int, seed: int
) -> tuple[Any, T] | None:
    """
    Return the smallest value of *strategy* that has a fault, together with the fault; None if no fault is found.

    If the fault shows only sometimes for the same value, the value with the shortest `repr` is returned.

    Args:
        strategy: The strategy that draws the values.
        find_fault: A function that returns the fault of a value, or None if it has none.
        examples: How many values are drawn.
        seed: The seed of the random draws. The same seed draws the same values.
    """
    examples_with_fault: list[tuple[Any, T]] = []

    def probe(value: Any) -> None:
        value_fault = find_fault(value)
        if value_fault is not None:
            examples_with_fault.append((value, value_fault))
            raise _FaultFound(value, value_fault)

    try:
        _run(strategy, probe, examples, seed)
    except _FaultFound as signal:
        return signal.value, signal.fault
    except hypothesis.errors.Flaky:
        return min(examples_with_fault, key=lambda example: len(repr(example[0])))
    return None


def draw_values(strategy: Strategy, *, examples: int, seed: int) -> list[Any]:
    """Return about *examples* values of *strategy*."""
    values: list[Any] = []
    _run(strategy, values.append, examples, seed)
    return values


def _run(strategy: Strategy, probe: Callable[[Any], None], examples: int, seed: int) -> None:
    settings = hypothesis.settings(
        max_examples=examples,
        derandomize=False,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def test(value: Any) -> None:
        probe(value)

    try:
        settings(hypothesis.seed(seed)(hypothesis.given(strategy)(test)))()
    except hypothesis.errors.Unsatisfiable:
        raise Unsupported(
            "nothing could be drawn; make values yourself, and call the tool with them", keyword="schema", place="#"
        ) from None
