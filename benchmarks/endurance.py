"""
How it bears load: ten thousand calls in one batch, and a soak in which one call in ten fails.

    python -m benchmarks.endurance [seconds]
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
import tracemalloc

from toolkit import Catalog, Dispatcher, RetryPolicy, ToolCall, Transient
from toolkit.hooks import Log, Stats

__all__ = ["main"]

catalog = Catalog()
chance = random.Random(7)


@catalog.tool(read_only=True)
async def steady(n: int) -> int:
    """Give a number back, after others had their turn."""
    await asyncio.sleep(0)
    return n


@catalog.tool(read_only=True)
async def shaky(n: int) -> int:
    """Give a number back, nine times of ten."""
    if chance.random() < 0.1:
        raise Transient("not now") if chance.random() < 0.5 else ValueError("never")
    return n


async def ten_thousand() -> None:
    dispatcher = Dispatcher(catalog)
    calls = [ToolCall("steady", {"n": n}) for n in range(10_000)]
    tracemalloc.start()
    started = time.perf_counter()
    results = await dispatcher.call_many(calls)
    took, (_, peak) = time.perf_counter() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    answered = [result.value for result in results] == list(range(10_000))
    print(f"10,000 calls in one batch: all answered in order: {answered}; {took:.2f} s, peak {peak / 2**20:.1f} MiB")


async def soak(seconds: float) -> None:
    stats = Stats()
    logging.disable(logging.CRITICAL)
    async with Dispatcher(
        catalog, hooks=[stats, Log()], retry=RetryPolicy(attempts=2, wait_initial=0.0), max_concurrency=50
    ) as dispatcher:
        sent = answered = 0
        sizes = []
        tracemalloc.start()
        end = time.monotonic() + seconds
        next_look = time.monotonic()
        while time.monotonic() < end:
            results = await dispatcher.call_many([ToolCall("shaky", {"n": n}) for n in range(200)])
            sent += 200
            answered += sum(result.kind in ("ok", "tool", "transient") for result in results)
            if time.monotonic() >= next_look:
                sizes.append(tracemalloc.get_traced_memory()[0])
                next_look = time.monotonic() + seconds / 6
        tracemalloc.stop()
    (numbers,) = stats.snapshot()
    shown = ", ".join(f"{size / 1024:,.0f}" for size in sizes)
    print(f"soak of {seconds:g} s: {sent:,} sent, {answered:,} answered, failures {numbers.failures}")
    print(f"traced memory along the way, KiB: {shown}")


def main(seconds: float) -> None:
    asyncio.run(ten_thousand())
    asyncio.run(soak(seconds))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
