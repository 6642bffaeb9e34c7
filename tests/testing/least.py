"""The smallest value of a strategy, looked for the same way every time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import find, settings

__all__ = ["least"]

_SETTINGS = settings(max_examples=3000, database=None, report_multiple_bugs=False)


def least(strategy: Any, condition: Callable[[Any], Any] = lambda value: True) -> Any:
    """The smallest value for which *condition* holds."""
    return find(strategy, condition, settings=_SETTINGS, random=random.Random(0))
