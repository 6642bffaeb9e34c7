"""
Work that a cancellation has to wait for, so that nothing is left half written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["waited_for"]

T = TypeVar("T")


async def waited_for(work: Coroutine[Any, Any, T]) -> tuple[asyncio.Task[T], asyncio.CancelledError | None]:
    """*work*, done, and the cancellation that came meanwhile, for the caller to raise."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    return task, cancelled
