"""
The events of a run as an async generator, which ends the run when it is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from .call_watcher import EventListener
from .events import Event

__all__ = ["stream_events"]


async def stream_events(start: Callable[[EventListener], Coroutine[Any, Any, object]]) -> AsyncGenerator[Event, None]:
    """Run the coroutine that *start* returns, and yield the events that it passes to its listener."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    # The run has its own task, so that its context variables stay the same from start to end.
    task = asyncio.ensure_future(start(queue.put_nowait))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it: the caller has stopped reading
