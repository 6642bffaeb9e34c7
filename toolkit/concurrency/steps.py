"""
Run long work on an event loop without holding the loop up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import TypeVar

__all__ = ["run_in_steps"]

T = TypeVar("T")


async def run_in_steps(steps: Generator[None, None, T]) -> T:
    """Return what *steps* returns. After each of its steps, other tasks have their turn."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)
