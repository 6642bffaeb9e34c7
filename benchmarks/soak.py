"""
A soak: thousands of deferred tools that come and go, searches, failures, approvals and large results, for minutes.

It measures how long the event loop was kept from its work, and how memory grows once everything is warm.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from toolkit import Catalog, Decision, Dispatcher, Permissions, RetryPolicy, Session, ToolCall, Transient
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals
from toolkit.builtin import tool_search_for
from toolkit.hooks import Stats
from toolkit.spec import Tool

from .loop_lag import LagMeter
from .violations import Report

__all__ = ["Soaked", "make_tool", "run", "soak"]

_WORDS = tuple(
    "weather forecast invoice customer repository branch commit file folder archive image resize translate text "  # noqa: SIM905 -- a list would be a page long
    "summary calendar meeting reminder email draft ticket sprint issue label database query table column export "
    "import report chart metric alert deploy container cluster secret token payment refund order shipment".split()
)
_VERBS = ("get", "list", "create", "update", "remove", "send", "find", "count", "merge", "split", "rename", "copy")
_APPROVAL_BYTES = 2_000_000
_M_MMAP_THRESHOLD, _MMAP_BYTES = -3, 128 * 1024
_TOOLS = 5_000
_GUEST, _GUESTS = "guest_", 100
"""The tools that come and go."""
_MAX_RUN_SECONDS = 0.05
"""For how long one turn of the loop may run."""
_MAX_LAG_SECONDS = 0.1
"""For how long the loop may be held up, also by the threads beside it. asyncio calls a longer turn slow."""
_MAX_GROWTH = 2.0
"""Megabytes by which memory may differ at the end of the second half; what leaks for an hour is more."""


@dataclass
class Soaked:
    """
    What a soak has seen.

    Attributes:
        calls: How many calls were made.
        kinds: How they ended.
        violations: What must not have happened.
        lag: The meter of the loop's lag.
        sizes: Minutes since the start, and megabytes of the process then.
    """

    calls: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    lag: LagMeter = field(default_factory=LagMeter)
    sizes: list[tuple[float, float]] = field(default_factory=list)

    def take(self, call_id: str, result: Any) -> None:
        """Count a result, which has to be that of its call."""
        self.calls += 1
        self.kinds[result.kind] += 1
        if result.call_id != call_id:
            self.violations.append(f"call {call_id} got the result of {result.call_id}")

    def minutes(self) -> float:
        """Return how long the second half took."""
        return self.sizes[-1][0] - self.sizes[len(self.sizes) // 2][0] if self.sizes else 0.0

    def slope(self) -> float:
        """Return the megabytes that memory grows in a minute, over the second half: the first half warms up."""
        half = self.sizes[len(self.sizes) // 2 :]
        if len(half) < 2:
            return 0.0
        mean_x = sum(x for x, _ in half) / len(half)
        mean_y = sum(y for _, y in half) / len(half)
        spread = sum((x - mean_x) ** 2 for x, _ in half)
        return sum((x - mean_x) * (y - mean_y) for x, y in half) / spread if spread else 0.0


async def run(minutes: float, *, tools: int = _TOOLS, seed: int = 7) -> Report:
    """Soak for so many *minutes*, and report lag and growth."""
    soaked = await soak(minutes * 60, tools=tools, seed=seed)
    lag, slope = soaked.lag, soaked.slope()
    violations = list(soaked.violations)
    if lag.longest_run > _MAX_RUN_SECONDS:
        violations.append(f"one turn of the loop ran for {lag.longest_run * 1e3:.0f} ms")
    if lag.longest > _MAX_LAG_SECONDS:
        violations.append(f"the loop was held up for {lag.longest * 1e3:.0f} ms at {lag.place or 'an unseen place'}")
    if slope * soaked.minutes() > _MAX_GROWTH:
        violations.append(f"memory grows by {slope:.2f} MB a minute")
    at_start, at_end = (soaked.sizes[0][1], soaked.sizes[-1][1]) if soaked.sizes else (0.0, 0.0)
    shown = ", ".join(f"{kind} {number:,}" for kind, number in soaked.kinds.most_common())
    return Report(
        f"{minutes:g} minutes with {tools:,} tools: {soaked.calls:,} calls ({shown}); longest lag of the loop "
        f"{lag.longest * 1e3:.0f} ms ({lag.longest_at_all * 1e3:.0f} ms with the time of others; longest turn "
        f"{lag.longest_run * 1e3:.0f} ms), at "
        f"{lag.place or 'an unseen place'}; memory "
        f"{at_start:.1f} to {at_end:.1f} MB, in the second half {slope:+.2f} MB a minute",
        violations,
    )


async def soak(seconds: float, *, tools: int = _TOOLS, seed: int = 7) -> Soaked:
    """Keep a dispatcher busy for so many *seconds*, with so many *tools*, and return what was seen."""
    fix_mmap_threshold()
    logging.disable(logging.CRITICAL)
    chance, soaked = random.Random(seed), Soaked()
    catalog = Catalog(*(make_tool(chance, number) for number in range(tools)))
    _add_own_tools(catalog, chance)
    catalog.add(tool_search_for(catalog))
    retry = RetryPolicy(attempts=2, wait_initial=0.0)
    approvals = Approvals(MemoryApprovals(max_bytes=_APPROVAL_BYTES))  # soon full, so that it grows no more
    async with Dispatcher(
        catalog, permissions=Permissions(), approvals=approvals, retry=retry, hooks=[Stats(window=100)]
    ) as dispatcher:
        await _warm_up(dispatcher, catalog, chance)
        catalog.add(*(make_tool(chance, number, prefix=_GUEST) for number in range(_GUESTS)))
        jobs = (_plain_calls, _searches, _changes, _approvals, _unknown_names)
        end = time.monotonic() + seconds
        try:
            async with soaked.lag.measuring(), asyncio.TaskGroup() as group:
                group.create_task(_weigh(soaked, end, seconds))
                for job in jobs:
                    group.create_task(_repeat(job, dispatcher, catalog, random.Random(chance.random()), soaked, end))
        finally:
            gc.unfreeze()
            logging.disable(logging.NOTSET)
    return soaked


async def _warm_up(dispatcher: Dispatcher, catalog: Catalog, chance: random.Random) -> None:
    """
    Do everything once but search, and then what the documentation advises for thousands of tools.

    What is imported and made at a first call is no growth. The index is built while the loop is measured.
    """
    for name in catalog.names():
        if name[-1].isdigit():
            await dispatcher.call(name, {"name": "warm"})
    for number in range(10):  # so that one request at least is approved, and another is denied
        for job in (_plain_calls, _approvals, _unknown_names):
            await job(dispatcher, catalog, chance, Soaked(), f"warm{number}")
    catalog.definitions("anthropic", session=Session())
    catalog.finish()
    gc.collect()
    gc.freeze()  # with thousands of tools, a full collection holds up everything


async def _repeat(
    job: Any, dispatcher: Dispatcher, catalog: Catalog, chance: random.Random, soaked: Soaked, end: float
) -> None:
    number = 0
    while time.monotonic() < end:
        number += 1
        try:
            await job(dispatcher, catalog, chance, soaked, f"{job.__name__}{number}")
        except Exception as error:  # noqa: BLE001 -- any of them is a violation
            soaked.violations.append(f"{job.__name__}: {type(error).__name__}: {error}")
        await asyncio.sleep(0)


async def _weigh(soaked: Soaked, end: float, seconds: float) -> None:
    started = time.monotonic()
    while time.monotonic() < end:
        await asyncio.sleep(seconds / 60)
        if not soaked.sizes:
            gc.freeze()  # the index of the search, which the first search has built
        soaked.sizes.append(((time.monotonic() - started) / 60, megabytes()))


def fix_mmap_threshold() -> None:
    """
    Have glibc return each large block to the system when it is freed.

    By default it raises the size of a "large" block each time one is freed, and then keeps the holes that such blocks
    leave. In this soak that was 8 MB of holes within ten minutes, while the memory in use stayed the same.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)


