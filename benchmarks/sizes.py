"""
How the cost of a call grows: with the arguments, the result, the catalog, the hooks and the rules.

Each line is compared with the smallest size. Nothing may grow faster than the size, and a lookup does not grow at all.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from toolkit import Catalog, Dispatcher, Permissions
from toolkit.spec import Tool

from .configurations import AsyncPair, Candidate
from .dispatching import best_of
from .subjects import add
from .timing import Row

__all__ = ["rows"]

_ARGUMENTS = (10, 1_000, 100_000)
_RESULT_BYTES = (1_000, 100_000, 10_000_000)
_TOOLS = (10, 1_000, 100_000)
_HOOKS = (1, 5, 20)
_RULES = (1, 30, 1_000)


async def total(numbers: list[int]) -> int:
    """
    Add numbers.

    Args:
        numbers: The numbers.
    """
    return len(numbers)


async def write_lines(size: int) -> list[str]:
    """
    Write lines of a hundred characters.

    Args:
        size: How many characters altogether.
    """
    return ["x" * 97] * (size // 100)


def rows() -> list[Row]:
    logging.disable(logging.CRITICAL)
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    found: list[Row] = []
    for title, candidates in (
        ("{:,} numbers as arguments", {size: _with_arguments(size) for size in _ARGUMENTS}),
        ("a result of {:,} characters", {size: _with_result(size) for size in _RESULT_BYTES}),
        ("a catalog of {:,} tools", {size: _with_tools(size) for size in _TOOLS}),
        ("{:,} async before/after pairs", {size: _with_hooks(size) for size in _HOOKS}),
        ("{:,} rules about other tools", {size: _with_rules(size, "deny other_{}(a=13)") for size in _RULES}),
        ("{:,} rules about the arguments", {size: _with_rules(size, "deny add(a={})") for size in _RULES}),
    ):
        best = await best_of({title.format(size): candidate for size, candidate in candidates.items()}, rounds=15)
        smallest, first = next(iter(candidates)), next(iter(best.values()))
        for size, (what, microseconds) in zip(candidates, best.items(), strict=True):
            growth = "" if size == smallest else f"of the first, for {size / smallest:,.0f} times the size"
            found.append((what, microseconds, None if size == smallest else microseconds / first, growth))
    return found


def _with_arguments(size: int) -> Candidate:
    dispatcher, arguments = Dispatcher(Catalog(total)), {"numbers": list(range(size))}
    return lambda: dispatcher.call("total", arguments)


def _with_result(size: int) -> Candidate:
    dispatcher = Dispatcher(Catalog(write_lines), max_chars=2 * _RESULT_BYTES[-1])
    return lambda: dispatcher.call("write_lines", {"size": size})


def _with_tools(size: int) -> Candidate:
    others = [
        Tool.from_schema(f"other_{number}", "Do nothing.", {"type": "object"}, _do_nothing)
        for number in range(size - 1)
    ]
    dispatcher = Dispatcher(Catalog(add, *others))
    return lambda: dispatcher.call("add", {"a": 2, "b": 3})


async def _do_nothing(arguments: Any) -> None:
    pass


def _with_hooks(size: int) -> Candidate:
    dispatcher = Dispatcher(Catalog(add), hooks=[AsyncPair() for _ in range(size)])
    return lambda: dispatcher.call("add", {"a": 2, "b": 3})


def _with_rules(size: int, pattern: str) -> Candidate:
    catalog = Catalog()
    catalog.tool(read_only=True)(add)
    rules = [pattern.format(1_000 + number) for number in range(size)]
    dispatcher = Dispatcher(catalog, permissions=Permissions("auto", rules))
    return lambda: dispatcher.call("add", {"a": 2, "b": 3})
