"""
How long an event loop is kept from its work.

A task in the loop asks to be woken every few milliseconds, and looks how late it is. On a machine that others use,
part of that is theirs, so the time counts in which this process held up the loop:

- the time for which the loop's thread ran on a processor;
- the time for which it waited for something, such as the interpreter's lock. If another thread of this process had the
  lock but no processor, that is the other processes' time and does not count.

The time for which the loop's thread stood in line for a processor does not count. Neither does the time for which a
virtual machine was without its processor (steal): by the machine's own clocks, a thread ran meanwhile. A thread beside
the loop notes where the loop is whenever it is late, and so does the garbage collector. How often that thread got to
look also limits a lag during which the machine lost its processor, because the clocks are inexact then.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import os
import re
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

__all__ = ["LagMeter", "ThreadTimes", "own_seconds"]

_EVERY_SECONDS = 0.004
_NOTED_SECONDS = 0.02
_LOOK_SECONDS = _NOTED_SECONDS / 2
_NOTED_FRAMES = 6
_TASKS = "/proc/self/task"
_PROCESSORS = "/proc/stat"
_STEAL_COLUMN = 8
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
_PLACE = re.compile(r'  File "(.*)", line (\d+) in (.*)')
_WAITING = frozenset({"wait", "wait_for", "select", "get", "accept", "_recv_bytes"})
"""The functions in which a thread of the standard library waits for others."""


class Times(NamedTuple):
    """
    What the threads of this process have done so far, in seconds.

    Attributes:
        at: The time of the clock.
        ran: For how long the loop's thread ran on a processor.
        in_line: For how long it stood in line for one.
        others_ran: For how long the other threads ran.
        others_in_line: For how long the other threads stood in line, added up.
        stolen: For how long each processor was taken from this virtual machine.
    """

    at: float
    ran: float
    in_line: float
    others_ran: float
    others_in_line: float
    stolen: tuple[float, ...] = ()


def own_seconds(before: Times, after: Times, looks: int = 0) -> float:
    """
    Return for how long this process kept the loop's thread busy or waiting, between two looks at its threads.

    *looks* is how often the thread beside the loop looked meanwhile.
    """
    passed, ran, in_line, others_ran, others_in_line = (
        max(0.0, end - start) for start, end in zip(before[:5], after[:5], strict=True)
    )
    # Which processor the loop needed is not known, so the one that was away for longest counts.
    stolen = max((end - start for start, end in zip(before.stolen, after.stolen, strict=False)), default=0.0)
    blocked = max(0.0, passed - ran - in_line)
    # While the loop waits for the lock, a thread that has it runs or stands in line. How the two overlap with the
    # loop's waiting is not known, so the larger estimate counts.
    own = max(0.0, ran + min(blocked, max(blocked - others_in_line, others_ran)) - stolen)
    # A look may come up to twice as late as it should, because it waits for the interpreter's lock.
    return min(own, (looks + 1) * 2 * _LOOK_SECONDS) if stolen > 0 else own


class ThreadTimes:
    """Read the times of the loop's thread, which is the one that makes this object, and of the others."""

    def __init__(self) -> None:
        self._own = str(threading.get_native_id())
        self._files: dict[str, int] = {}

    def read(self) -> Times:
        """Return the times so far. Where the kernel does not tell how long threads stood in line, that is 0."""
        ran, in_line, others = time.thread_time(), 0.0, 0.0
        for thread in self._threads():
            seconds = self._in_line(thread)
            if thread == self._own:
                in_line = seconds
            else:
                others += seconds
        return Times(time.monotonic(), ran, in_line, time.process_time() - ran, others, self._stolen())

    def close(self) -> None:
        """Close the files of all threads."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def _threads(self) -> list[str]:
        try:
            threads = os.listdir(_TASKS)
        except OSError:
            return []
        for thread in self._files.keys() - {*threads, _PROCESSORS}:
            os.close(self._files.pop(thread))
        return threads

    def _in_line(self, thread: str) -> float:
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(self._read_file(thread, f"{_TASKS}/{thread}/schedstat").split()[1]) / 1e9
        return 0.0

    def _stolen(self) -> tuple[float, ...]:
        with contextlib.suppress(OSError, ValueError, IndexError):
            _, *lines = self._read_file(_PROCESSORS, _PROCESSORS).splitlines()
            processors = [line.split() for line in lines if line.startswith(b"cpu")]
            return tuple(int(columns[_STEAL_COLUMN]) / _TICKS_A_SECOND for columns in processors)
        return ()

    def _read_file(self, key: str, path: str) -> bytes:
        # A file that stays open is read ten times as fast as one that is opened for each look.
        if key not in self._files:
            self._files[key] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return os.pread(self._files[key], 2**16, 0)


class LagMeter:
    """
    Measure the lag of the loop it is entered in.

    Args:
        times_class: The class that reads the times of the threads.

    Attributes:
        longest: The longest lag in seconds, without the time in which others had the processor.
        longest_at_all: The longest lag with that time.
        longest_run: The longest lag for which the loop's thread itself ran. The rest of `longest` it waited for the
            interpreter's lock, because other threads of this process were at work.
        place: Where the loop was during the longest lag, as far as it was seen.
        ticks: How often the loop was looked at.
    """

    def __init__(self, times_class: type[ThreadTimes] = ThreadTimes) -> None:
        self._times_class = times_class
        self.longest = 0.0
        self.longest_at_all = 0.0
        self.longest_run = 0.0
        self.place = ""
        self.ticks = 0
        self._due = float("inf")
        self._noted = ""
        self._looks = 0
        self._collected = 0.0
        self._collecting_since = 0.0
        self._is_over = threading.Event()

    @contextlib.asynccontextmanager
    async def measuring(self) -> AsyncIterator[LagMeter]:
        """Measure until the block ends."""
        times = self._times_class()
        ticking = asyncio.ensure_future(self._tick(times))
        watcher = threading.Thread(target=self._watch, args=(threading.get_ident(),), daemon=True)
        watcher.start()
        gc.callbacks.append(self._note_collection)
        try:
            await asyncio.sleep(0)  # so that the first tick has begun
            yield self
            await asyncio.sleep(2 * _EVERY_SECONDS)  # for the tick that was due meanwhile
        finally:
            gc.callbacks.remove(self._note_collection)
            ticking.cancel()
            self._is_over.set()
            await asyncio.wait({ticking})
            watcher.join()
            times.close()

    async def _tick(self, times: ThreadTimes) -> None:
        after = times.read()
        while True:
            self._noted, self._looks, self._collected, before = "", 0, 0.0, after
            self._due = before.at + _EVERY_SECONDS
            await asyncio.sleep(_EVERY_SECONDS)
            # Each file that is read gives the interpreter's lock away, so reading them may take longer than the lag.
            lag = time.monotonic() - self._due
            self._due = float("inf")
            after = times.read()
            # What was done before the tick was due is no lag, but it is not known how much that was.
            own = min(lag, own_seconds(before, after, self._looks))
            self.ticks += 1
            self.longest_at_all = max(self.longest_at_all, lag)
            self.longest_run = max(self.longest_run, min(own, after.ran - before.ran))
            if own > self.longest:
                self.longest, self.place = own, self._describe_place()

    def _describe_place(self) -> str:
        collected = f"collecting garbage for {self._collected * 1e3:.0f} ms" if self._collected > 1e-3 else ""
        return "; ".join(filter(None, (collected, self._noted)))

    def _note_collection(self, phase: str, _: dict[str, Any]) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._collecting_since = now
        else:
            self._collected += now - self._collecting_since

    def _watch(self, loop_thread: int) -> None:
        while not self._is_over.wait(_LOOK_SECONDS):
            self._looks += 1
            if time.monotonic() - self._due > _NOTED_SECONDS and not self._noted:
                self._noted = _describe_threads(loop_thread)


def _describe_threads(loop_thread: int) -> str:
    """
    Return where the loop is, and where the other threads are that do not only wait: one may have the lock.

    `faulthandler` keeps the lock while it writes. Python 3.11 has crashed while the frames of running threads were
    read one after the other. No source is read: that would hold up the loop, and fill memory.
    """
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        threads = file.read().decode(errors="replace").split("\n\n")
    loop, others = "", []
    for title, *lines in (thread.splitlines() for thread in threads):
        matches = filter(None, map(_PLACE.fullmatch, lines))
        places = [f"{os.path.basename(match[1])}:{match[2]} {match[3]}" for match in matches]
        text = " > ".join(places[:_NOTED_FRAMES][::-1])
        if f"{loop_thread:#018x}" in title:
            loop = text
        elif not title.startswith("Current") and text.rpartition(" ")[2] not in _WAITING:
            others.append(text)
    return " || beside it ".join([loop, *others])