def megabytes() -> float:
    """Return what this process has in memory."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


# What is done all the time.


async def _plain_calls(
    dispatcher: Dispatcher, catalog: Catalog, chance: random.Random, soaked: Soaked, key: str
) -> None:
    names = [chance.choice(("steady", "shaky", "threaded")) for _ in range(20)]
    calls = [ToolCall(name, {"number": number}, f"{key}.{number}") for number, name in enumerate(names)]
    for call, result in zip(calls, await dispatcher.call_many(calls), strict=True):
        soaked.take(call.id, result)


async def _searches(dispatcher: Dispatcher, catalog: Catalog, chance: random.Random, soaked: Soaked, key: str) -> None:
    words = [chance.choice(_WORDS), chance.choice(_VERBS)]
    if chance.random() < 0.3:  # misspelt
        at = chance.randrange(len(words[0]))
        words[0] = words[0][:at] + chance.choice("abcdefgh") + words[0][at + 1 :]
    session = Session()
    soaked.take(key, await dispatcher.call("tool_search", {"query": " ".join(words)}, id=key, session=session))
    for name in list(session.loaded)[:1]:
        result = await dispatcher.call(name, {"name": key}, id=f"{key}.found", session=session)
        soaked.take(f"{key}.found", result)
    catalog.definitions("anthropic", session=session)


async def _changes(dispatcher: Dispatcher, catalog: Catalog, chance: random.Random, soaked: Soaked, key: str) -> None:
    names = [name for name in catalog.names() if name.startswith(_GUEST)]
    gone = [catalog.remove(name) for name in chance.sample(names, 5)]
    await asyncio.sleep(0.01)
    catalog.add(*gone[1:], replace=True)
    catalog.add(make_tool(chance, chance.randrange(10**9), prefix=_GUEST), replace=True)
    await asyncio.sleep(0.05)


async def _approvals(dispatcher: Dispatcher, catalog: Catalog, chance: random.Random, soaked: Soaked, key: str) -> None:
    waiting = await dispatcher.call("write_much", {"size": chance.choice((10, 95_000))}, id=key)
    soaked.take(key, waiting)
    if waiting.request is None:
        soaked.violations.append(f"{key} did not wait: {waiting.text[:80]}")
        return
    decision = Decision.approve(by="ada") if chance.random() < 0.7 else Decision.deny()
    soaked.take(key, await dispatcher.resume(waiting.request.id, decision))
    try:
        await dispatcher.resume(waiting.request.id, decision)
    except ApprovalError as error:
        if error.why != "answered":
            soaked.violations.append(f"{key}: a second answer was {error.why}")
    else:
        soaked.violations.append(f"{key}: a second answer was taken")


async def _unknown_names(
    dispatcher: Dispatcher, catalog: Catalog, chance: random.Random, soaked: Soaked, key: str
) -> None:
    name = f"{chance.choice(_VERBS)}_{chance.choice(_WORDS)}_{chance.randrange(10**6)}x"
    soaked.take(key, await dispatcher.call(name, {}, id=key))
    await asyncio.sleep(0.02)


# What is called.


def _add_own_tools(catalog: Catalog, chance: random.Random) -> None:
    @catalog.tool(read_only=True)
    async def steady(number: int) -> int:
        """Give a number back, after others had their turn."""
        await asyncio.sleep(0)
        return number

    @catalog.tool(read_only=True)
    async def shaky(number: int) -> int:
        """Give a number back, nine times of ten."""
        if chance.random() < 0.1:
            raise Transient("not now") if chance.random() < 0.5 else ValueError("never")
        return number

    @catalog.tool(read_only=True)
    def threaded(number: int) -> int:
        """Give a number back from a thread."""
        return number

    @catalog.tool
    async def write_much(size: int) -> str:
        """Change something, and say much about it."""
        return "x" * size


def make_tool(chance: random.Random, number: int, *, prefix: str = "") -> Tool:
    """Return a deferred tool whose name has several words, *prefix* before them and *number* after them."""
    verb, noun, other = chance.choice(_VERBS), chance.choice(_WORDS), chance.choice(_WORDS)

    async def call(name: str, limit: int = 10, labels: list[str] | None = None) -> str:
        return f"{name} {limit} {labels}"

    call.__doc__ = f"""{verb.title()} the {noun} of a {other}, number {number}.

    Args:
        name: Which {noun}.
        limit: How many of them.
        labels: Only a {noun} with these labels.
    """
    return Tool.described(call, name=f"{prefix}{verb}_{noun}_{other}_{number}", defer=True, read_only=True)
