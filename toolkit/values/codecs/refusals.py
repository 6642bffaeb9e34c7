"""
The errors of codecs.

Reading an annotation may find a type without a JSON form, a mistake, or a name that is not defined yet. Converting JSON
may end in a refusal, which holds every problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import DefinitionError, Problem
from ..strictjson.checks import show_value

__all__ = [
    "OutputRefusal",
    "Refusal",
    "RefusedMetadata",
    "SerializerFailure",
    "Undescribable",
    "Unresolved",
    "UnsendableType",
    "build_type_error",
    "problems_below",
    "problems_of",
]


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


class SerializerFailure(OutputRefusal):
    """A result that could not be written, because a serializer in the return annotation raised."""


def build_type_error(value: Any, expected: str) -> TypeError:
    """Return the exception that encoding raises for a value of another type."""
    return TypeError(f"expected {expected}, got {type(value).__name__}")


def problems_of(error: Exception) -> Sequence[Problem]:
    """
    Return the problems of *error*, which is a codec's refusal or any exception of a constructor.

    A validator of attrs raises its message and the field.
    """
    if isinstance(error, Refusal):
        return error.problems
    match error.args:
        case [str(message), attribute, *_] if type(attribute).__module__.startswith("attr.") and message:
            return [Problem(message[:300], (getattr(attribute, "alias", None) or attribute.name,))]
    return [Problem(str(error)[:300] or type(error).__name__)]


def problems_below(key: str | int, error: Exception) -> list[Problem]:
    """Return the problems of *error* with *key* added to their paths, as they look from one level up."""
    return [problem.below(key) for problem in problems_of(error)]


class Undescribable(DefinitionError):  # noqa: N818 -- named after what it says about the hint
    """A hint that has no JSON form. Code that knows the parameter's name adds it to the message."""


class UnsendableType(Undescribable):
    """
    A type whose values a model cannot send.

    Other `Undescribable` hints are mistakes in the annotation. An optional parameter of a type without a JSON form can
    be left out instead, and so can a member of a union.

    Attributes:
        reason: The type, and why it has no JSON form.
        remedy: What to write instead.
        is_unknown: Whether no rule knows the type, so that the remedy is not to send it at all.
        hint: The type itself, if it is known that none of its values has a JSON form.
    """

    def __init__(self, reason: str, remedy: str = "", *, is_unknown: bool = False, hint: Any = None) -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy
        self.is_unknown = is_unknown
        self.hint = hint

    def below(self, place: str) -> UnsendableType:
        """Return the same error, seen from the record whose field is at *place*."""
        # A class that contains itself would name the same place at every level.
        reason = f"{place}{self.reason.removeprefix(place)}"
        return UnsendableType(reason, self.remedy, is_unknown=self.is_unknown, hint=self.hint)


class RefusedMetadata(DefinitionError):  # noqa: N818 -- as above
    """Metadata that states a check which cannot run here. The type has a JSON form, so this is no `Undescribable`."""


class Unresolved(Exception):  # noqa: N818 -- it means "wait", and is not an error yet
    """A forward reference to a name that is not defined yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name
