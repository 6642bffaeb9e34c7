"""Set and read the outcome of a future that other code may have finished or left."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

__all__ = ["retrieve_exception", "set_outcome"]


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
