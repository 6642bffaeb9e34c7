"""Futures that other code may have finished or left, and work that a cancellation has to wait for."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["finish_work", "retrieve_exception", "run_to_end", "set_outcome"]

T = TypeVar("T")


def set_outcome(
    future: asyncio.Future[Any] | concurrent.futures.Future[Any], value: Any, error: BaseException | None = None
) -> None:
    """Store the value or the error, unless the future is cancelled or has an outcome already."""
    try:
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
    except (asyncio.InvalidStateError, concurrent.futures.InvalidStateError):
        pass


def retrieve_exception(future: asyncio.Future[Any]) -> None:
    """Read the exception, so that asyncio does not warn about a task that no code waits for any more."""
    if not future.cancelled():
        future.exception()


async def finish_work(work: Coroutine[Any, Any, T], cleanup_seconds: float) -> T:
    """Return what *work* returns. A caller who is cancelled waits for its end, at most *cleanup_seconds*."""
    task, cancelled = await run_to_end(work, cleanup_seconds)
    if cancelled is not None:
        retrieve_exception(task)
        raise cancelled
    return task.result()


async def run_to_end(
    work: Coroutine[Any, Any, T], cleanup_seconds: float
) -> tuple[asyncio.Task[T], asyncio.CancelledError | None]:
    """
    Run *work* to its end, and return its finished task and the cancellation that came meanwhile.

    The caller has to raise that cancellation. After a cancellation *work* may run for *cleanup_seconds*, and is then
    cancelled.
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
