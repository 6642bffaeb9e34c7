"""The meter of the event loop's lag: it counts what this process does, and not what others do."""

from __future__ import annotations

import asyncio
import time

import pytest

from benchmarks.loop_lag import LagMeter, ThreadTimes, Times, own_seconds


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (Times(1.0, 1.0, 0.0, 0.0, 0.0), 1.0),
        (Times(1.0, 0.3, 0.7, 0.0, 0.0), 0.3),
        (Times(1.0, 0.3, 0.7, 0.7, 0.0), 0.3),
        (Times(1.0, 0.0, 0.0, 0.0, 0.0), 1.0),
        (Times(1.0, 0.2, 0.0, 0.8, 0.0), 1.0),
        (Times(1.0, 0.2, 0.0, 0.1, 0.7), 0.3),
        (Times(1.0, 0.2, 0.3, 0.1, 5.0), 0.3),
        (Times(1.0, 1.0, 0.0, 0.0, 0.0, (0.2, 0.7)), 0.3),
        (Times(1.0, 0.2, 0.8, 0.0, 0.0, (0.5, 0.1)), 0.0),
    ],
    ids=[
        "the loop computes",
        "the loop stands in line",
        "the loop stands in line while a thread runs without the lock",
        "the loop waits for a file",
        "a thread has the lock and runs",
        "a thread has the lock and stands in line",
        "many threads stand in line",
        "the machine is without its processor",
        "the machine is without its processor, and the loop stands in line",
    ],
)
def test_only_the_time_of_this_process_is_counted(after, expected):
    """Time in line for a processor belongs to other processes; waiting for the interpreter's lock mostly does not."""
    assert own_seconds(Times(0.0, 0.0, 0.0, 0.0, 0.0, (0.0, 0.0)), after, 100) == pytest.approx(expected)


@pytest.mark.parametrize(("looks", "expected"), [(0, 0.02), (3, 0.08), (30, 0.1)])
def test_a_lag_without_a_processor_is_at_most_the_time_of_the_looks(looks, expected):
    """The clocks are inexact then. A thread that looks every 10 ms shows that the process had a processor at all."""
    before, after = Times(0.0, 0.0, 0.0, 0.0, 0.0, (0.0,)), Times(1.0, 1.0, 0.0, 0.0, 0.0, (0.9,))
    assert own_seconds(before, after, looks) == pytest.approx(expected)


class UndisturbedTimes(ThreadTimes):
    """The times as on a machine where no other process takes a processor away."""

    def read(self):
        return super().read()._replace(in_line=0.0, others_in_line=0.0, stolen=())


def measure_lag(work):
    """Return the meter of a loop in which the coroutine function *work* ran."""

    async def main():
        async with LagMeter(UndisturbedTimes).measuring() as meter:
            await work()
        return meter

    return asyncio.run(main())


async def compute():
    """Keep the loop's thread busy for a tenth of a second of its own time."""
    end = time.thread_time() + 0.1
    while time.thread_time() < end:
        pass


def test_a_callback_that_computes_is_a_lag_with_its_place():
    """The place names the function, and no source file was read for it."""
    meter = measure_lag(compute)
    assert meter.longest_at_all >= meter.longest >= meter.longest_run > 0.08
    assert "compute" in meter.place


def test_a_thread_that_keeps_the_interpreters_lock_is_a_lag():
    """The loop waits for the lock, and its own thread does nothing meanwhile."""
    texts = [str(number * 7_919 % 1_000_003) for number in range(400_000)]
    meter = measure_lag(lambda: asyncio.to_thread(sorted, texts))
    assert meter.longest > 0.03
    assert meter.longest_run < meter.longest / 2
