"""
The cost of tokens, by a table of prices that the user gives.

No prices are built in, because they change, and a wrong price is worse than none. A model that is not in the table is
an error, so that a budget in money never counts a model without a price.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from ..errors import ProviderError

__all__ = ["Amount", "Price", "Prices", "parse_amount", "price_of"]

Amount: TypeAlias = "Decimal | int | float | str"

# The suffixes that providers append to the requested name. `-mini` is not one: it is another model with another price.
_VERSION_SUFFIX = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """
    The cost of a million tokens of *input* and of *output*, in the currency of the table.

    Attributes:
        cached: The price of input that was already in the provider's cache; the same as `input` if not given.
        cache_write: The price of input that the provider writes to its cache; the same as `input` if not given.
    """

    input: Amount
    output: Amount
    cached: Amount | None = None
    cache_write: Amount | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            amount = getattr(self, field.name)
            value = parse_amount(self.input if amount is None else amount)
            if value is None:
                raise ValueError(f"Price: `{field.name}` has to be a number, 0 or more, got {amount!r}")
            object.__setattr__(self, field.name, value)

    def of(self, *, input: int, output: int, cached: int = 0, cache_write: int = 0) -> Decimal:  # noqa: A002 -- as the field
        """Return the cost of these numbers of tokens. *input* includes *cached* and *cache_write*."""
        # A server may count cached tokens apart from the input. The difference must not be a negative cost.
        fresh = max(0, input - cached - cache_write)
        counts = {"input": fresh, "output": output, "cached": cached, "cache_write": cache_write}
        return sum((getattr(self, name) * count for name, count in counts.items()), Decimal(0)) / 1_000_000


Prices: TypeAlias = Mapping[str, Price]
"""The price of each model, by its name."""


def price_of(model: str, prices: Prices) -> Price:
    """
    Return the price of *model*. Its name may end with a date or version that the name in the table does not have.

    Raises:
        ProviderError: The table has no price for *model*.
    """
    name = model.removeprefix("models/")
    for table_name in sorted(prices, key=len, reverse=True):
        if name.startswith(table_name) and (name == table_name or _VERSION_SUFFIX.fullmatch(name, len(table_name))):
            return prices[table_name]
    raise ProviderError(f"no price is known for the model {model!r}; add it to the table: {{{model!r}: Price(...)}}")


def parse_amount(value: object) -> Decimal | None:
    """Return *value* as an amount of money; None if it is no number, not finite, or below 0."""
    if isinstance(value, bool) or not isinstance(value, (Decimal, int, float, str)):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() and number >= 0 else None
