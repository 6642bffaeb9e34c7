"""
Writing to a database that is away for a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .errors import DurableError

__all__ = ["PERSIST_SECONDS", "persist"]

_WAITS_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, *[5.0] * 11)
PERSIST_SECONDS = 180.0
"""The most seconds that `persist` takes. Each attempt waits for the database itself for about 10 seconds."""

_LOOK_SECONDS = 0.25

_log = logging.getLogger("toolkit")
T = TypeVar("T")


async def persist(
    write: Callable[[], Awaitable[T]],
    subject: str,
    *,
    is_ending: Callable[[], bool] = lambda: False,
    ending_seconds: float = 5.0,
) -> T:
    """Return what *write* returns; try again while the database is gone, but not for long once *is_ending* says so."""
    clock = asyncio.get_running_loop().time
    latest: float | None = None
    for wait_seconds in _WAITS_SECONDS:
        try:
            return await write()
        except DurableError as error:
            if error.why != "store" or (latest is not None and clock() >= latest):
                raise
            _log.warning("%s could not be written, and is tried again: %s", subject, error)
        next_attempt = clock() + wait_seconds
        while clock() < next_attempt:
            if latest is None and is_ending():
                latest = clock() + ending_seconds
            if latest is not None:
                next_attempt = min(next_attempt, max(latest, clock() + _LOOK_SECONDS))
            await asyncio.sleep(min(_LOOK_SECONDS, wait_seconds))
    return await write()
