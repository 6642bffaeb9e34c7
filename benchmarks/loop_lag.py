"""
How long an event loop is kept from its work.

A task in the loop asks to be woken every few milliseconds, and looks how late it is. On a machine that others use,
part of that is theirs. So of each lag counts what this process spent on a processor meanwhile, or, if that is more,
what is left of the lag without the time for which its threads stood in line for a processor. A thread beside the loop
notes where the loop is whenever it is late.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator

__all__ = ["LagMeter"]

_EVERY_SECONDS = 0.01
_NOTED_SECONDS = 0.03
_NOTED_FRAMES = 6
_TASKS = "/proc/self/task"


class LagMeter:
    """
    Measure the lag of the loop it is entered in.

    Attributes:
        longest: The longest lag in seconds, without the time in which other processes had the processor.
        longest_at_all: The longest lag with that time.
        place: Where the loop was during the longest lag, as far as it was seen.
        ticks: How often the loop was looked at.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self.longest_at_all = 0.0
        self.place = ""
        self.ticks = 0
        self._due = float("inf")
        self._noted = ""
        self._is_over = threading.Event()

    @contextlib.asynccontextmanager
    async def measuring(self) -> AsyncIterator[LagMeter]:
        """Measure until the block ends."""
        ticking = asyncio.ensure_future(self._tick())
        watcher = threading.Thread(target=self._watch, args=(threading.get_ident(),), daemon=True)
        watcher.start()
        try:
            yield self
        finally:
            ticking.cancel()
            self._is_over.set()
            await asyncio.wait({ticking})
            watcher.join()

    async def _tick(self) -> None:
        while True:
            waited, spent = seconds_in_line(), time.process_time()
            self._noted = ""
            self._due = time.monotonic() + _EVERY_SECONDS
            await asyncio.sleep(_EVERY_SECONDS)
            lag = time.monotonic() - self._due
            self._due = float("inf")
            own = max(min(lag, time.process_time() - spent), lag - (seconds_in_line() - waited))
            self.ticks += 1
            self.longest_at_all = max(self.longest_at_all, lag)
            if own > self.longest:
                self.longest, self.place = own, self._noted

    def _watch(self, loop_thread: int) -> None:
        while not self._is_over.wait(_NOTED_SECONDS / 2):
            if time.monotonic() - self._due > _NOTED_SECONDS and not self._noted:
                frame = sys._current_frames().get(loop_thread)  # noqa: SLF001 -- the documented way
                frames = traceback.extract_stack(frame)[-_NOTED_FRAMES:]
                self._noted = " > ".join(
                    f"{os.path.basename(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames
                )


def seconds_in_line() -> float:
    """Return how long the threads of this process have waited for a processor; 0 where the kernel does not tell."""
    waited = 0
    with contextlib.suppress(OSError):
        for task in os.listdir(_TASKS):
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"{_TASKS}/{task}/schedstat", "rb") as file:
                waited += int(file.read().split()[1])
    return waited / 1e9
