"""
Work that a cancellation has to wait for, so that nothing is left half written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["waited_for"]

T = TypeVar("T")


async def waited_for(
    work: Coroutine[Any, Any, T], cleanup_seconds: float
) -> tuple[asyncio.Task[T], asyncio.CancelledError | None]:
    """
    Return the task of *work*, done, and the cancellation that came meanwhile, for the caller to raise.

    After a cancellation *work* has *cleanup_seconds* left, and is cancelled then.
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    end: float | None = None
    while not task.done():
        try:
            await asyncio.wait({task}, timeout=None if end is None else max(0.0, end - loop.time()))
        except asyncio.CancelledError as error:
            cancelled = error
            end = loop.time() + cleanup_seconds if end is None else end
        if end is not None and loop.time() >= end:
            task.cancel()
    return task, cancelled
