"""
The smallest value that shows a fault, found the same way every time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..strategies.lazy_hypothesis import Strategy, hypothesis
from ..strategies.unsupported import Unsupported

__all__ = ["drawn", "smallest"]

T = TypeVar("T")


class _Shown(Exception, Generic[T]):  # noqa: N818 -- hypothesis wants an exception; it is a find
    """A value with a fault."""

    def __init__(self, value: Any, fault: T) -> None:
        super().__init__()
        self.value = value
        self.fault = fault


def smallest(strategy: Strategy, fault: Callable[[Any], T | None], *, examples: int, seed: int) -> tuple[Any, T] | None:
    """
    The smallest of *examples* values in which *fault* finds one, and what it finds; None if it finds none.

    The same *seed* draws the same values. Of a fault that shows only sometimes, the shortest value seen is told.
    """
    seen: list[tuple[Any, T]] = []

    def probe(value: Any) -> None:
        found = fault(value)
        if found is not None:
            seen.append((value, found))
            raise _Shown(value, found)

    try:
        _run(strategy, probe, examples, seed)
    except _Shown as shown:
        return shown.value, shown.fault
    except hypothesis.errors.Flaky:
        return min(seen, key=lambda each: len(repr(each[0])))
    return None


def drawn(strategy: Strategy, *, examples: int, seed: int) -> list[Any]:
    """About *examples* values of *strategy*."""
    found: list[Any] = []
    _run(strategy, found.append, examples, seed)
    return found


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
