"""
The forms in which arguments arrive, and checks of their size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import BadArgs
from ..values.strictjson.checks import count_values
from .plan import CallPlan

__all__ = ["has_many_values", "is_long_text", "is_short_text", "parse_arguments", "refuse_text"]

# From this size on, checking takes so long that other calls notice it. Refusing and repairing this many values takes
# up to 30 milliseconds, and reading a text of this length as JSON takes one millisecond.
_MANY_VALUES = 1_000
_LONG_TEXT = 50_000
_TEXTS = (str, bytes, bytearray)


def is_short_text(arguments: Any) -> bool:
    """Return whether *arguments* is a text too short to hold many values, so that they need not be counted."""
    return isinstance(arguments, _TEXTS) and len(arguments) < _MANY_VALUES


def is_long_text(arguments: Any) -> bool:
    """Return whether *arguments* is a text that takes long to read."""
    return isinstance(arguments, _TEXTS) and len(arguments) > _LONG_TEXT


def has_many_values(arguments: Any) -> bool:
    """Return whether *arguments* has so many values that refusing and repairing them takes long."""
    return count_values(arguments, _MANY_VALUES) >= _MANY_VALUES


def parse_arguments(arguments: Any, plan: CallPlan) -> Any:
    """Return *arguments*, parsed if they are JSON text, and as a plain dictionary if they are a mapping."""
    if isinstance(arguments, _TEXTS):
        arguments = plan.checker.parse(arguments)
    return dict(arguments) if isinstance(arguments, Mapping) else arguments


def refuse_text(arguments: Any) -> None:
    """
    Raise `BadArgs` if *arguments* is text.

    Arguments that are still text after parsing have to be repaired, and the repair has to be noted.
    """
    if isinstance(arguments, str):
        raise BadArgs("expected an object with the arguments, got text in the JSON text")
