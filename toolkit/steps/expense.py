"""
What a run has used since its prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import Any

from ..providers.base import Usage

__all__ = ["Spent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The amounts used since the prompt. `cost` stays 0 if the budget has no prices."""

    turns: int = 0
    calls: int = 0
    retries: int = 0
    seconds: float = 0.0
    usage: Usage = Usage()  # noqa: RUF009 -- it is immutable
    cost: Decimal = Decimal(0)

    def __add__(self, other: Spent) -> Spent:
        return Spent(**{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(Spent)})

    def __sub__(self, other: Spent) -> Spent:
        return Spent(**{field.name: getattr(self, field.name) - getattr(other, field.name) for field in fields(Spent)})

    def to_json(self) -> dict[str, Any]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "usage": self.usage.to_json(), "cost": str(self.cost)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spent:
        """
        Return the `Spent` that `to_json` wrote; `retries` may be missing, as in older data.

        Raises:
            ValueError: *data* is not the JSON of a `Spent`.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or not names - {"retries"} <= data.keys() <= names:
            raise ValueError("`spent` has to be an object with turns, calls, retries, seconds, usage and cost")
        data = {"retries": 0, **data}
        for name in ("turns", "calls", "retries", "seconds"):
            value: Any = data[name]
            kinds: tuple[type, ...] = (int, float) if name == "seconds" else (int,)
            if type(value) not in kinds or not 0 <= value < float("inf"):
                raise ValueError(f"`spent`: {name!r} cannot be {value!r:.60}")
        return cls(
            turns=data["turns"],
            calls=data["calls"],
            retries=data["retries"],
            seconds=data["seconds"],
            usage=Usage.from_json(data["usage"]),
            cost=_parse_cost(data["cost"]),
        )


def _parse_cost(value: Any) -> Decimal:
    try:
        number = Decimal(value) if isinstance(value, str) and len(value) < 100 else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or number < 0:
        raise ValueError(f"`spent`: 'cost' cannot be {value!r:.60}")
    return number
