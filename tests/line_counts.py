"""Count the steps of a function in place of its seconds: a busy machine does not change them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["count_steps"]


def count_steps(function: Callable[..., Any], *arguments: Any) -> int:
    """Return how many lines of Python run in this thread while *function* runs. What C code does is not counted."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal steps
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return steps
