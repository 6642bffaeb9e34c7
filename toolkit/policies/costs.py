"""
The count of what calls cost.

A tool states what a call costs by its fact `cost`. Inside a run of an agent, a call that is about to run takes its cost
from the budget of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from ..results import ToolCall

__all__ = ["TakeCost", "count_costs", "take_cost"]

TakeCost: TypeAlias = Callable[[ToolCall, float], str | None]
"""Counts what a call costs and returns None, or returns the reason why the call may not run."""

_take_cost: ContextVar[TakeCost | None] = ContextVar("toolkit_take_cost", default=None)


@contextmanager
def count_costs(take: TakeCost) -> Iterator[None]:
    """Call *take* before every call in the block that costs something, and with a negative cost to give it back."""
    token = _take_cost.set(take)
    try:
        yield
    finally:
        _take_cost.reset(token)


def take_cost(call: ToolCall, cost: float) -> str | None:
    """Count what *call* costs, if it is a part of a run. Return the reason if too little is left for it."""
    take = _take_cost.get()
    return None if take is None or not cost else take(call, cost)
