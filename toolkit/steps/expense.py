"""
What a run has used since its prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from ..providers.base import Usage
from ..providers.prices import parse_amount

__all__ = ["Expense"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expense:
    """
    The amounts used since the prompt: *turns* of the model, *calls* of tools, *retries* and *seconds*.

    `cost` is for tokens, and stays 0 if the budget has no prices. `tool_cost` is for tools that state a `cost`.
    """

    turns: int = 0
    calls: int = 0
    retries: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()  # noqa: RUF009 -- it is immutable
    cost: Decimal = Decimal(0)
    tool_cost: Decimal = Decimal(0)

    def __add__(self, other: Expense) -> Expense:
        return Expense(**{name: getattr(self, name) + getattr(other, name) for name in _NAMES})

    def __sub__(self, other: Expense) -> Expense:
        return Expense(**{name: getattr(self, name) - getattr(other, name) for name in _NAMES})

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain JSON."""
        plain = {name: getattr(self, name) for name in _NAMES}
        return {**plain, "usage": self.usage.to_json(), "cost": str(self.cost), "tool_cost": str(self.tool_cost)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Expense:
        """Return the expense that `to_json` wrote; raise `ValueError` if *data* is something else."""
        if not isinstance(data, Mapping) or data.keys() != {*_NAMES}:
            raise ValueError(f"`spent` has to be an object with {', '.join(_NAMES)}")
        for name in ("turns", "calls", "retries", "seconds"):
            value: Any = data[name]
            kinds: tuple[type, ...] = (int, float) if name == "seconds" else (int,)
            if type(value) not in kinds or not 0 <= value < float("inf"):
                raise ValueError(f"`spent`: {name!r} cannot be {value!r:.60}")
        costs = {name: _parse_cost(name, data[name]) for name in ("cost", "tool_cost")}
        return cls(**{**data, "usage": Usage.from_json(data["usage"]), **costs})


_NAMES = tuple(field.name for field in fields(Expense))


def _parse_cost(name: str, value: Any) -> Decimal:
    number = parse_amount(value) if isinstance(value, str) and len(value) < 100 else None
    if number is None:
        raise ValueError(f"`spent`: {name!r} cannot be {value!r:.60}")
    return number
