"""The refusals of JSON that a codec cannot convert, with the problems in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import Problem
from ..strictjson.checks import show_value

__all__ = ["OutputRefusal", "Refusal", "problems_below", "problems_of"]


class Refusal(ValueError):  # noqa: N818 -- named after what happens next
    """JSON that a codec cannot convert. It holds every problem with its path."""

    def __init__(self, *problems: Problem, wanted: str | None = None) -> None:
        super().__init__(*problems)
        self.problems = problems
        self.wanted = wanted

    @classmethod
    def mismatch(cls, expectation: str, value: Any) -> Refusal:
        """Return the refusal of one value. A union joins the `wanted` texts of its members into one sentence."""
        return cls(Problem(f"expected {expectation}, got {show_value(value)}"), wanted=expectation)

    def __str__(self) -> str:
        return "; ".join(map(str, self.problems))


class OutputRefusal(Refusal):
    """A result that is of its type, and that a check in the return annotation refuses."""


def problems_of(error: Exception) -> Sequence[Problem]:
    """Return the problems of *error*, which is a codec's refusal or any exception of a constructor."""
    return error.problems if isinstance(error, Refusal) else [Problem(str(error)[:300] or type(error).__name__)]


def problems_below(key: str | int, error: Exception) -> list[Problem]:
    """Return the problems of *error* with *key* added to their paths, as they look from one level up."""
    return [problem.below(key) for problem in problems_of(error)]
