"""
The limits of a run, and the count of what it has used.

A budget holds from a prompt to the end of the work on it. A pause does not reset it, and the time that people take to
answer does not count. A sub-run uses the budget of its parent. If it has one of its own, both count, and the limit that
is reached first ends it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from .._option_checks import check_option_names
from .._plumbing.forks import unlock_in_children
from .._plumbing.wording import format_count, format_seconds
from ..errors import ProviderError
from ..providers.base import Provider, Usage
from ..providers.prices import Amount, Price, Prices, price_of
from ..results import ToolCall
from ..steps.expense import Expense

__all__ = ["Budget", "Ledger", "LimitName"]

LimitName: TypeAlias = Literal["turns", "tokens", "calls", "seconds", "cost"]
_ENDING_LIMITS: tuple[LimitName, ...] = ("turns", "tokens", "seconds", "cost")

_AMOUNTS: dict[LimitName, Callable[[Any], str]] = {
    "turns": lambda count: format_count(count, "turn"),
    "tokens": lambda count: format_count(count, "token"),
    "calls": lambda count: format_count(count, "tool call"),
    "seconds": format_seconds,
    "cost": lambda amount: f"{amount} in money",
}
"""How the maximum of each limit is worded."""


_OTHER_WORDS = {
    **dict.fromkeys(("turns", "max_turns", "request_limit", "requests"), "that limit is `Agent(max_turns=...)`"),
    **dict.fromkeys(("usd", "dollars", "money", "max_cost"), "that limit is `cost`, with `prices`"),
    **dict.fromkeys(("total_tokens_limit", "max_tokens", "token_limit"), "that limit is `tokens`"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """
    The limits of one prompt. A limit that is None does not apply.

    Attributes:
        tokens: The number of tokens read and written, as the provider counts them.
        calls: The number of tool calls.
        retries: The number of attempts after a failed one, of tool calls and of requests to the provider together; 0
            for no retry. When they are used up, a transient failure is not tried again, and the run goes on.
        seconds: The seconds of work. When they are over, calls and replies in progress are ended.
        cost: The money for tokens and for tools that state a `cost`, in the currency of *prices*. A call that costs
            more than is left is not run, and ends the run.
        prices: The prices of tokens, by model. `cost` needs them.
        depth: How deep sub-runs may be nested; 0 for no sub-runs.
    """

    tokens: int | None = None
    calls: int | None = None
    retries: int | None = 50
    seconds: float | None = None
    cost: Amount | None = None
    prices: Prices | None = None
    depth: int = 3

    if not TYPE_CHECKING:  # a type checker reads the fields

        def __new__(cls, **limits: Any) -> Self:
            check_option_names(limits, [limit.name for limit in fields(cls)], _OTHER_WORDS, "Budget")
            return object.__new__(cls)

    def __post_init__(self) -> None:
        for name in ("tokens", "calls", "seconds", "cost"):
            limit = getattr(self, name)
            is_text = isinstance(limit, str) and name != "cost"
            if limit is not None and (is_text or not _is_above_zero(limit)):
                raise ValueError(f"Budget: `{name}` has to be a number above 0, or None; got {limit!r}")
        if not _is_count(self.depth):
            raise ValueError(f"Budget: `depth` has to be 0 or more, got {self.depth!r}")
        if self.retries is not None and not _is_count(self.retries):
            raise ValueError(f"Budget: `retries` has to be a whole number, 0 or more, or None; got {self.retries!r}")
        if self.cost is not None and self.prices is None:
            raise ValueError("Budget: `cost` needs to know what tokens cost; give prices={model: Price(...)}")

    def to_json(self) -> dict[str, Any]:
        """Return all limits as plain JSON."""
        prices = {
            model: {part.name: str(getattr(price, part.name)) for part in fields(price)}
            for model, price in (self.prices or {}).items()
        }
        limits = {limit.name: getattr(self, limit.name) for limit in fields(self)}
        return {**limits, "cost": None if self.cost is None else str(self.cost), "prices": prices or None}

    @classmethod
    def from_json(cls, data: Any) -> Budget:
        """Return the budget that `to_json` wrote; raise `ValueError` if *data* is something else."""
        try:
            prices = data["prices"] and {model: Price(**price) for model, price in data["prices"].items()}
            return cls(**{**data, "prices": prices})
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a budget: it has {', '.join(limit.name for limit in fields(cls))}") from error


class Ledger:
    """
    The count of what a run in progress has used, compared with its budget.

    While a run is replayed (*is_replayed*), its steps return what they returned in another process. The limit of
    seconds does not count then, because it did not stop those steps either. It counts from `end_replay` on.

    The ledger of a sub-run with a budget or a model of its own has an *outer* ledger, that of its parent. What the
    sub-run uses counts in both, and the limits of both hold.

    Attributes:
        model: The model that is asked, whose price counts if a reply names one that is not in the table.
        max_depth: How deep runs may be nested, counted from the outermost run.
    """

    def __init__(
        self,
        budget: Budget,
        max_turns: int,
        *,
        model: str = "",
        spent: Expense = Expense(),  # noqa: B008 -- it is immutable
        clock: Callable[[], float] = time.monotonic,
        is_replayed: bool = False,
        outer: Ledger | None = None,
    ) -> None:
        self.budget = budget
        self.model = model
        self.max_depth = budget.depth
        self._outer = outer
        self._is_replayed = is_replayed
        self._max_turns = max_turns
        self._spent = spent
        self._lock = unlock_in_children(threading.Lock())
        self._clock = clock
        self._started_at = clock()

    def for_sub_run(
        self, budget: Budget | None, provider: Provider, *, depth: int, spent: Expense, max_turns: int | None = None
    ) -> Ledger:
        """
        Return the ledger of a sub-run at *depth* that asks *provider*, and has already used *spent*.

        It has a *budget* and a *max_turns* of its own unless they are None. A model without a price is refused.
        """
        self.check_prices(provider)
        own_budget = budget or Budget(retries=None, depth=self.max_depth)
        turns = self._max_turns if max_turns is None else max_turns
        ledger = Ledger(own_budget, turns, model=provider.model, spent=spent, clock=self._clock, outer=self)
        ledger.max_depth = min(self.max_depth, depth + own_budget.depth)
        return ledger

    def check_prices(self, provider: Provider) -> None:
        """Raise `ProviderError` if a model of *provider* has no price in a table of prices that counts here."""
        if self.budget.prices is not None:
            for model in getattr(provider, "models", (provider.model,)):
                price_of(model, self.budget.prices)
        if self._outer is not None:
            self._outer.check_prices(provider)

    @property
    def spent(self) -> Expense:
        """The amounts used up to this moment."""
        seconds = self._spent.seconds + max(0.0, self._clock() - self._started_at)
        return replace(self._spent, seconds=seconds)

    @property
    def is_replayed(self) -> bool:
        """Whether all that was done so far had been done in another process."""
        return self._is_replayed if self._outer is None else self._outer.is_replayed

    def end_replay(self) -> None:
        """Let the limit of seconds count, because something is about to be done that was not done before."""
        self._is_replayed = False
        if self._outer is not None:
            self._outer.end_replay()

    def add(self, spent: Expense) -> None:
        """Count *spent*, which a step has used in another process."""
        self._count(spent)
        if self._outer is not None:
            self._outer.add(spent)

    def _count(self, spent: Expense) -> None:
        with self._lock:  # other threads count retries and costs
            self._spent += spent

    def add_reply(self, usage: Usage, model: str, *, is_turn: bool, requested_model: str = "") -> Expense:
        """
        Count one reply of *model*, and return what it has used. A summary is no turn of the conversation.

        The *requested_model* is that of this ledger unless given. The cost is that in the outermost ledger.
        """
        requested_model = requested_model or self.model
        cost = self._compute_cost(usage, model, requested_model)
        expense = Expense(turns=int(is_turn), usage=usage, cost=cost)
        self._count(expense)
        if self._outer is None:
            return expense
        return self._outer.add_reply(usage, model, is_turn=is_turn, requested_model=requested_model)

    def find_cost(self, usage: Usage, model: str, requested_model: str = "") -> float | None:
        """Return the cost that `add_reply` counts; None if there are no prices, or none for *model*."""
        requested_model = requested_model or self.model
        if self._outer is not None:
            return self._outer.find_cost(usage, model, requested_model)
        try:
            return None if self.budget.prices is None else float(self._compute_cost(usage, model, requested_model))
        except ProviderError:
            return None

    def take_calls(self, call_count: int) -> int:
        """Count up to *call_count* tool calls as used, and return how many of them may run."""
        max_calls = self.budget.calls
        allowed = call_count if max_calls is None else max(0, min(call_count, max_calls - self._spent.calls))
        if self._outer is not None:
            allowed = self._outer.take_calls(allowed)
        self._count(Expense(calls=allowed))
        return allowed

    def take_retry(self) -> str | None:
        """Count one retry, from any thread. Return the reason if no retry is left, and otherwise None."""
        max_retries = self.budget.retries
        with self._lock:
            if max_retries is not None and self._spent.retries >= max_retries:
                return f"the run's budget of {format_count(max_retries, 'retry')} is used up"
            reason = None if self._outer is None else self._outer.take_retry()
            if reason is None:
                self._spent += Expense(retries=1)
        return reason

    def take_cost(self, call: ToolCall, cost: float) -> str | None:
        """Count what *call* costs, from any thread. Return the reason if less than that is left, and otherwise None."""
        amount, maximum = Decimal(str(cost)), self._find_maximum("cost")
        with self._lock:
            left = None if maximum is None else max(Decimal(0), maximum - self._spent.cost - self._spent.tool_cost)
            if left is not None and amount > left:
                return f"`{call.name}` costs {amount}, and {left} of the budget of {maximum} in money is left"
            reason = None if self._outer is None else self._outer.take_cost(call, cost)
            if reason is None:
                self._spent += Expense(tool_cost=amount)
        return reason

    def remaining_seconds(self) -> float | None:
        """Return the seconds that are left; None if the time is not limited."""
        outer_seconds = None if self._outer is None else self._outer.remaining_seconds()
        if self.budget.seconds is None or self.is_replayed:
            return outer_seconds
        seconds = max(0.0, self.budget.seconds - self.spent.seconds)
        return seconds if outer_seconds is None else min(seconds, outer_seconds)

    def find_reached_limit(self) -> tuple[LimitName, str] | None:
        """
        Return the limit that was reached, and a sentence about it; None if the run may go on.

        The limit of calls is not considered, because the model may still answer with the results it has.
        """
        spent = self.spent
        reached = next((limit for limit in _ENDING_LIMITS if self._is_reached(limit, spent)), None)
        if reached is not None:
            return self.explain_limit(reached)
        return None if self._outer is None else self._outer.find_reached_limit()

    def explain_limit(self, limit: LimitName) -> tuple[LimitName, str]:
        """Return *limit*, and the sentence that it is used up."""
        if self._outer is not None and not self._is_reached(limit, self.spent):
            return self._outer.explain_limit(limit)
        maximum = self._find_maximum(limit)
        amount = limit if maximum is None else _AMOUNTS[limit](maximum)
        return limit, f"the budget of {amount} is used up"

    def _is_reached(self, limit: LimitName, spent: Expense) -> bool:
        maximum = self._find_maximum(limit)
        used: dict[LimitName, Any] = {
            "turns": spent.turns,
            "tokens": spent.usage.total_tokens,
            "calls": spent.calls,
            "seconds": 0.0 if self.is_replayed else spent.seconds,
            "cost": spent.cost + spent.tool_cost,
        }
        return maximum is not None and bool(used[limit] >= maximum)

    def _find_maximum(self, limit: LimitName) -> Any:
        if limit == "cost":
            return None if self.budget.cost is None else Decimal(str(self.budget.cost))
        return self._max_turns if limit == "turns" else getattr(self.budget, limit)

    def _compute_cost(self, usage: Usage, model: str, requested_model: str) -> Decimal:
        """Return what a reply of *model* costs, and 0 if the budget has no prices."""
        prices = self.budget.prices
        if prices is None:
            return Decimal(0)
        try:
            return usage.cost(prices, model)
        except ProviderError:
            # Some providers answer with another name for the model. Then the name that was requested is looked up;
            # if the table does not have that either, this raises.
            return usage.cost(price_of(requested_model, prices))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_above_zero(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return False
    return number.is_finite() and number > 0
