"""Find the smallest value that shows a fault. The same seed finds the same value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from ..strategies.base import Strategy, Unsupported, hypothesis

__all__ = ["Effort", "draw_values", "find_smallest"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """
    How many examples are drawn, and the seed of the random draws. The same seed draws the same examples.

    Attributes:
        laws: The names of the laws that are checked; None checks all of them.
    """

    examples: int = 60
    seed: int = 0
    laws: Collection[str] | None = None

    def includes(self, *rules: str) -> bool:
        """Return whether one of the laws *rules* is checked."""
        return self.laws is None or any(rule in self.laws for rule in rules)


class _FaultFound(Exception):  # noqa: N818 -- hypothesis needs an exception, but this one is no error
    """Raised to tell hypothesis that a value has a fault."""


def find_smallest(strategy: Strategy, find_fault: Callable[[Any], T | None], effort: Effort) -> tuple[Any, T] | None:
    """
    Return the smallest value of *strategy* that has a fault, together with the fault; None if no fault is found.

    *find_fault* returns the fault of a value, or None if it has none. If the fault shows only sometimes for the same
    value, the value with the shortest `repr` is returned.
    """
    examples_with_fault: list[tuple[Any, T]] = []

    def probe(value: Any) -> None:
        value_fault = find_fault(value)
        if value_fault is not None:
            examples_with_fault.append((value, value_fault))
            raise _FaultFound

    try:
        _run(strategy, probe, effort)
    except _FaultFound:  # hypothesis tries the smallest value last
        return examples_with_fault[-1]
    except hypothesis.errors.Flaky:
        return min(examples_with_fault, key=lambda example: len(repr(example[0])))
    return None


def draw_values(strategy: Strategy, effort: Effort) -> list[Any]:
    """Return about as many values of *strategy* as *effort* says."""
    values: list[Any] = []
    _run(strategy, values.append, effort)
    return values


def _run(strategy: Strategy, probe: Callable[[Any], None], effort: Effort) -> None:
    settings = hypothesis.settings(
        max_examples=effort.examples,
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
        settings(hypothesis.seed(effort.seed)(hypothesis.given(strategy)(test)))()
    except hypothesis.errors.Unsatisfiable:
        raise Unsupported(
            "nothing could be drawn; make values yourself, and call the tool with them", keyword="schema", place="#"
        ) from None
