"""
How it bears load: fuzzed calls, kills, races, fuzzed providers and a soak; `make endurance` runs all of it.

    python -m benchmarks.endurance                                  everything, about two hours
    python -m benchmarks.endurance --part soak --minutes 2          one part, shortened
    python -m benchmarks.endurance --part calls --count 50000

Each part prints one line. The exit code is 1 if any part has found a violation.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable

from toolkit import Catalog, Dispatcher, ToolCall

from .violations import Report

__all__ = ["main"]


async def ten_thousand(count: int) -> Report:
    """Run *count* calls in one batch."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def steady(n: int) -> int:
        """Give a number back, after others had their turn."""
        await asyncio.sleep(0)
        return n

    dispatcher = Dispatcher(catalog)
    calls = [ToolCall("steady", {"n": n}) for n in range(count)]
    tracemalloc.start()
    started = time.perf_counter()
    results = await dispatcher.call_many(calls)
    took, (_, peak) = time.perf_counter() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    is_ordered = [result.value for result in results] == list(range(count))
    line = f"{count:,} calls in one batch: {took:.2f} s, {peak / 2**20:.1f} MiB at the peak"
    return Report(line, [] if is_ordered else ["not all calls were answered in order"])


def _calls(count: int) -> Awaitable[Report]:
    from . import fuzzed_calls

    return fuzzed_calls.run(count)


def _kills(count: int) -> Awaitable[Report]:
    from . import store_kills

    return store_kills.run(count)


def _races(count: int) -> Awaitable[Report]:
    from . import raced_accesses

    return raced_accesses.run(count)


def _answers(count: int) -> Awaitable[Report]:
    from . import fuzzed_answers

    return fuzzed_answers.run(count)


PARTS: dict[str, tuple[Callable[[int], Awaitable[Report]], int]] = {
    "batch": (ten_thousand, 10_000),
    "calls": (_calls, 1_000_000),
    "kills": (_kills, 200),
    "races": (_races, 25_000),
    "answers": (_answers, 20_000),
}
"""The parts that count, and how many it takes; the soak is measured in minutes."""

_SOAK_MINUTES = 30.0


async def _run_part(part: str, count: int | None, minutes: float) -> Report:
    if part == "soak":
        from . import soak

        return await soak.run(minutes)
    work, usual = PARTS[part]
    return await work(usual if count is None else count)


def main(arguments: list[str]) -> int:
    """Run the parts that *arguments* ask for; return 1 if there is a violation, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description="Run the endurance tests.")
    parser.add_argument("--part", choices=[*PARTS, "soak"], action="append", help="only this part; may be repeated")
    parser.add_argument("--count", type=int, help="how many calls, kills, races or answers, in place of the usual")
    parser.add_argument("--minutes", type=float, default=_SOAK_MINUTES, help="how long the soak takes")
    options = parser.parse_args(arguments)
    is_clean = True
    for part in options.part or [*PARTS, "soak"]:
        report = asyncio.run(_run_part(part, options.count, options.minutes))
        report.print_lines(part)
        is_clean = is_clean and not report.violations
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
