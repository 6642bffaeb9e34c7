"""The smallest value of a strategy, looked for the same way every time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hypothesis import Phase, find, settings

__all__ = ["least"]

# Without the phase that explains: its text is not used, and before Python 3.12 it traces every line.
_PHASES = (Phase.generate, Phase.shrink)
_SETTINGS = settings(max_examples=3000, database=None, report_multiple_bugs=False, phases=_PHASES)


def least(strategy: Any, condition: Callable[[Any], Any] = lambda value: True) -> Any:
    """Return the smallest value for which *condition* holds."""
    return find(strategy, condition, settings=_SETTINGS, random=random.Random(0))
