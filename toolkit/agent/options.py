"""
The options of an agent that stay the same from run to run. They are checked when they are given.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import NoneType

from .._option_checks import OptionTypes, check_option_types
from ..providers.base import Provider
from ..providers.prices import price_of
from .budgets import Budget, Ledger, Spent
from .events import Event
from .plan_mode import PLAN_PROMPT

__all__ = ["AgentOptions"]

_OPTION_TYPES: OptionTypes = {
    "system": ((str,), "a text, or leave it out"),
    "max_turns": ((int,), "a whole number, such as 50"),
    "budget": ((Budget,), "Budget(tokens=..., seconds=...), or leave it out for no limit"),
    "on_event": ((Callable, NoneType), "a function of the event, or None"),
    "plan_prompt": ((str,), "a text, or leave it out for the usual one"),
    "frame_results": ((bool,), "True or False"),
    "compact_at": ((int, NoneType), "a whole number of characters, or None"),
    "clock": ((Callable,), "a function that returns seconds, such as time.monotonic"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """The options of `Agent` that say how it talks to the model, and how much a run may use."""

    provider: Provider
    system: str = ""
    max_turns: int = 50
    budget: Budget = Budget()  # noqa: RUF009 -- it is immutable
    on_event: Callable[[Event], object] | None = None
    plan_prompt: str = PLAN_PROMPT
    frame_results: bool = False
    compact_at: int | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        provider = self.provider
        if not callable(getattr(provider, "reply", None)) or isinstance(provider, type):
            raise TypeError(f"a provider has `reply` and `stream`, and {provider!r} has not; see toolkit.providers")
        check_option_types({option.name: getattr(self, option.name) for option in fields(self)}, _OPTION_TYPES)
        if self.max_turns < 1:
            raise ValueError(f"max_turns has to be at least 1, got {self.max_turns!r}")
        if self.compact_at is not None and self.compact_at < 1000:
            raise ValueError(f"compact_at has to be at least 1000 characters, or None; got {self.compact_at!r}")
        if inspect.iscoroutinefunction(self.on_event):
            raise TypeError("on_event is called and not awaited; give a plain function, or use `stream`")
        if not self.plan_prompt.strip():
            raise ValueError("plan_prompt is empty; leave it out for the usual one")
        if self.budget.prices is not None:
            price_of(provider.model, self.budget.prices)  # raises now, and not after the first answer has cost money

    def build_ledger(self, spent: Spent) -> Ledger:
        """Return the ledger for a run that has already used *spent*."""
        return Ledger(self.budget, self.max_turns, model=self.provider.model, spent=spent, clock=self.clock)
