"""
How it bears load: fuzzed calls, kills, races, fuzzed providers, durable runs and a soak; `make endurance` runs it all.

    python -m benchmarks.endurance                                  everything, a little over half an hour
    python -m benchmarks.endurance --part soak --minutes 2          one part, shortened
    python -m benchmarks.endurance --part calls --count 50000

The soak runs in a process of its own, the other parts one after the other in a second one. Each part prints one line
when it ends. The exit code is 1 if any part has found a violation.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import sys
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

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


def _trust(count: int) -> Awaitable[Report]:
    from . import raced_trust

    return raced_trust.run(count)


def _durable(count: int) -> Awaitable[Report]:
    from . import durable_kills

    return durable_kills.run(count)


def _runs(count: int) -> Awaitable[Report]:
    from . import durable_load

    return durable_load.run(count)


def _answers(count: int) -> Awaitable[Report]:
    from . import fuzzed_answers

    return fuzzed_answers.run(count)


PARTS: dict[str, tuple[Callable[[int], Awaitable[Report]], int]] = {
    "batch": (ten_thousand, 10_000),
    "calls": (_calls, 1_000_000),
    "kills": (_kills, 200),
    "races": (_races, 25_000),
    "trust": (_trust, 6_000),
    "answers": (_answers, 20_000),
    "durable": (_durable, 400),
    "runs": (_runs, 10_000),
}
"""The parts that count, and how many it takes; the soak is measured in minutes."""

_SOAK = "soak"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """
    How much is done.

    Attributes:
        count: How many calls, kills, races, answers or runs, in place of the usual number of each part.
        minutes: How long the soak takes.
        tools: How many tools the soak has.
    """

    count: int | None = None
    minutes: float = 30.0
    tools: int = 5_000


def run_part(part: str, sizes: Sizes) -> Report:
    """Run one part and return what it reports; an exception that comes out of it is a violation."""
    try:
        return asyncio.run(_run_part(part, sizes))
    except Exception as error:  # noqa: BLE001 -- the other parts go on, and the run fails
        return Report("it broke off", [f"{type(error).__name__}: {error}"])


async def _run_part(part: str, sizes: Sizes) -> Report:
    if part == _SOAK:
        from . import soak

        return await soak.run(sizes.minutes, tools=sizes.tools)
    work, usual = PARTS[part]
    return await work(usual if sizes.count is None else sizes.count)


def run_parts(parts: Sequence[str], sizes: Sizes) -> bool:
    """Run *parts* one after the other, print a line for each, and return whether there was no violation."""
    is_clean = True
    for part in parts:
        started = time.monotonic()
        report = run_part(part, sizes)
        report.print_lines(part, time.monotonic() - started)
        is_clean = is_clean and not report.violations
    return is_clean


def run_side_by_side(groups: Sequence[Sequence[str]], sizes: Sizes) -> bool:
    """Run each group of parts in a process of its own, and return whether there was no violation in any."""
    # A new interpreter for each: a forked one would share memory with its parent, and the soak weighs its own.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(groups), mp_context=context) as processes:
        runs = [processes.submit(run_parts, group, sizes) for group in groups]
        return all(run.result() for run in as_completed(runs))


def main(arguments: list[str]) -> int:
    """Run the parts that *arguments* ask for; return 1 if there is a violation, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endurance", description="Run the endurance tests.")
    parser.add_argument("--part", choices=[*PARTS, _SOAK], action="append", help="only this part; may be repeated")
    parser.add_argument("--count", type=int, help="how many of a part, in place of the usual")
    parser.add_argument("--minutes", type=float, default=Sizes().minutes, help="how long the soak takes")
    parser.add_argument("--tools", type=int, default=Sizes().tools, help="how many tools the soak has")
    options = parser.parse_args(arguments)
    sizes = Sizes(count=options.count, minutes=options.minutes, tools=options.tools)
    parts = list(dict.fromkeys(options.part or [*PARTS, _SOAK]))
    others = [part for part in parts if part != _SOAK]
    is_side_by_side = others and _SOAK in parts
    is_clean = run_side_by_side([[_SOAK], others], sizes) if is_side_by_side else run_parts(parts, sizes)
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
