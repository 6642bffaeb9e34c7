"""
Calls as no model should send them: mutated, broken, much too large.

Whatever is sent, no exception comes out, every call has exactly one result with its id, and a megabyte of arguments
holds up the event loop for at most 0.2 s.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import random
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from toolkit import Catalog, Dispatcher, RetryPolicy, ToolCall

from .loop_lag import LagMeter
from .violations import Report

__all__ = ["run"]

_BATCH = 200
_LARGE_EVERY = 10_000
_MEGABYTE = 1_000_000
_MOST_LAG_SECONDS = 0.2


@dataclass
class Item:
    sku: str
    quantity: int
    price: float = 1.0


def make_catalog() -> Catalog:
    """Return tools with parameters of many kinds."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def add(first: int, second: int = 0) -> int:
        """Add two numbers."""
        return first + second

    @catalog.tool(read_only=True)
    async def order(items: list[Item], note: str | None = None, urgent: bool = False) -> int:
        """Count the items of an order."""
        return len(items)

    @catalog.tool(read_only=True)
    async def plan(day: dt.date, at: dt.time | None = None, kind: Literal["call", "visit"] = "call") -> str:
        """Plan a day."""
        return f"{day} {at} {kind}"

    @catalog.tool(read_only=True)
    async def tag(key: uuid.UUID, labels: dict[str, int | str], unique: set[int] | None = None) -> int:
        """Tag something."""
        return len(labels)

    @catalog.tool(read_only=True)
    async def free(value: Any, **more: float) -> str:
        """Take anything."""
        return type(value).__name__

    return catalog


_GOOD: list[tuple[str, dict[str, Any]]] = [
    ("add", {"first": 1, "second": 2}),
    ("order", {"items": [{"sku": "a", "quantity": 2, "price": 0.5}, {"sku": "b", "quantity": 1}], "note": "ring"}),
    ("plan", {"day": "2026-01-02", "at": "10:30:00", "kind": "visit"}),
    ("tag", {"key": "12345678-1234-5678-1234-567812345678", "labels": {"a": 1, "b": "x"}, "unique": [1, 2]}),
    ("free", {"value": {"a": [1, None, True]}, "extra": 1.5}),
]
_ODD: list[Any] = [
    *(None, True, -1, 2**70, 1e308, float("nan"), float("inf"), "", "null", "[1", "\ud800", "é" * 50, "a\0b", "5"),
    *([], {}, [[[]]], {"": {}}, b"bytes", (1, 2), {1: 2}, object(), "2026-99-99", "{}", '{"first": 1}'),
]


def mutate(value: Any, chance: random.Random) -> Any:
    """Return *value* with something in it changed."""
    if chance.random() < 0.25:
        return chance.choice(_ODD)
    if isinstance(value, dict) and value:
        changed = dict(value)
        name = chance.choice(list(changed))
        match chance.randrange(4):
            case 0:
                del changed[name]
            case 1:
                changed[chance.choice(("x", name.upper() if isinstance(name, str) else "y", "", "é"))] = 1
            case _:
                changed[name] = mutate(changed[name], chance)
        return changed
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        return [*value[:at], mutate(value[at], chance), *value[at : at + chance.randrange(3)]]
    return chance.choice(_ODD)


def make_call(chance: random.Random, call_id: str) -> ToolCall:
    """Return a call, mostly a bad one."""
    name, arguments = chance.choice(_GOOD)
    sent: Any = arguments
    for _ in range(chance.randrange(3)):
        sent = mutate(sent, chance)
    if chance.random() < 0.3:  # as JSON text, perhaps broken
        text = json.dumps(arguments if chance.random() < 0.5 else sent, default=repr)
        at = chance.randrange(len(text) + 1)
        sent = (
            text
            if chance.random() < 0.5
            else text[:at] + chance.choice(("", "\\", '"', "{", "\x00", "ü")) + text[at + 1 :]
        )
    if chance.random() < 0.03:
        name = chance.choice(("", "ad", "ORDER", "no such tool", "x" * 500, "plan.day"))
    return ToolCall(name, sent, call_id)


