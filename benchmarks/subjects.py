"""The three calls that everything is measured on: two integers, five parameters, a nested order of twenty items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["BAD_CALLS", "CALLS", "FUNCTIONS", "five_parameter_functions"]


@dataclass
class Item:
    sku: str
    quantity: int
    price: float
    gift: bool = False


@dataclass
class Order:
    customer: str
    items: list[Item]
    note: str | None = None


async def add(a: int, b: int) -> int:
    """
    Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


async def search(
    query: str, limit: int = 10, threshold: float = 0.5, exact: bool = False, tags: list[str] | None = None
) -> str:
    """
    Search the notes.

    Args:
        query: What to look for.
        limit: How many to return.
        threshold: How similar they have to be.
        exact: Whether the words must match exactly.
        tags: Only notes with these tags.
    """
    return query


async def place(order: Order) -> str:
    """
    Place an order.

    Args:
        order: What is wanted, and by whom.
    """
    return order.customer


FUNCTIONS = {"two integers": add, "five parameters": search, "nested order, 20 items": place}

CALLS: dict[str, dict[str, Any]] = {
    "two integers": {"a": 2, "b": 3},
    "five parameters": {"query": "tea", "limit": 5, "threshold": 0.25, "exact": True, "tags": ["kitchen", "green"]},
    "nested order, 20 items": {
        "order": {
            "customer": "Ada",
            "items": [{"sku": f"SKU-{n}", "quantity": n, "price": n * 1.25, "gift": n % 2 == 0} for n in range(20)],
            "note": "ring twice",
        }
    },
}

BAD_CALLS: dict[str, dict[str, Any]] = {
    "two integers": {"a": 2, "b": "3"},
    "five parameters": {"query": "tea", "limit": "5", "threshold": 0.25, "exact": "yes", "tags": ["kitchen", "green"]},
    "nested order, 20 items": {
        "order": {
            "customer": "Ada",
            "items": [{"sku": f"SKU-{n}", "quantity": 1.5 if n in (3, 9) else n, "price": n * 1.25} for n in range(20)],
            "remark": "ring twice",
        }
    },
}

_SOURCE = '''
def task_{n}(path: str, limit: int = 10, ratio: float = 0.5, quiet: bool = False, tags: list[str] | None = None) -> str:
    """
    Do task {n} with a file.

    It does nothing else.

    Args:
        path: The file, relative to the root.
        limit: How many lines to read.
        ratio: Which part of it.
        quiet: Whether to say less.
        tags: Labels for the result.

    Returns:
        What was found.
    """
    return path
'''


def five_parameter_functions(count: int) -> list[Any]:
    """*count* fresh functions, so that nobody can remember one."""
    namespace: dict[str, Any] = {}
    for n in range(count):
        exec(_SOURCE.format(n=n), namespace)
    return [namespace[f"task_{n}"] for n in range(count)]