def make_large_arguments(chance: random.Random) -> tuple[str, Any]:
    """Return a tool, and about a megabyte of arguments for it, mostly bad ones."""
    texts = [f"{number}" for number in range(_MEGABYTE // 8)]
    cases: list[tuple[str, Any]] = [
        ("add", {"first": "9" * _MEGABYTE}),
        ("order", {"items": [{"sku": text, "quantity": text} for text in texts[: _MEGABYTE // 40]]}),
        ("order", json.dumps({"items": [{"sku": text, "quantity": 1} for text in texts[: _MEGABYTE // 35]]})),
        ("order", '{"items": [' + '{"sku": "a", ' * (_MEGABYTE // 13)),
        ("plan", {"day": "2" * _MEGABYTE}),
        ("plan", {f"day{text}": text for text in texts[: _MEGABYTE // 20]}),
        ("tag", {"key": "x", "labels": dict.fromkeys(texts, None)}),
        ("tag", {"key": "x", "labels": {}, "unique": texts}),
        ("free", {"value": texts}),
        ("free", "[" * _MEGABYTE),
        ("free", {"value": "x" * _MEGABYTE}),
    ]
    return chance.choice(cases)


async def run(count: int, *, seed: int = 7) -> Report:
    """Send *count* calls, and report what came of them."""
    logging.disable(logging.CRITICAL)
    chance, kinds, violations = random.Random(seed), Counter[str](), list[str]()
    longest, sent, large = 0.0, 0, 0
    async with Dispatcher(make_catalog(), retry=RetryPolicy(attempts=1)) as dispatcher:
        while sent < count:
            size = min(_BATCH, count - sent)
            calls = [make_call(chance, f"call {sent + number}") for number in range(size)]
            violations += await _batch_violations(dispatcher, calls, kinds)
            if sent // _LARGE_EVERY != (sent + size) // _LARGE_EVERY or sent + size == count:
                lag, problems = await _large_violations(dispatcher, chance, f"large {large}")
                longest, large, violations = max(longest, lag), large + 1, violations + problems
            sent += size
    logging.disable(logging.NOTSET)
    shown = ", ".join(f"{kind} {number:,}" for kind, number in kinds.most_common())
    line = f"{sent:,} fuzzed calls ({shown}), {large} of a megabyte, which held up the loop for {longest * 1e3:.0f} ms"
    return Report(line, violations)


async def _batch_violations(dispatcher: Dispatcher, calls: list[ToolCall], kinds: Counter[str]) -> list[str]:
    try:
        results = await dispatcher.call_many(calls)
    except BaseException as error:  # noqa: BLE001 -- none may come out
        return [f"{type(error).__name__} came out of a batch: {error}"]
    kinds.update(result.kind for result in results)
    if [result.call_id for result in results] != [call.id for call in calls]:
        return [f"the results of {calls[0].id} and its neighbours have other ids"]
    return []


async def _large_violations(dispatcher: Dispatcher, chance: random.Random, call_id: str) -> tuple[float, list[str]]:
    name, arguments = make_large_arguments(chance)
    try:
        async with LagMeter().measuring() as meter:
            result = await dispatcher.call(name, arguments, id=call_id)
    except BaseException as error:  # noqa: BLE001 -- none may come out
        return 0.0, [f"{type(error).__name__} came out of a large call of {name}: {error}"]
    problems = []
    if result.call_id != call_id:
        problems.append(f"{call_id} got the result of {result.call_id}")
    if meter.longest > _MOST_LAG_SECONDS:
        problems.append(f"a large call of {name} held up the loop for {meter.longest * 1e3:.0f} ms ({meter.place})")
    return meter.longest, problems
